#include "runner/cpu_model.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace tritogen {
namespace {

cpu::Element ElementOf(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return cpu::Element::kFloat32;
    case at::kBFloat16:
      return cpu::Element::kBFloat16;
    case at::kHalf:
      return cpu::Element::kFloat16;
    default:
      TRITOGEN_CHECK(false);
  }
}

// values ≈ int8 · scale, the greatest of each row exactly; some rows at a time, which are float32 meanwhile.
std::pair<at::Tensor, at::Tensor> Quantize(const at::Tensor& weight) {
  constexpr int64_t kElements = int64_t{1} << 24, kGreatest = 127;
  const int64_t rows = weight.size(0), at_once = std::max<int64_t>(1, kElements / weight.size(1));
  const at::Tensor values = at::empty(weight.sizes(), at::kChar), scales = at::empty({rows}, at::kFloat);
  for (int64_t row = 0; row < rows; row += at_once) {
    const int64_t count = std::min(at_once, rows - row);
    const at::Tensor wide = weight.narrow(0, row, count).to(at::kFloat);
    const at::Tensor scale = (wide.abs().amax({1}, /*keepdim=*/true) / kGreatest).clamp_min(1e-30);
    values.narrow(0, row, count).copy_((wide / scale).round());
    scales.narrow(0, row, count).copy_(scale.squeeze(1));
  }
  return {values, scales};
}

}  // namespace

CpuModel::CpuModel(std::shared_ptr<const DecoderWeights> weights, bool int8_weights, cpu::Level level,
                   int64_t most_arranged)
    : weights_(std::move(weights)),
      int8_weights_(int8_weights),
      level_(level),
      most_arranged_(most_arranged) {
  Refresh();
}

const float* CpuModel::Floats(const at::Tensor& tensor) {
  if (!tensor.defined()) return nullptr;
  copies_.push_back(tensor.detach().to(at::kFloat).contiguous());
  return copies_.back().const_data_ptr<float>();
}

cpu::Matrix CpuModel::InPlace(const at::Tensor& weight) {
  TRITOGEN_CHECK(weight.is_cpu() && weight.is_contiguous() && weight.dim() == 2);
  cpu::Matrix matrix;
  matrix.values = weight.const_data_ptr();
  matrix.element = ElementOf(weight.scalar_type());
  matrix.out = weight.size(0);
  matrix.in = weight.size(1);
  matrix.kernels = &cpu::LinearFor(matrix, level_);
  return matrix;
}

cpu::Matrix CpuModel::MatrixOf(const at::Tensor& weight, const at::Tensor& bias) {
  cpu::Matrix matrix = InPlace(weight);
  if (int8_weights_) {
    const auto [values, scales] = Quantize(weight.detach());
    copies_.push_back(values);
    matrix.values = values.const_data_ptr();
    matrix.element = cpu::Element::kInt8;
    matrix.scales = Floats(scales);
    matrix.kernels = &cpu::LinearFor(matrix, level_);
  }
  matrix.bias = Floats(bias);
  Arrange(&matrix);
  return matrix;
}

void CpuModel::Arrange(cpu::Matrix* matrix) {
  if (matrix->kernels->arrange == nullptr) return;
  const auto bytes = static_cast<int64_t>(matrix->kernels->arranged_bytes(*matrix));
  if (arranged_ + bytes > most_arranged_) {
    matrix->kernels = &cpu::KernelsOf(level_).linear;
    return;
  }
  arranged_ += bytes;
  copies_.push_back(at::empty({bytes}, at::kByte));
  matrix->kernels->arrange(*matrix, copies_.back().mutable_data_ptr());
  matrix->values = copies_.back().const_data_ptr();
}

void CpuModel::Refresh() {
  copies_.clear();
  arranged_ = 0;
  layers_.clear();
  for (const LayerWeights& from : weights_->layers) {
    CpuLayer& layer = layers_.emplace_back();
    layer.input_norm = Floats(from.input_norm);
    layer.mlp_norm = Floats(from.mlp_norm);
    layer.q_norm = Floats(from.q_norm);
    layer.k_norm = Floats(from.k_norm);
    layer.qkv = MatrixOf(from.qkv, from.qkv_bias);
    layer.attention_out = MatrixOf(from.attention_out, from.attention_bias);
    layer.gate_up = MatrixOf(from.gate_up, from.gate_up_bias);
    layer.down = MatrixOf(from.down, from.down_bias);
  }
  final_norm_ = Floats(weights_->final_norm);
  embedding_ = InPlace(weights_->embedding);
  output_ = MatrixOf(weights_->output, {});
}

}  // namespace tritogen
