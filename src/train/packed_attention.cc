#include "train/packed_attention.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/rounding.h"
#include "device/builtin_launch.h"

namespace tritogen::train {
namespace {

constexpr int64_t kOffsets = 16;  // OFFSETS of kernels/packed_attention.py

std::string Variant(int64_t head_dim, at::ScalarType dtype) {
  if (head_dim != 32 && head_dim != 64 && head_dim != 128) {
    throw UserError(
        fmt::format("training's kernels have no form for heads of {} elements: 32, 64 or 128", head_dim));
  }
  return fmt::format(".{}.{}", BuiltinDtype(dtype), head_dim);
}

}  // namespace

PackedAttention::PackedAttention(const ModelConfig& config, at::ScalarType dtype, int64_t tokens,
                                 at::Device device)
    : tokens_(tokens),
      heads_(config.heads),
      kv_heads_(config.kv_heads),
      scale_(1 / std::sqrt(static_cast<double>(config.head_dim))),
      variant_(Variant(config.head_dim, dtype)),
      rows_(dtype == at::kFloat ? 32 : 64),  // kernels/emit.py: packed_variants
      offsets_(at::empty({config.heads, tokens, kOffsets}, at::TensorOptions(dtype).device(device))) {
  const at::TensorOptions whole = at::TensorOptions(at::kInt).device(device);
  ends_ = at::empty({tokens}, whole);
  by_keys_ = at::empty({CeilDiv(tokens, rows_)}, whole), by_queries_ = at::empty_like(by_keys_);
}

void PackedAttention::Begin(const at::Tensor& starts, const at::Tensor& positions) {
  positions_ = positions;
  LaunchBuiltin("document_ends", starts.numel() - 1, {starts, ends_});
  LaunchBuiltin("order_tiles", by_keys_.numel(),
                {positions_, ends_, by_keys_, by_queries_, tokens_, rows_, by_keys_.numel()});
}

void PackedAttention::Forward(const Inputs& in, const at::Tensor& out, const at::Tensor& lse) const {
  LaunchBuiltin("packed_attention" + variant_, {heads_, by_keys_.numel()},
                {in.rotated, in.qkv, positions_, by_keys_, out, lse, tokens_, heads_, kv_heads_,
                 scale_ * std::numbers::log2e});
}

void PackedAttention::Backward(const Inputs& in, const at::Tensor& out, const at::Tensor& lse,
                               const at::Tensor& d_out, const at::Tensor& d_rotated,
                               const at::Tensor& d_qkv) const {
  const int64_t tiles = by_keys_.numel();
  const double log_scale = scale_ * std::numbers::log2e;
  LaunchBuiltin("packed_attention_dq" + variant_, {heads_, tiles},
                {in.rotated, in.qkv, positions_, by_keys_, out, lse, d_out, d_rotated, offsets_, tokens_,
                 heads_, kv_heads_, log_scale, scale_});
  LaunchBuiltin("packed_attention_dkv" + variant_, {kv_heads_, tiles},
                {in.rotated, in.qkv, ends_, by_queries_, d_out, offsets_, d_rotated, d_qkv, tokens_, heads_,
                 kv_heads_, log_scale, scale_});
}

std::vector<std::string> PackedAttention::KernelNames() const {
  return {"document_ends", "order_tiles", "packed_attention" + variant_, "packed_attention_dq" + variant_,
          "packed_attention_dkv" + variant_};
}

}  // namespace tritogen::train
