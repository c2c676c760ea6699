// Random changes of an input that keep most of it alive: bytes, tokens, lines, splices with other inputs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tritogen::fuzz {

// SplitMix64: the same numbers on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  size_t Below(size_t bound);  // REQUIRES: bound > 0

 private:
  uint64_t state_;
};

inline constexpr size_t kMaxInputBytes = size_t{64} << 10;

// One of `corpus`, changed 1 to 8 times; donors for tokens and lines come from `corpus` too. At most
// kMaxInputBytes. REQUIRES: corpus is not empty.
std::string Mutate(std::span<const std::string> corpus, Random& random);

}  // namespace tritogen::fuzz
