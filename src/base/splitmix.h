// A small deterministic generator of random numbers: the same seed gives the same numbers on every machine
// and with every standard library.
#pragma once

#include <cstdint>

namespace tritogen {

// SplitMix64 (Steele, Lea, Flood 2014): a counter through a mixing function, so that streams of unlike seeds
// are independent for our purposes. Not for secrets.
class SplitMix {
 public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}

  uint64_t Next() { return Mix(state_ += kStep); }

  // What Next gives as call number `index` from 0, for this seed.
  static uint64_t At(uint64_t seed, uint64_t index) { return Mix(seed + kStep * (index + 1)); }

  // Uniform in [0, bound), exactly (Lemire 2019). REQUIRES: bound > 0.
  uint64_t Below(uint64_t bound) {
    unsigned __int128 product = static_cast<unsigned __int128>(Next()) * bound;
    if (static_cast<uint64_t>(product) < bound) {
      const uint64_t reject = -bound % bound;
      while (static_cast<uint64_t>(product) < reject)
        product = static_cast<unsigned __int128>(Next()) * bound;
    }
    return static_cast<uint64_t>(product >> 64);
  }

  // Uniform in [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

  // True with this probability.
  bool Chance(double probability) { return Unit() < probability; }

  // A bijection of 64-bit words that looks random.
  static uint64_t Mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;

  uint64_t state_;
};

}  // namespace tritogen
