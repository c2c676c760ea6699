#include "verify/budget_columns.h"
#include "device/aten_dtype.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "verify/budget.h"

namespace tritogen {
namespace {

constexpr Expectation::Way kWays[] = {Expectation::Way::kLoops, Expectation::Way::kKernels};

// With the noise of float32 in every element.
Expectation Expect(const at::Tensor& exact, Expectation::Way way, at::ScalarType dtype = at::kFloat) {
  const at::Tensor moved = exact * (1 + UnitRoundoff(dtype) * (2 * at::rand_like(exact) - 1));
  return Expectation(exact, exact.to(dtype), {moved}, {}, way);
}

bool Passes(const Expectation& expected, const at::Tensor& got) {
  return expected.Compare(got.to(expected.dtype())).ok;
}

TEST(ColumnBudget, WhatIsSmallBesideItsRowIsJudgedByItsColumn) {
  at::manual_seed(1);
  for (const auto way : kWays) {
    for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
      for (const int64_t rows : {1, 5, 40, 64, 300}) {
        const at::Tensor x = at::randn({rows, 320}, at::kDouble).to(dtype).to(at::kDouble);
        const at::Tensor exact = at::cat({x * 1e6, x.sin()}, 1);
        const Expectation expected = Expect(exact, way, dtype);
        EXPECT_TRUE(Passes(expected, exact));
        at::Tensor got = exact.clone();
        got.narrow(1, 320, 320).zero_();
        EXPECT_FALSE(Passes(expected, got)) << rows;
        got = exact.clone();
        got[rows / 2][400] = 1.5;
        const Comparison one = expected.Compare(got.to(dtype));
        EXPECT_FALSE(one.ok);
        EXPECT_EQ(one.index, rows / 2 * 640 + 400);
        EXPECT_GT(one.error, one.budget);
        EXPECT_LT(one.error, 1e-5) << "of the output's scale";
      }
    }
  }
}

// What a row or a group of rows holds beside, in any dimension: of an output so large that its rows are
// joined.
TEST(ColumnBudget, DimensionsThatRowsJoinAreToldApart) {
  const int64_t channels = 1100;
  at::Tensor scale = at::ones({channels, 1, 1}, at::kDouble);
  scale.slice(0, 0, channels, 2) *= 1e7;
  for (const auto way : kWays) {
    const at::Tensor exact = at::randn({128, channels, 4, 5}, at::kDouble) * scale;
    const Expectation expected = Expect(exact, way);
    EXPECT_TRUE(Passes(expected, exact));
    at::Tensor got = exact.clone();
    got.select(1, 7).zero_();
    EXPECT_FALSE(Passes(expected, got));
  }
}

// Rows hold sixteen elements and more, columns of fewer places are told apart all the same.
TEST(ColumnBudget, FewColumnsAreToldApart) {
  for (const auto way : kWays) {
    for (const std::vector<int64_t>& sizes :
         std::vector<std::vector<int64_t>>{{500}, {8, 90}, {200, 1, 60}}) {
      const at::Tensor x = at::randn(sizes, at::kDouble);
      const at::Tensor exact = at::stack({x * 1e6, x.sin(), x.cos()}, -1);
      const Expectation expected = Expect(exact, way);
      EXPECT_TRUE(Passes(expected, exact));
      at::Tensor got = exact.clone();
      got.select(-1, 1).zero_();
      EXPECT_FALSE(Passes(expected, got));
    }
  }
}

TEST(ColumnBudget, FunctionsThatAreExactForNumbersNearOnePass) {
  for (const auto way : kWays) {
    at::Tensor x = at::randn({200, 64}, at::kDouble);
    x.narrow(1, 32, 32) *= 1e-5;
    const at::Tensor tanh = x.tanh(), x32 = x.to(at::kFloat);
    EXPECT_TRUE(Passes(Expect(tanh, way), 2 * at::sigmoid(2 * x32) - 1));
    const at::Tensor late = x - 15 * at::arange(64, at::kDouble).gt(20).to(at::kDouble);
    EXPECT_TRUE(Passes(Expect(at::softplus(late), way), late.to(at::kFloat).exp().add(1).log()));
    EXPECT_FALSE(
        Passes(Expect(tanh * 1e6, way), 1e6 * (2 * at::sigmoid(2 * x32.to(at::kHalf).to(at::kFloat)) - 1)));
  }
}

TEST(ColumnBudget, AColumnOfZerosSaysNothing) {
  for (const auto way : kWays) {
    at::Tensor exact = at::randn({100, 32}, at::kDouble) * 1e3;
    exact.select(1, 3).zero_();
    at::Tensor got = exact.clone();
    got.select(1, 3) += 1e-4;  // what a fused multiplication and addition leave of a b - b a
    EXPECT_TRUE(Passes(Expect(exact, way), got));
  }
}

TEST(ColumnBudget, MoreNoiseWidensColumns) {
  for (const auto way : kWays) {
    const at::Tensor scale = at::ones({64}, at::kDouble);
    scale.narrow(0, 32, 32).fill_(1e-7);
    const at::Tensor exact = at::randn({100, 64}, at::kDouble) * 1e3 * scale;
    Expectation expected = Expect(exact, way);
    at::Tensor got = exact.clone(), noisy = exact.clone();
    got[9][40] += 3e-4;
    noisy[50][40] += 1e-5;
    EXPECT_FALSE(Passes(expected, got));
    expected.Widen(noisy);
    EXPECT_TRUE(Passes(expected, got));
    got[9][41] += 3e-4;
    EXPECT_FALSE(Passes(expected, got));
  }
}

TEST(ColumnBudget, BothWaysAllowTheSame) {
  at::manual_seed(3);
  for (const at::ScalarType dtype : {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble}) {
    for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{{},
                                                                               {40},
                                                                               {129},
                                                                               {5000},
                                                                               {2, 700},
                                                                               {17, 3, 70},
                                                                               {64, 33},
                                                                               {1000, 130},
                                                                               {3, 0, 5},
                                                                               {70, 9, 1},
                                                                               {900, 2}}) {
      const at::Tensor exact = at::randn(sizes, at::kDouble) * at::randn(sizes, at::kDouble).mul(9).exp();
      const at::Tensor special = exact.masked_fill(exact.gt(1e4), INFINITY);
      for (const at::Tensor& x : {exact, special}) {
        const at::Tensor eager = x.to(dtype).to(at::kDouble), moved = x * (1 + 1e-9);
        ColumnBudget loops(sizes), kernels(sizes);
        if (x.numel() == 0 || loops.empty()) {
          EXPECT_LE(x.numel(), ColumnLayout::kLeastElements);
          continue;
        }
        const double none = std::numeric_limits<double>::infinity();
        loops.MeasureByLoops(x, {eager.const_data_ptr<double>(), moved.const_data_ptr<double>()}, none);
        kernels.MeasureByKernels(x, x.to(dtype), moved, at::zeros({12}, at::kDouble));
        const ColumnBudget::Rule rule{64, 1e-3, 1e-6};
        for (const double scale : {1e-3, 30.0}) {
          loops.AllowByLoops(rule, scale);
          kernels.AllowByKernels(rule, at::full({8}, scale, at::kDouble));
          EXPECT_TRUE(at::equal(loops.allowed(), kernels.allowed()));
          EXPECT_TRUE(at::equal(loops.error(), kernels.error()));
        }
      }
    }
  }
}

TEST(ColumnBudget, LayoutsKeepTheirBounds) {
  const auto shift = [](std::vector<int64_t> sizes) { return ColumnLayout::For(sizes).shift; };
  EXPECT_EQ(shift({8, 1000}), 0);
  EXPECT_EQ(shift({3, 1000}), 2);
  EXPECT_EQ(shift({1000}), 3);
  EXPECT_EQ(shift({16, 1 << 24}), 2) << "four million columns";
  EXPECT_EQ(shift({int64_t{1} << 31}), 9);
  EXPECT_EQ(ColumnLayout::For(std::vector<int64_t>{4096, 4}).period, 4);
  EXPECT_EQ(ColumnLayout::For(std::vector<int64_t>{2, 3, 5, 7}).period, 7);
  EXPECT_EQ(ColumnLayout::For(std::vector<int64_t>{1, 1, 8}).period, 0) << "one column";
}

}  // namespace
}  // namespace tritogen
