#include "kernels/builtin.h"

#include <map>

#include "base/error.h"
#include "kernels/table.h"

namespace tritogen {

const std::vector<Kernel>& BuiltinKernels() {
  static const std::vector<Kernel> kernels = [] {
    std::vector<Kernel> made;
    for (const KernelRow& row : KernelTable()) made.push_back({.name = row.entry, .ttir = row.ttir});
    return made;
  }();
  return kernels;
}

const Kernel& BuiltinKernel(std::string_view name) {
  static const std::map<std::string_view, const Kernel*> by_name = [] {
    std::map<std::string_view, const Kernel*> map;
    for (size_t i = 0; i < KernelTable().size(); ++i) map[KernelTable()[i].name] = &BuiltinKernels()[i];
    return map;
  }();
  const auto found = by_name.find(name);
  TRITOGEN_CHECK(found != by_name.end());
  return *found->second;
}

}  // namespace tritogen
