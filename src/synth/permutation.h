// A keyed permutation of [0, size): draws without replacement and splits by index, without a table.
#pragma once

#include <cstdint>

#include "synth/natural.h"

namespace tritogen::synth {

// A Feistel network of eight rounds on the least even number of bits that holds the size; what falls outside
// is sent through again until it does not (cycle walking), which keeps it a bijection. Immutable.
class Permutation {
 public:
  Permutation(const Natural& size, uint64_t key);
  // REQUIRES: index < size.
  Natural At(const Natural& index) const;
  const Natural& size() const { return size_; }

 private:
  Natural Rounds(const Natural& value) const;

  Natural size_;
  uint64_t key_;
  int half_;  // bits of one half
};

// A split of the indices [0, size) in two: which index belongs where depends on nothing but the size, so that
// programs drawn with unlike seeds never cross over. Each is a permuted interval: At(i), i < Count, lists it.
class Split {
 public:
  enum class Side { kAll, kTrain, kTest };
  // Of size · share indices, rounded down, is the test side.
  Split(const Natural& size, Side side, double share);
  const Natural& count() const { return count_; }
  Natural At(const Natural& i) const;  // REQUIRES: i < count()

 private:
  Permutation order_;
  Natural begin_, count_;
};

}  // namespace tritogen::synth
