// A keyed permutation of [0, size): draws without replacement, without a table.
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

}  // namespace tritogen::synth
