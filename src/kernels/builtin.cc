#include "kernels/builtin.h"

#include <map>

#include "base/error.h"

namespace tritogen {

namespace {

const std::vector<Kernel>& AllKernels() {
  static const std::vector<Kernel> kernels = [] {
    std::vector<Kernel> made;
    for (const KernelRow& row : KernelTable()) {
      made.push_back(
          {.name = row.entry,
           .ttir = row.ttir,
           .options = {
               .num_warps = row.num_warps, .num_stages = row.num_stages, .launch_pdl = row.launch_pdl}});
    }
    return made;
  }();
  return kernels;
}

}  // namespace

std::vector<Kernel> BuiltinKernels(KernelFamily family) {
  std::vector<Kernel> kernels;
  for (size_t i = 0; i < KernelTable().size(); ++i) {
    if (KernelTable()[i].family == family) kernels.push_back(AllKernels()[i]);
  }
  return kernels;
}

const Kernel& BuiltinKernel(std::string_view name) {
  static const std::map<std::string_view, const Kernel*> by_name = [] {
    std::map<std::string_view, const Kernel*> map;
    for (size_t i = 0; i < KernelTable().size(); ++i) map[KernelTable()[i].name] = &AllKernels()[i];
    return map;
  }();
  const auto found = by_name.find(name);
  if (found == by_name.end()) throw InternalError("there is no kernel named " + std::string(name));
  return *found->second;
}

}  // namespace tritogen
