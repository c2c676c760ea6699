// KernelCache of replay.h.
#include <mutex>
#include <utility>

#include "tile/ir.h"
#include "verify/replay.h"
#include "verify/replay_writes.h"

namespace tritogen {

struct KernelCache::Impl {
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

KernelCache::KernelCache() : impl_(std::make_shared<Impl>()) {}

KernelCache& KernelCache::Global() {
  static KernelCache cache;
  return cache;
}

std::shared_ptr<const tile::Executable> KernelCache::Get(const std::string& ttir) {
  return impl_->Find(ttir).executable;
}

std::vector<bool> KernelCache::Writes(const std::string& ttir) {
  return impl_->Find(ttir).writes;
}

}  // namespace tritogen
