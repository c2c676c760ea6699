#include "verify/inputs_sunk.h"

#include <ATen/ATen.h>

#include <cmath>
#include <map>

namespace tritogen {
namespace {

// So far below zero, and half a turn of the lower half of an integer's bits.
struct Depth {
  int64_t depth, half_turn;
};

Depth DepthOf(at::ScalarType dtype) {
  constexpr Depth kOfInt32 = {int64_t{1} << 30, int64_t{1} << 15},
                  kOfInt64 = {int64_t{1} << 40, int64_t{1} << 31};
  return dtype == at::kInt ? kOfInt32 : kOfInt64;
}

}  // namespace

std::optional<std::vector<at::Tensor>> Sunk(const AskedValues& asked,
                                            const std::vector<at::Tensor>& generated) {
  std::vector<at::Tensor> inputs = generated;
  std::map<at::ScalarType, int64_t> middles;  // of what is moved, so that keys that are equal stay so
  for (size_t i = 0; i < generated.size(); ++i) {
    const at::Tensor& x = generated[i];
    const at::ScalarType dtype = x.scalar_type();
    if (!asked[i].integers.sinks || x.numel() == 0 || (dtype != at::kInt && dtype != at::kLong)) continue;
    const auto least = x.min().item<int64_t>(), most = x.max().item<int64_t>();
    const auto [depth, half_turn] = DepthOf(dtype);
    if (least < -depth / 4 || most > depth / 4 || most - least < kMostCategories) continue;
    const int64_t middle = middles.try_emplace(dtype, least + (most - least) / 2).first->second;
    inputs[i] = x - (depth - half_turn + middle);
  }
  return middles.empty() ? std::nullopt : std::optional(std::move(inputs));
}

}  // namespace tritogen
