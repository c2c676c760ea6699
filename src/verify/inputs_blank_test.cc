#include "verify/inputs_blank.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace tritogen {
namespace {

constexpr uint64_t kSeeds = 20;

// Of one tensor; as it is where it does not change.
at::Tensor BlankOf(Distribution distribution, const at::Tensor& x, uint64_t seed = 1, bool flags = false,
                   bool last_write_stays = false) {
  const auto blank = Blank(distribution, {{flags}, last_write_stays}, {x}, seed);
  if (!blank) return x;
  EXPECT_EQ(blank->at(0).scalar_type(), x.scalar_type());
  EXPECT_EQ(blank->at(0).sizes(), x.sizes());
  return blank->at(0);
}

int64_t CountDifferent(const at::Tensor& x) {
  return std::get<0>(at::_unique(x)).numel();
}

TEST(Blank, NothingIsChosen) {
  const at::Tensor mask = at::tensor({1, 0, 1, 1}).to(at::kBool);
  EXPECT_FALSE(BlankOf(Distribution::kNone, mask).any().item<bool>());
  EXPECT_TRUE(BlankOf(Distribution::kNone, at::tensor({5, 3, 3, 5})).eq(3).all().item<bool>());
  EXPECT_TRUE(BlankOf(Distribution::kNone, at::tensor({-1.0f, 1.0f, 1.0f})).eq(-1).all().item<bool>());
  const at::Tensor ones = at::ones({4}, at::kLong);
  EXPECT_TRUE(BlankOf(Distribution::kNone, ones, 1, /*flags=*/true).eq(0).all().item<bool>());
  for (const at::Tensor& other : {ones, at::arange(4), at::randn({4}), at::empty({0}, at::kBool)})
    EXPECT_FALSE(Blank(Distribution::kNone, {{false}, false}, {other}, 1)) << "there is nothing to choose by";
}

TEST(Blank, AllIsChosen) {
  const at::Tensor mask = at::tensor({1, 0, 1, 1}).to(at::kBool);
  EXPECT_TRUE(BlankOf(Distribution::kAll, mask).all().item<bool>());
  EXPECT_TRUE(BlankOf(Distribution::kAll, at::tensor({5, 3, 3, 5})).eq(5).all().item<bool>());
  const at::Tensor ones = at::ones({4}, at::kLong);
  EXPECT_FALSE(Blank(Distribution::kAll, {{true}, false}, {ones}, 1)) << "it is already";
}

TEST(Blank, KeysBecomeTheSameInAllThatAreCompared) {
  const at::Tensor keys = at::randint(100000, {64}, at::kLong), others = at::randint(100000, {64}, at::kLong);
  const auto uneven = [&](std::vector<std::optional<size_t>> of) {
    const auto blank =
        Blank(Distribution::kUneven, {{false, false}, false, std::move(of)}, {keys, others}, 3);
    return blank->at(0).unsqueeze(1).eq(blank->at(1)).sum().item<int>();
  };
  EXPECT_LT(uneven({}), 10);
  EXPECT_GT(uneven({0, 0}), 500);
}

TEST(Blank, MostIntegersAreOneThatWasGenerated) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const at::Tensor ids = at::randint(7, 23, {512}, at::kInt);
    const at::Tensor uneven = BlankOf(Distribution::kUneven, ids, seed);
    EXPECT_GT(CountDifferent(uneven), 0);
    EXPECT_LT(CountDifferent(uneven), 14) << "some values do not occur";
    EXPECT_TRUE(at::isin(uneven, ids).all().item<bool>()) << "each is one that was generated";
    EXPECT_TRUE(uneven.equal(BlankOf(Distribution::kUneven, ids, seed))) << "the same for the same seed";
    const at::Tensor wide = at::randint(int64_t{1} << 40, {512}, at::kLong);
    EXPECT_LT(CountDifferent(BlankOf(Distribution::kUneven, wide, seed)), 300);
  }
}

TEST(Blank, AllIntegersAreOne) {
  const at::Tensor ids = at::randint(7, 23, {512}, at::kInt);
  const at::Tensor crowded = BlankOf(Distribution::kCrowded, ids);
  EXPECT_TRUE(crowded.eq(crowded[0]).all().item<bool>() && at::isin(crowded[0], ids).item<bool>());
  const at::Tensor offsets = at::tensor({0, 10, 24, 96});
  EXPECT_TRUE(BlankOf(Distribution::kCrowded, offsets).equal(at::tensor({0, 96, 96, 96})))
      << "the first has all";
  const at::Tensor places = at::randperm(64, at::kLong);
  EXPECT_TRUE(BlankOf(Distribution::kCrowded, places, 1, false, /*last_write_stays=*/true).equal(places));
}

TEST(Blank, IntegersRepeatWhatStandsBesideThem) {
  const at::Tensor ids = at::randint(30000, {40, 32}, at::kLong);
  const at::Tensor repeats = BlankOf(Distribution::kRepeats, ids);
  EXPECT_TRUE(at::isin(repeats, ids).all().item<bool>());
  const at::Tensor beside = repeats.narrow(1, 1, 31).eq(repeats.narrow(1, 0, 31)).to(at::kFloat).mean();
  EXPECT_NEAR(beside.item<double>(), 0.5, 0.1);
  const at::Tensor above = repeats.narrow(0, 1, 39).eq(repeats.narrow(0, 0, 39)).all(1).sum();
  EXPECT_EQ(above.item<int>(), 10);
  const at::Tensor ends =
      at::stack({at::randint(50, {40}, at::kLong), at::randint(50, 99, {40}, at::kLong)}, 1);
  const at::Tensor twice = BlankOf(Distribution::kRepeats, ends);
  EXPECT_TRUE(twice.select(1, 0).lt(50).all().item<bool>() && twice.select(1, 1).ge(50).all().item<bool>());
  EXPECT_GT(twice.narrow(0, 1, 39).eq(twice.narrow(0, 0, 39)).all(1).sum().item<int>(), 5) << "whole edges";
  const at::Tensor places = at::randperm(64, at::kLong);
  EXPECT_TRUE(BlankOf(Distribution::kRepeats, places, 1, false, /*last_write_stays=*/true).equal(places));
  EXPECT_TRUE(BlankOf(Distribution::kRepeats, at::arange(64)).equal(at::arange(64)));
}

TEST(Blank, OneValueOccursOnce) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const at::Tensor repeats = BlankOf(Distribution::kRepeats, at::randint(6, {128}, at::kInt), seed);
    EXPECT_EQ(repeats.bincount({}, 6).eq(1).sum().item<int>(), 1);
  }
}

TEST(Blank, SourcesOfEdgesAreNoEndsOfAny) {
  int apart = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const at::Tensor edges = BlankOf(Distribution::kUneven, at::randint(32, {2, 1024}, at::kLong), seed);
    apart += !at::isin(edges[0], edges[1]).all().item<bool>();
  }
  EXPECT_GT(apart, kSeeds / 2);
}

TEST(Blank, WhatIsInOrderStaysSo) {
  const at::Tensor offsets = at::tensor({0, 10, 24, 96});
  EXPECT_TRUE(BlankOf(Distribution::kUneven, offsets).equal(at::tensor({0, 0, 10, 96}))) << "an empty one";
}

TEST(Blank, PlacesThatAreWrittenToStayApart) {
  const at::Tensor places = at::randperm(64, at::kLong);
  EXPECT_TRUE(BlankOf(Distribution::kUneven, places, 1, false, /*last_write_stays=*/true).equal(places));
  EXPECT_FALSE(BlankOf(Distribution::kUneven, places, 1, false, /*last_write_stays=*/false).equal(places));
  const at::Tensor often = at::randint(8, {64}, at::kLong);
  EXPECT_FALSE(BlankOf(Distribution::kUneven, often, 1, false, /*last_write_stays=*/true).equal(often));
}

TEST(Blank, FloatsAreZeroAndMasksStay) {
  const at::Tensor mask = at::tensor({1.0f, 0.0f, 1.0f}), x = at::randn({4, 5}).t(), ids = at::arange(4);
  const auto blank = Blank(Distribution::kZeros, {{false, false, false}, false}, {x, mask, ids}, 1);
  ASSERT_TRUE(blank);
  EXPECT_TRUE(blank->at(0).eq(0).all().item<bool>());
  EXPECT_EQ(blank->at(0).strides(), x.strides());
  EXPECT_TRUE(blank->at(1).equal(mask) && blank->at(2).equal(ids));
  EXPECT_FALSE(Blank(Distribution::kZeros, {{false}, false}, {mask}, 1));
}

TEST(Blank, NothingIsChosenAndNothingFound) {
  const at::Tensor mask = at::tensor({1.0f, 0.0f, 1.0f}), x = at::randn({4, 5});
  const auto nothing = Blank(Distribution::kNothing, {{false, false}, false}, {x, mask}, 1);
  ASSERT_TRUE(nothing);
  EXPECT_TRUE(nothing->at(0).eq(0).all().item<bool>() && nothing->at(1).eq(0).all().item<bool>());
  const auto below = Blank(Distribution::kNothingBelow, {{false, false}, false}, {x, mask}, 1);
  ASSERT_TRUE(below);
  EXPECT_LE(below->at(0).max().item<double>(), -40);
  EXPECT_GT(below->at(0).sigmoid().min().item<double>(), 0) << "float32 holds it";
  EXPECT_TRUE(below->at(1).eq(0).all().item<bool>());
  for (const auto distribution : {Distribution::kNothing, Distribution::kNothingBelow}) {
    EXPECT_FALSE(Blank(distribution, {{false}, false}, {x}, 1)) << "there is nothing to choose by";
    EXPECT_FALSE(Blank(distribution, {{false}, false}, {mask}, 1)) << "there is nothing to find";
  }
}

TEST(Blank, LevelHasLinesOfOneNumberAndSlicesThatAreTheSame) {
  const at::Tensor x = at::randn({9, 5, 7});
  const auto made = Blank(Distribution::kLevel, {.flags = {false}}, {x}, 3);
  ASSERT_TRUE(made.has_value());
  const at::Tensor& level = made->at(0);
  std::vector<int> ways;
  for (int64_t i = 1; i < 9; ++i) {
    const at::Tensor slice = level[i];
    const bool before = slice.equal(x[i - 1]), own = slice.equal(x[i]),
               lines = slice.equal(x[i].narrow(1, 0, 1).expand({5, 7})),
               frames = slice.equal(x[i].narrow(0, 0, 1).expand({5, 7}));
    EXPECT_EQ(before + own + lines + frames, 1) << i;
    ways.push_back(before ? 0 : lines ? 1 : frames ? 2 : 3);
  }
  for (size_t i = 4; i < ways.size(); ++i) EXPECT_EQ(ways[i], ways[i - 4]);
  const at::Tensor vector = at::randn({20});
  EXPECT_TRUE(
      Blank(Distribution::kLevel, {.flags = {false}}, {vector}, 3)->at(0).equal(vector[0].expand(20)));
  EXPECT_FALSE(Blank(Distribution::kLevel, {.flags = {false}}, {at::arange(6)}, 3).has_value()) << "integers";
}

}  // namespace
}  // namespace tritogen
