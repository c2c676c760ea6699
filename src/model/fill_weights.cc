#include <ATen/ATen.h>

#include <cmath>

#include "base/splitmix.h"
#include "base/thread_team.h"
#include "model/decoder.h"
#include "model/weights.h"

namespace tritogen {
namespace {

constexpr int64_t kChunk = int64_t{1} << 24;  // elements on the CPU at a time
constexpr double kSpread = 0.02;

int64_t SumOfQuarters(uint64_t word) {
  return static_cast<int64_t>((word & 0xffff) + (word >> 16 & 0xffff) + (word >> 32 & 0xffff) + (word >> 48));
}

// Element `index` of a tensor: the sum of eight uniform numbers of 16 bits, which is normal but for a
// kurtosis that is 0.15 less. Integers and one product: libm's last bits are not the same everywhere.
float NormalAt(uint64_t seed, uint64_t index) {
  constexpr int64_t kTwiceMean = 8 * 0xffff;
  const double scale = kSpread / std::sqrt(8 * (65536.0 * 65536.0 - 1) / 12) / 2;
  const int64_t sum =
      SumOfQuarters(SplitMix::At(seed, 2 * index)) + SumOfQuarters(SplitMix::At(seed, 2 * index + 1));
  return static_cast<float>(static_cast<double>(2 * sum - kTwiceMean) * scale);
}

void FillNormal(uint64_t seed, const at::Tensor& tensor, ThreadTeam* team) {
  const at::Tensor flat = tensor.view({-1});
  const int64_t count = flat.numel();
  const at::Tensor chunk = at::empty({std::min(count, kChunk)}, at::kFloat);
  float* values = chunk.data_ptr<float>();
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    const int64_t size = std::min(kChunk, count - begin);
    team->For(size, 1 << 15, [&](int, int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) values[i] = NormalAt(seed, static_cast<uint64_t>(begin + i));
    });
    flat.narrow(0, begin, size).copy_(chunk.narrow(0, 0, size));
  }
}

}  // namespace

void FillWeights(uint64_t seed, DecoderWeights* weights) {
  const at::NoGradGuard no_gradients;
  ThreadTeam team(0);
  auto named = weights->Named();
  uint64_t index = 0;
  for (const auto& expected : ExpectedTensors(weights->config)) {
    const at::Tensor& tensor = named.at(expected.name);
    const uint64_t own_seed = SplitMix::At(seed, index++);
    if (expected.name.ends_with(".bias")) {
      tensor.zero_();
    } else if (tensor.dim() == 1) {
      tensor.fill_(1);
    } else {
      FillNormal(own_seed, tensor, &team);
    }
  }
}

}  // namespace tritogen
