#include "verify/inputs_planted.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "base/splitmix.h"
#include "verify/inputs.h"
#include "verify/inputs_lines.h"

namespace tritogen {
namespace {

constexpr size_t kMostPlaces = 4, kRandomPlaces = 2, kPlacesApart = 3, kMostFar = 2;

// How many of the steps are between two places of this distance, or more than `most`. The compiler knows each
// step: a division by a number that it does not know takes some twenty times as long.
template <int64_t... kSteps>
struct Sampling {
  static int Shared(int64_t distance, int most) {
    int shared = 0;
    ((shared <= most ? shared += distance % kSteps == 0 : 0), ...);
    return shared;
  }
};

// Where a place lies in samples of each n-th element or line.
struct Lines {
  at::IntArrayRef sizes, strides;

  // How many of the regular samples that hold place `a` hold `b`, or more than `most`. Of lines each eighth
  // and each tenth; of elements each fourth to 64th, all of which are multiples of one of these steps, so
  // that none speaks for samples of fewer elements, too. Who reads more reads it all.
  int Shared(int64_t a, int64_t b, int most) const {
    using OfElements = Sampling<4, 6, 9, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61>;
    using OfLines = Sampling<8, 10>;
    constexpr int64_t kLongLine = 16;
    constexpr int kLineCounts = 2;
    int shared = 0;
    for (size_t d = 0; d < sizes.size() && shared <= most; ++d) {
      if (sizes[d] < kLongLine) continue;
      const int64_t here = a / strides[d] % sizes[d], there = b / strides[d] % sizes[d];
      shared += kLineCounts * OfLines::Shared(here - there, most);
    }
    return shared + OfElements::Shared(a - b, most - shared);
  }
};

bool Contains(const std::vector<int64_t>& places, int64_t place) {
  return std::ranges::find(places, place) != places.end();
}

// Two at random and two at ends of lines, fewer where there are not so `many`. No two are the same, as far as
// some draws find others: one would be lost, and with it one of the signs.
std::vector<int64_t> Places(const Lines& lines, int64_t n, size_t many, const Random& random) {
  constexpr int kTries = 16;
  std::vector<int64_t> places;
  while (places.size() < many) {
    int64_t place = 0;
    for (int i = 0; i < kTries; ++i) {
      place =
          places.size() < kRandomPlaces ? random.Seed() % n : EndOfLine(lines.sizes, lines.strides, random);
      if (!Contains(places, place)) break;
    }
    places.push_back(place);
  }
  return places;
}

// Of many places at random the one that shares the fewest samples with `others`; not one that is taken.
int64_t Apart(const Lines& lines, int64_t n, std::span<const int64_t> others,
              const std::vector<int64_t>& taken, SplitMix* random) {
  constexpr int kTries = 2048;
  int64_t best = 0;
  int least = std::numeric_limits<int>::max();
  for (int i = 0; i < kTries && least > 0; ++i) {
    const auto place = static_cast<int64_t>(random->Below(n));
    if (Contains(taken, place)) continue;
    int shared = 0;
    for (size_t k = 0; k < others.size() && shared < least; ++k)
      shared += lines.Shared(place, others[k], least - shared - 1);
    if (shared >= least) continue;
    least = shared;
    best = place;
  }
  return best;
}

}  // namespace

Plants DrawPlants(at::IntArrayRef sizes, at::IntArrayRef strides, double strength, bool apart,
                  const Random& random) {
  const int64_t n = c10::multiply_integers(sizes);
  const size_t most = std::clamp<int64_t>(n / 4, 1, kMostPlaces);
  // One number of the trial's, so that what follows for other tensors does not depend on `apart`.
  const Random own(random.Seed(), at::kCPU);
  const Lines lines = {sizes, strides};
  std::vector<int64_t> places = Places(lines, n, most, own);
  if (apart) {
    SplitMix tries(own.Seed());
    const std::vector<int64_t> others = std::move(places);
    places.clear();
    for (size_t i = 0; i < std::min(kPlacesApart, most); ++i)
      places.push_back(Apart(lines, n, others, places, &tries));
  }
  // Of either sign, since only one of them may overflow.
  const size_t some = most > kRandomPlaces ? (apart ? kMostFar : most - kRandomPlaces) : 0;
  const size_t far = strength == 1 ? some : 0;
  Plants plants{.places = std::move(places), .values = {}, .mild = 0};
  plants.mild = plants.places.size() - far;
  double sign = own.Number(0, 1) < 0.5 ? -1 : 1;
  for (size_t i = 0; i < plants.places.size(); ++i, sign = -sign)
    plants.values.push_back(
        sign * (i < plants.mild ? std::pow(10.0, own.Number(0.5, 2)) : own.Number(kLeastLarge, kMostLarge)));
  return plants;
}

}  // namespace tritogen
