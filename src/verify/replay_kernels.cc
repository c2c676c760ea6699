// KernelCache of replay.h.
#include <mutex>

#include "verify/replay.h"

namespace tritogen {

struct KernelCache::Impl {
  static constexpr size_t kMost = 4096;  // kernels kept; a long run of distinct candidates starts over
  std::mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<const tile::Executable>> kernels;
};

KernelCache::KernelCache() : impl_(std::make_shared<Impl>()) {}

KernelCache& KernelCache::Global() {
  static KernelCache cache;
  return cache;
}

std::shared_ptr<const tile::Executable> KernelCache::Get(const std::string& ttir) {
  {
    std::lock_guard lock(impl_->mutex);
    auto found = impl_->kernels.find(ttir);
    if (found != impl_->kernels.end()) return found->second;
  }
  auto kernel = tile::Load(ttir);  // outside the lock: two threads may lower one kernel twice, none waits
  std::lock_guard lock(impl_->mutex);
  if (impl_->kernels.size() >= Impl::kMost) impl_->kernels.clear();
  return impl_->kernels.emplace(ttir, std::move(kernel)).first->second;
}

}  // namespace tritogen
