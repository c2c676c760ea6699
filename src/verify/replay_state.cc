#include "verify/replay_state.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "device/raw_memory.h"

namespace tritogen {

void StateGuard::Keep(const std::vector<at::Tensor>& tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (tensor.defined())
      kept_.try_emplace(tensor.storage().unsafeGetStorageImpl(), Kept{tensor.storage(), {}, false});
  }
}

bool StateGuard::IsState(const at::Tensor& tensor) const {
  return kept_.count(tensor.storage().unsafeGetStorageImpl()) > 0;
}

void StateGuard::BeforeWrite(const at::Tensor& tensor) {
  if (kept_.empty()) return;
  auto found = kept_.find(tensor.storage().unsafeGetStorageImpl());
  if (found == kept_.end()) return;
  Kept& kept = found->second;
  kept.written = true;
  if (!kept.copy.defined()) kept.copy = BytesOf(kept.storage).clone();
}

bool StateGuard::AnyWritten() const {
  return std::any_of(kept_.begin(), kept_.end(), [](const auto& entry) { return entry.second.written; });
}

bool StateGuard::Changed(const at::Tensor& tensor) const {
  const auto found = kept_.find(tensor.storage().unsafeGetStorageImpl());
  if (found == kept_.end() || !found->second.written) return false;
  const Kept& kept = found->second;
  return !BytesOf(kept.storage).equal(kept.copy);
}

void StateGuard::Restore() {
  for (auto& [storage, kept] : kept_) {
    if (kept.copy.defined()) BytesOf(kept.storage).copy_(kept.copy);
    kept.written = false;
  }
}

}  // namespace tritogen
