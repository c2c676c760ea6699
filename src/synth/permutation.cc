#include "synth/permutation.h"

#include <algorithm>

#include "base/error.h"

namespace tritogen::synth {
namespace {

constexpr int kRounds = 8;

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

}  // namespace tritogen::synth
