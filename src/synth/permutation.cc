#include "synth/permutation.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace tritogen::synth {
namespace {

constexpr int kRounds = 8;
constexpr uint64_t kSplitKey = 0x7370'6c69'74;

Natural Low(const Natural& value, int bits) {
  return value - value.ShiftRight(bits).ShiftLeft(bits);
}

}  // namespace

Permutation::Permutation(const Natural& size, uint64_t key) : size_(size), key_(key) {
  TRITOGEN_CHECK(!size.IsZero());
  half_ = std::max(1, ((size - 1).BitWidth() + 1) / 2);
}

Natural Permutation::Rounds(const Natural& value) const {
  Natural left = value.ShiftRight(half_), right = Low(value, half_);
  for (int round = 0; round < kRounds; ++round) {
    uint64_t hash = SplitMix::Mix(key_ + static_cast<uint64_t>(round) * 0x9e3779b97f4a7c15u);
    for (int i = 0; i * 64 < half_; ++i) hash = SplitMix::Mix(hash ^ right.Limb(i)) + i;
    Natural mask;
    for (int i = 0; i * 64 < half_; ++i) mask.SetLimb(i, SplitMix::Mix(hash + i + 1));
    mask = Low(mask, half_);
    for (int i = 0; i * 64 < half_; ++i) left.SetLimb(i, left.Limb(i) ^ mask.Limb(i));
    std::swap(left, right);
  }
  return left.ShiftLeft(half_) + right;
}

Natural Permutation::At(const Natural& index) const {
  TRITOGEN_CHECK(index < size_);
  Natural value = Rounds(index);
  while (!(value < size_)) value = Rounds(value);
  return value;
}

Split::Split(const Natural& size, Side side, double share) : order_(size, kSplitKey) {
  const auto millionths = static_cast<uint64_t>(std::llround(std::clamp(share, 0.0, 1.0) * 1e6));
  auto [whole, rest] = Natural::Divide(size, 1000000);
  const Natural test = whole * millionths + Natural::Divide(rest * millionths, 1000000).quotient;
  begin_ = side == Side::kTrain ? test : Natural(0);
  count_ = side == Side::kAll ? size : side == Side::kTest ? test : size - test;
}

Natural Split::At(const Natural& i) const {
  TRITOGEN_CHECK(i < count_);
  return order_.At(begin_ + i);
}

}  // namespace tritogen::synth
