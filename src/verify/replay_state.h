// Keeps a module's state as set-up left it: what a call writes is copied first and put back before the next
// call.
#pragma once

#include <ATen/core/Tensor.h>

#include <unordered_map>
#include <vector>

namespace tritogen {

class StateGuard {
 public:
  // From now on the storages of these tensors are state. Undefined tensors are skipped.
  void Keep(const std::vector<at::Tensor>& tensors);
  void Clear() { kept_.clear(); }

  bool IsState(const at::Tensor& tensor) const;
  // Call before anything writes into the tensor's storage.
  void BeforeWrite(const at::Tensor& tensor);
  // Something was written since the last Restore.
  bool AnyWritten() const;
  // The writes since the last Restore left other contents there.
  bool Changed(const at::Tensor& tensor) const;
  // Undoes the writes since the last call, those of a replayed graph included.
  void Restore();

 private:
  struct Kept {
    c10::Storage storage;
    at::Tensor copy;  // of all bytes; undefined: never written
    bool written = false;
  };
  std::unordered_map<const c10::StorageImpl*, Kept> kept_;
};

}  // namespace tritogen
