#include "train/embedding_gradient.h"

#include <ATen/ATen.h>

#include "base/rounding.h"
#include "device/builtin_launch.h"

namespace tritogen::train {
namespace {

constexpr int64_t kRows = 64, kColumns = 128;  // of a program: kernels/emit.py

}  // namespace

EmbeddingGradient::EmbeddingGradient(int64_t tokens, int64_t hidden, at::ScalarType dtype, at::Device device)
    : kernel_(std::string("embedding_backward.") + BuiltinDtype(dtype)) {
  const at::TensorOptions on = at::TensorOptions(device);
  ids_ = at::empty({tokens}, on.dtype(at::kInt));
  order_ = at::empty({tokens}, on.dtype(at::kLong));
  parts_ = at::empty({CeilDiv(tokens, kRows), 2, hidden}, on.dtype(at::kFloat));
}

void EmbeddingGradient::Add(const at::Tensor& tokens, const at::Tensor& d_x, const at::Tensor& gradient) {
  at::sort_out(ids_, order_, tokens, /*stable=*/true, /*dim=*/0, /*descending=*/false);
  const int64_t count = ids_.numel(), hidden = parts_.size(2);
  const Grid grid = {parts_.size(0), CeilDiv(hidden, kColumns)};
  LaunchBuiltin(kernel_, grid, {ids_, order_, d_x, gradient, parts_, count, hidden});
  LaunchBuiltin("embedding_ends", grid, {ids_, gradient, parts_, count, hidden});
}

}  // namespace tritogen::train
