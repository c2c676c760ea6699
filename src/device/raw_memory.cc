#include "device/raw_memory.h"

#include <ATen/ATen.h>

namespace tritogen {

at::Tensor BytesOf(const c10::Storage& storage) {
  const auto options = at::TensorOptions().dtype(at::kByte).device(storage.device());
  return at::empty({0}, options).set_(storage, 0, {static_cast<int64_t>(storage.nbytes())}, {1});
}

at::Tensor ViewOf(const at::Tensor& memory, at::ScalarType type, int64_t offset, at::IntArrayRef sizes,
                  at::IntArrayRef strides) {
  TORCH_CHECK(at::detail::computeStorageNbytes(sizes, strides, c10::elementSize(type), offset) <=
                  memory.storage().nbytes(),
              "a view of ", sizes, " does not lie in its memory");
  at::Tensor view = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(memory.storage()), memory.key_set(),
                                                             c10::scalarTypeToTypeMeta(type));
  view.unsafeGetTensorImpl()->set_storage_offset(offset);
  view.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return view;
}

}  // namespace tritogen
