#include "device/lowered_kernels.h"

#include <mutex>
#include <unordered_map>
#include <utility>

#include "device/written_parameters.h"
#include "tile/ir.h"

namespace tritogen {

struct LoweredKernels::Impl {
  static constexpr size_t kMost = 4096;  // kernels kept; a long run of distinct candidates starts over
  struct Entry {
    std::shared_ptr<const tile::Executable> executable;
    std::vector<bool> writes;
  };

  Entry Find(const std::string& ttir) {
    {
      std::lock_guard lock(mutex);
      auto found = kernels.find(ttir);
      if (found != kernels.end()) return found->second;
    }
    // Outside the lock: two threads may lower one kernel twice, none waits.
    Entry entry{tile::Load(ttir), WrittenParameters(tile::ParseTtir(ttir))};
    std::lock_guard lock(mutex);
    if (kernels.size() >= kMost) kernels.clear();
    return kernels.emplace(ttir, std::move(entry)).first->second;
  }

  std::mutex mutex;
  std::unordered_map<std::string, Entry> kernels;
};

LoweredKernels::LoweredKernels() : impl_(std::make_shared<Impl>()) {}

LoweredKernels& LoweredKernels::Global() {
  static LoweredKernels cache;
  return cache;
}

std::shared_ptr<const tile::Executable> LoweredKernels::Get(const std::string& ttir) {
  return impl_->Find(ttir).executable;
}

std::vector<bool> LoweredKernels::Writes(const std::string& ttir) {
  return impl_->Find(ttir).writes;
}

}  // namespace tritogen
