#include "verify/inputs_planted.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tritogen {
namespace {

struct Pair {
  Plants first, apart;
};

Pair Draw(const std::vector<int64_t>& sizes, uint64_t seed, double strength = 1) {
  const auto strides = c10::contiguous_strides(sizes);
  const auto draw = [&](bool apart) {
    return DrawPlants(sizes, strides, strength, apart, Random(seed, at::kCPU));
  };
  return {draw(false), draw(true)};
}

// Whether some sample of each `step`-th of what `place_in` says sees a place of both.
template <typename F>
bool SomeSampleSeesBoth(const Pair& pair, int64_t step, const F& place_in) {
  return std::ranges::any_of(pair.first.places, [&](int64_t a) {
    return std::ranges::any_of(pair.apart.places,
                               [&](int64_t b) { return (place_in(a) - place_in(b)) % step == 0; });
  });
}

TEST(DrawPlants, NoRegularSampleSeesSomeOfBoth) {
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{64, 200}, {64, 256}, {8, 16, 32, 32}, {1000, 64}, {50000}}) {
    const auto strides = c10::contiguous_strides(sizes);
    for (uint64_t seed = 1; seed <= 100; ++seed) {
      const Pair pair = Draw(sizes, seed);
      for (const int64_t step : {8, 16, 32, 64, 128, 256})
        EXPECT_FALSE(SomeSampleSeesBoth(pair, step, [](int64_t place) { return place; })) << seed << step;
      for (size_t d = 0; d < sizes.size(); ++d) {
        if (sizes[d] < 16) continue;
        const auto line = [&](int64_t place) { return place / strides[d] % sizes[d]; };
        for (const int64_t step : {8, 10, 16, 20})
          EXPECT_FALSE(SomeSampleSeesBoth(pair, step, line)) << seed << " " << d << " " << step;
      }
    }
  }
}

TEST(DrawPlants, OfEitherSignAndFarAtFullStrengthAlone) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto [first, apart] = Draw({64, 64}, seed);
    EXPECT_EQ(first.places.size(), 4u);
    EXPECT_EQ(first.mild, 2u);
    EXPECT_EQ(apart.places.size(), 3u);
    EXPECT_EQ(apart.mild, 1u);
    for (const Plants& plants : {first, apart}) {
      EXPECT_LE(std::ranges::min(plants.values), -150);
      EXPECT_GE(std::ranges::max(plants.values), 150);
      EXPECT_EQ(plants.values.size(), plants.places.size());
    }
    const Pair tame = Draw({64, 64}, seed, 0.25);
    EXPECT_EQ(tame.first.mild, 4u);
    EXPECT_EQ(tame.apart.mild, 3u);
    EXPECT_EQ(tame.apart.places, apart.places) << "milder, but there";
  }
}

TEST(DrawPlants, NoneIsLostToAnother) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const auto [first, apart] = Draw({8, 4}, seed);
    for (const Plants& plants : {first, apart}) {
      std::vector<int64_t> places = plants.places;
      std::ranges::sort(places);
      EXPECT_TRUE(std::ranges::adjacent_find(places) == places.end()) << seed;
    }
  }
}

TEST(DrawPlants, LeavesTheSameBehindForWhatIsDrawnNext) {
  const std::vector<int64_t> sizes = {30, 7}, strides = {7, 1};
  const Random one(5, at::kCPU), other(5, at::kCPU);
  DrawPlants(sizes, strides, 1, false, one);
  DrawPlants(sizes, strides, 1, true, other);
  EXPECT_EQ(one.Seed(), other.Seed());
}

TEST(DrawPlants, OfFewElementsThereAreFewer) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    for (const int64_t n : {1, 2, 4, 8, 13}) {
      const auto [first, apart] = Draw({n}, seed);
      EXPECT_EQ(first.places.size(), std::clamp<size_t>(n / 4, 1, 4));
      EXPECT_EQ(apart.places.size(), std::clamp<size_t>(n / 4, 1, 3));
      for (const Plants& plants : {first, apart})
        for (const int64_t place : plants.places) EXPECT_TRUE(place >= 0 && place < n);
    }
  }
}

}  // namespace
}  // namespace tritogen
