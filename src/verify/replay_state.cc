#include "verify/replay_state.h"

#include <cstring>

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
  if (!kept.copy.empty() || kept.storage.nbytes() == 0) return;
  const auto* data = static_cast<const std::byte*>(kept.storage.data());
  kept.copy.assign(data, data + kept.storage.nbytes());
}

bool StateGuard::Changed(const at::Tensor& tensor) const {
  const auto found = kept_.find(tensor.storage().unsafeGetStorageImpl());
  if (found == kept_.end() || !found->second.written) return false;
  const Kept& kept = found->second;
  return std::memcmp(kept.storage.data(), kept.copy.data(), kept.copy.size()) != 0;
}

void StateGuard::Restore() {
  for (auto& [storage, kept] : kept_) {
    if (kept.written && !kept.copy.empty()) {
      std::memcpy(kept.storage.mutable_data(), kept.copy.data(), kept.copy.size());
    }
    kept.written = false;
  }
}

}  // namespace tritogen
