#include "verify/inputs.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tritogen {
namespace {

constexpr Distribution kAll[] = {
    Distribution::kGenerated, Distribution::kSpread,  Distribution::kFlipped, Distribution::kShifted,
    Distribution::kSpikes,    Distribution::kPlanted, Distribution::kLarge,   Distribution::kBinary,
    Distribution::kNearOne,   Distribution::kSwings,  Distribution::kTiny,    Distribution::kPlantedApart};

TEST(Inputs, KeepShapeDtypeAndLayoutAndLeaveTheOriginalAlone) {
  const at::Tensor x = at::rand({6, 4}).t(), half = at::rand({8}).to(at::kBFloat16), i = at::arange(5),
                   b = at::ones({40}, at::kBool);
  const std::vector<at::Tensor> in = {
      x, half, i, b, at::rand({}), at::rand({0, 3}), at::rand({1, 3}).expand({5, 3})};
  std::vector<at::Tensor> before;
  for (const at::Tensor& t : in) before.push_back(t.clone());
  for (const Distribution d : kAll) {
    const auto out = Transform(d, in, 7, 1);
    ASSERT_EQ(out.size(), in.size());
    for (size_t k = 0; k < in.size(); ++k) {
      EXPECT_EQ(out[k].sizes(), in[k].sizes());
      EXPECT_EQ(out[k].strides(), in[k].strides()) << DistributionName(d) << " " << k;
      EXPECT_EQ(out[k].scalar_type(), in[k].scalar_type());
      EXPECT_TRUE(in[k].equal(before[k]));
    }
    EXPECT_TRUE(out[2].equal(i)) << "integers keep their meaning";
  }
}

TEST(Inputs, TinyOnesAreSmallInWholeLines) {
  const at::Tensor x = at::rand({64, 32}) + 1;
  int small = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const at::Tensor times = Transform(Distribution::kTiny, {x}, seed, 1)[0] / x;
    EXPECT_LT(times.min().item<double>(), 1.1e-9);
    EXPECT_LE(times.max().item<double>(), 0.1001);
    EXPECT_GE(times.min().item<double>(), 0.999e-9);
    small += times.amax(1).min().item<double>() < 1e-7;  // a row that is small throughout
  }
  EXPECT_GE(small, 12);
  const at::Tensor mask = at::rand({64}).gt(0.5).to(at::kFloat);
  EXPECT_TRUE(Transform(Distribution::kTiny, {mask}, 1, 1)[0].equal(mask));
}

TEST(Inputs, WhatIsSearchedStaysInOrderWhereItWas) {
  const at::Tensor grid = at::linspace(-1, 1, 20), lines = std::get<0>(at::rand({4, 9}).sort(-1)),
                   loose = at::rand({20});
  const std::vector<at::Tensor> in = {grid, lines, loose, grid};
  for (const Distribution d : kAll) {
    const auto plain = Transform(d, in, 5, 1);
    auto kept = plain;
    KeepInOrder({true, true, true, false}, in, &kept);
    for (size_t i : {0, 1}) {
      EXPECT_TRUE(kept[i].equal(std::get<0>(plain[i].sort(-1)))) << DistributionName(d);
      EXPECT_EQ(kept[i].strides(), in[i].strides());
    }
    EXPECT_TRUE(kept[2].equal(plain[2])) << "its order meant nothing";
    EXPECT_TRUE(kept[3].equal(plain[3])) << "nobody searches in it";
  }
}

TEST(Inputs, FlagsThatAreAllOneAreLowered) {
  const at::Tensor ones = at::ones({64}, at::kLong), others = at::arange(64), one = at::ones({1}, at::kLong);
  std::vector<at::Tensor> inputs = {ones, others, one, ones};
  LowerFlags({true, true, true, false}, 3, 1, &inputs);
  EXPECT_TRUE(inputs[0].eq(0).any().item<bool>() && inputs[0].eq(1).any().item<bool>());
  EXPECT_EQ(inputs[0].scalar_type(), at::kLong);
  EXPECT_TRUE(inputs[1].equal(others) && inputs[2].equal(one) && inputs[3].equal(ones));
}

TEST(Inputs, ProbabilitiesStayBetweenZeroAndOne) {
  const std::vector<at::Tensor> in = {at::rand({8, 50}), at::rand({8, 50}).t(), at::rand({8, 50})};
  for (const Distribution d : kAll) {
    const auto plain = Transform(d, in, 5, 1);
    auto kept = plain;
    KeepProbabilities({true, true, false}, &kept);
    for (size_t i : {0, 1}) {
      const at::Tensor inside = plain[i].ge(0).logical_and(plain[i].le(1));
      EXPECT_TRUE(kept[i].ge(0).logical_and(kept[i].le(1)).all().item<bool>()) << DistributionName(d);
      EXPECT_TRUE(kept[i].eq(plain[i]).logical_or(inside.logical_not()).all().item<bool>());
      EXPECT_EQ(kept[i].strides(), in[i].strides());
    }
    EXPECT_TRUE(kept[2].equal(plain[2])) << "nobody takes it for probabilities";
  }
}

TEST(Inputs, AreTheSameForTheSameSeedAndOthersForAnother) {
  const std::vector<at::Tensor> in = {at::rand({32, 32})};
  for (const Distribution d :
       {Distribution::kSpread, Distribution::kShifted, Distribution::kSpikes, Distribution::kBinary}) {
    EXPECT_TRUE(Transform(d, in, 1, 1)[0].equal(Transform(d, in, 1, 1)[0]));
    EXPECT_FALSE(Transform(d, in, 1, 1)[0].equal(Transform(d, in, 2, 1)[0]));
  }
}

TEST(Inputs, HaveTheShapeThatTheirNamesSay) {
  const std::vector<at::Tensor> in = {at::rand({64, 64})};
  const at::Tensor spread = Transform(Distribution::kSpread, in, 3, 1)[0];
  EXPECT_TRUE((spread < 0).any().item<bool>());
  const at::Tensor rows = spread.abs().amax(1), columns = spread.abs().amax(0);
  const double by_row = (rows.max() / rows.min()).item<double>(),
               by_column = (columns.max() / columns.min()).item<double>();
  EXPECT_GT(std::max(by_row, by_column), 50);
  const at::Tensor flipped = Transform(Distribution::kFlipped, in, 3, 1)[0];
  EXPECT_TRUE(flipped.abs().equal(in[0]));
  EXPECT_GT((flipped < 0).sum().item<int64_t>(), 64 * 64 * 2 / 3);
  EXPECT_GT(std::abs(Transform(Distribution::kShifted, in, 3, 1)[0].mean().item<double>() - 0.5), 0.25);
  const at::Tensor spikes = Transform(Distribution::kSpikes, in, 3, 1)[0];
  const auto changed = spikes.ne(in[0]).sum().item<int64_t>();
  EXPECT_GT(changed, 4 * 63) << "ends of lines, and others";
  EXPECT_LT(changed, 4 * 63 + 64);
  const at::Tensor binary = Transform(Distribution::kBinary, in, 3, 1)[0];
  EXPECT_TRUE((binary.eq(0) | binary.eq(1)).all().item<bool>());
  EXPECT_LT((Transform(Distribution::kNearOne, in, 3, 1)[0] - 1).abs().max().item<double>(), 0.05);
  const at::Tensor large = Transform(Distribution::kLarge, in, 3, 1)[0].abs();
  EXPECT_GT(large.max().item<double>(), 89) << "exp overflows in fp32";
  for (int64_t d = 0; d < 2; ++d) {
    const at::Tensor lines = large.amax(d);
    EXPECT_GT((lines.max() / lines.min()).item<double>(), 4);
  }
}

TEST(Inputs, SpikesHaveExtremaAtTheEndsOfLines) {
  const at::Tensor x = at::randn({12, 1000});
  for (const uint64_t seed : {1, 2, 3}) {
    const at::Tensor spikes = Transform(Distribution::kSpikes, {x}, seed, 1)[0];
    for (const int64_t end : {0, 999}) {
      EXPECT_TRUE(spikes.argmax(1).eq(end).any().item<bool>());
      EXPECT_TRUE(spikes.argmin(1).eq(end).any().item<bool>());
    }
    for (const int64_t end : {0, 11}) EXPECT_GT(spikes.argmax(0).eq(end).sum().item<int64_t>(), 100);
    EXPECT_EQ(spikes.abs().argmax().item<int64_t>() % 11999, 0) << "the first or the last of all";
  }
  const at::Tensor few = Transform(Distribution::kSpikes, {at::randn({7, 7})}, 1, 1)[0];
  EXPECT_LT(few.abs().gt(9).sum().item<int64_t>(), 10) << "lines of nothing but ends";
}

TEST(Inputs, FarAreAllSlicesEachByAnotherNumber) {
  const at::Tensor x = at::randn({400, 30}), half = at::randn({64, 8}).to(at::kHalf), line = at::randn({64});
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto below = Transform(Distribution::kFarBelow, {x, half, line}, seed, 1);
    EXPECT_TRUE(below[0].lt(-5000).all().item<bool>());
    EXPECT_TRUE(below[1].lt(-3000).all().item<bool>() && below[1].isfinite().all().item<bool>());
    EXPECT_TRUE(below[2].argmax().equal(line.argmax())) << "a line stays what it is";
    const auto above = Transform(Distribution::kFarAbove, {x, half, line}, seed, 1);
    EXPECT_TRUE(above[0].gt(5000).all().item<bool>());
    EXPECT_GT((above[0].amax() / above[0].amin()).item<double>(), 10);
    EXPECT_TRUE(above[1].lt(-3000).all().item<bool>()) << "by turns";
    EXPECT_TRUE(above[2].gt(5000).all().item<bool>());
  }
  const at::Tensor mask = at::rand({64}).gt(0.5).to(at::kFloat);
  EXPECT_TRUE(Transform(Distribution::kFarBelow, {mask}, 1, 1)[0].is_same(mask));
}

TEST(Inputs, PlantedSometimesHitsTheEndOfALine) {
  const at::Tensor x = at::zeros({64, 1000}).normal_();
  int last = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed)
    last += Transform(Distribution::kPlanted, {x}, seed, 1)[0].ne(x).select(1, 999).any().item<bool>();
  EXPECT_GT(last, 5);
}

TEST(Inputs, HaveEmptyLinesWhereTheyAreBinary) {
  const at::Tensor x = at::randn({16, 64}), mask = at::rand({16, 64}) < 0.9, labels = mask.to(at::kFloat);
  const auto made = Transform(Distribution::kBinary, {x, mask, labels}, 3, 1);
  for (const at::Tensor& one : {made[0], made[1].to(at::kFloat), made[2]})
    EXPECT_TRUE(one.eq(0).all(1).any().item<bool>());
  EXPECT_TRUE(made[0].eq(0).all(0).any().item<bool>());
  EXPECT_TRUE(made[1].all(1).any().item<bool>()) << "of a mask one line is full";
  EXPECT_FALSE(Transform(Distribution::kBinary, {x}, 3, 0.25)[0].eq(0).all(1).any().item<bool>());
}

TEST(Inputs, TheBeginningIsLeftWhereAllElseChanges) {
  const at::Tensor x = at::rand({64, 64}).t();
  for (const Distribution d : {Distribution::kFlipped, Distribution::kShifted, Distribution::kLarge}) {
    const at::Tensor changed = Transform(d, {x}, 3, 1)[0].t().flatten().ne(x.t().flatten());
    EXPECT_FALSE(changed.slice(0, 0, 409).any().item<bool>()) << DistributionName(d);
    EXPECT_GT(changed.slice(0, 1229).sum().item<int64_t>(), 2800) << DistributionName(d);
  }
}

TEST(Inputs, SignsAreKeptOnDemand) {
  const at::Tensor x = at::rand({64, 64}), both = at::randn({64, 64});
  for (const Distribution d : {Distribution::kSpread, Distribution::kShifted, Distribution::kSpikes,
                               Distribution::kPlanted, Distribution::kLarge}) {
    const auto kept = Transform(d, {x, both}, 3, 1, /*keep_signs=*/true);
    EXPECT_FALSE((kept[0] < 0).any().item<bool>()) << DistributionName(d);
    EXPECT_TRUE((kept[1] < 0).any().item<bool>()) << DistributionName(d);
    EXPECT_FALSE(kept[0].equal(x) || kept[1].equal(both)) << DistributionName(d);
  }
}

TEST(Inputs, PlantedOverflowsAtFullStrengthAlone) {
  const at::Tensor x = at::rand({64, 64});
  EXPECT_GT(Transform(Distribution::kPlanted, {x}, 3, 1)[0].abs().max().item<double>(), 149);
  EXPECT_LT(Transform(Distribution::kPlanted, {x}, 3, 0.25)[0].abs().max().item<double>(), 89);
}

TEST(Inputs, PlantedChangesAHandfulOfElementsToEitherSide) {
  const at::Tensor x = at::rand({64, 64});
  const at::Tensor planted = Transform(Distribution::kPlanted, {x}, 3, 1)[0], changed = planted.ne(x);
  const auto count = changed.sum().item<int64_t>();
  EXPECT_GE(count, 2);
  EXPECT_LE(count, 4);
  EXPECT_LT(planted.min().item<double>(), 0);
  EXPECT_GT(planted.max().item<double>(), 1);
  EXPECT_FALSE(Transform(Distribution::kPlanted, {x}, 4, 1)[0].ne(x).equal(changed)) << "elsewhere each time";
}

TEST(Inputs, SwingsShrinkToNothingAndGrowBack) {
  const at::Tensor x = Transform(Distribution::kSwings, {at::rand({512, 512})}, 3, 1)[0];
  for (int64_t d = 0; d < 2; ++d) {
    const at::Tensor products = at::cumprod(x.to(at::kDouble), d), lowest = std::get<0>(products.min(d));
    EXPECT_TRUE((lowest < 1e-9 * products.select(d, -1)).any().item<bool>()) << d;
    EXPECT_TRUE(at::cumprod(x, d).isfinite().all().item<bool>()) << d;
  }
}

TEST(Inputs, TwoValuedLabelsStayTwoValued) {
  const at::Tensor labels = at::randint(0, 2, {100}).to(at::kFloat) * 2 - 1;
  for (const Distribution d : kAll) {
    const at::Tensor out = Transform(d, {at::rand({3}), labels}, 5, 1)[1];
    EXPECT_TRUE((out.eq(1) | out.eq(-1)).all().item<bool>()) << DistributionName(d);
  }
}

TEST(Inputs, RedrawChangesWhatCanBeChanged) {
  for (const at::Tensor& x :
       {at::rand({10}), at::ones({10}), at::zeros({}), at::arange(10), at::zeros({3}, at::kBool)}) {
    const auto other = Redraw(x, 1);
    ASSERT_TRUE(other.has_value());
    EXPECT_FALSE(other->equal(x));
    EXPECT_EQ(other->scalar_type(), x.scalar_type());
  }
  EXPECT_FALSE(Redraw(at::full({4}, 3, at::kLong), 1).has_value());
}

// Row pointers out of order, or rows of edges exchanged, are no inputs: on a GPU they end the context.
TEST(Inputs, RedrawnIntegersKeepTheirKind) {
  const at::Tensor offsets = at::tensor({0, 3, 3, 9, 20}, at::kLong);
  EXPECT_TRUE(Redraw(offsets, 1)->equal(at::tensor({0, 0, 3, 3, 20}, at::kLong)));
  const at::Tensor rows = at::randint(0, 5, {1, 40}), edges = at::cat({rows, at::randint(50, 90, {1, 40})});
  for (const at::Tensor& other : {*Redraw(edges, 1), Redraw(edges.t().contiguous(), 1)->t()}) {
    EXPECT_FALSE(other.equal(edges));
    EXPECT_TRUE(other[0].lt(5).all().item<bool>() && other[1].ge(50).all().item<bool>());
  }
}

TEST(Inputs, RedrawnIntegersHaveOtherSums) {
  const at::Tensor numbers = at::randint(0, 1000, {3, 40});
  EXPECT_FALSE(Redraw(numbers, 1)->sum(1).eq(numbers.sum(1)).any().item<bool>());
}

TEST(Inputs, WobbleStaysWithinHalfAUnitInTheLastPlace) {
  const at::Tensor x = at::randn({1000});
  const at::Tensor moved = Wobble({x}, 1)[0];
  EXPECT_EQ(moved.scalar_type(), at::kDouble);
  EXPECT_TRUE(moved.to(at::kFloat).sub(x).abs().le(x.abs() * std::ldexp(1.0, -23)).all().item<bool>());
  EXPECT_FALSE(moved.equal(x.to(at::kDouble)));
}

TEST(Inputs, WobbleMovesDoublesByAFewPlaces) {
  const at::Tensor x = at::randn({1000}, at::kDouble);
  const at::Tensor moved = Wobble({x}, 1)[0];
  EXPECT_TRUE(moved.sub(x).abs().le(x.abs() * std::ldexp(1.0, -51)).all().item<bool>());
  EXPECT_GT(moved.ne(x).sum().item<int64_t>(), 300);
}

TEST(Inputs, Tf32KeepsElevenBits) {
  const at::Tensor x = at::tensor({1.0f + 1.0f / 1024, 1.0f + 1.0f / 4096, 1.0f + 3.0f / 4096, -INFINITY});
  const at::Tensor rounded = RoundToTf32({x})[0];
  EXPECT_TRUE(rounded.equal(at::tensor({1.0 + 1.0 / 1024, 1.0, 1.0 + 1.0 / 1024, -INFINITY}, at::kDouble)));
}

// However long the beginning is in which they look alike.
TEST(Inputs, TwoValuesAreTwoAndNoMore) {
  const auto with = [](double value, int64_t at) {
    at::Tensor x = at::zeros({3000}, at::kDouble);
    x[2999] = 1;
    x[at] = value;
    return x;
  };
  for (const int64_t place : {0, 5, 1500, 2998}) {
    EXPECT_TRUE(IsTwoValued(with(0, place))) << place;
    EXPECT_TRUE(IsTwoValued(with(1, place).view({50, 60}).t())) << place;
    EXPECT_FALSE(IsTwoValued(with(2, place))) << place;
    EXPECT_FALSE(IsTwoValued(with(NAN, place))) << place;
  }
  EXPECT_FALSE(IsTwoValued(at::ones({3000})));
  EXPECT_FALSE(IsTwoValued(at::tensor({0.0, 1.0}))) << "of two nobody knows";
  EXPECT_TRUE(IsTwoValued(at::arange(40).ge(7)));
}

TEST(Inputs, CutToTf32KeepsTenPlacesBehindTheLeadingOne) {
  const double last = 1.0 / 1024, rest = 0.75 / 1024;
  const at::Tensor x = at::tensor({1 + last, 1 + rest, -1 - rest, 0.0, -INFINITY, double{NAN}}, at::kDouble);
  const at::Tensor expected = at::tensor({1 + last, 1.0, -1.0, 0.0, -INFINITY, double{NAN}}, at::kDouble);
  EXPECT_TRUE(at::allclose(CutToTf32(x), expected, 0, 0, /*equal_nan=*/true));
}

TEST(Inputs, CutAtRandomByNoMoreThanAPlaceAndNeverWhatTf32Holds) {
  const at::Tensor x = at::randn({1000}, at::kDouble), held = CutToTf32(x);
  for (const uint64_t seed : {1, 2}) {
    const at::Tensor cut = CutToTf32(x, seed), change = (x - cut) / x;
    EXPECT_TRUE(change.ge(0).logical_and(change.lt(std::ldexp(1.0, -10))).all().item<bool>());
    EXPECT_NEAR(change.mean().item<double>(), 0.7 * std::ldexp(1.0, -11), std::ldexp(1.0, -13));
    EXPECT_TRUE(CutToTf32(held, seed).equal(held));
  }
  EXPECT_FALSE(CutToTf32(x, 1).equal(CutToTf32(x, 2)));
}

}  // namespace
}  // namespace tritogen
