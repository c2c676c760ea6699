#include "verify/budget_fill.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>

#include "verify/budget.h"
#include "verify/inputs.h"

namespace tritogen {
namespace {

using Program = std::function<at::Tensor(const at::Tensor& scores, const at::Tensor& mask)>;

constexpr Expectation::Way kWays[] = {Expectation::Way::kLoops, Expectation::Way::kKernels};

Expectation Expect(const Program& program, const at::Tensor& scores, const at::Tensor& mask,
                   Expectation::Way way) {
  const at::Tensor moved = program(Wobble({scores}, 1)[0], mask);
  return Expectation(program(scores.to(at::kDouble), mask), program(scores, mask), {moved}, {}, way);
}

Program Filled(double fill) {
  return [fill](const at::Tensor& scores, const at::Tensor& mask) { return scores.masked_fill(mask, fill); };
}

Program Added(double fill) {
  return [fill](const at::Tensor& scores, const at::Tensor& mask) {
    return scores + at::zeros(mask.sizes(), scores.options()).masked_fill(mask, fill);
  };
}

at::Tensor Causal(int64_t n) {
  return at::ones({n, n}).triu(1).to(at::kBool);
}

TEST(BudgetFill, ScoresBesideAMaskAreJudgedByTheirOwnScale) {
  at::manual_seed(1);
  const std::vector<std::vector<int64_t>> shapes = {{2, 3, 4, 5}, {4, 64, 64}, {1, 200}, {3, 3000}};
  for (const auto way : kWays) {
    for (const auto& sizes : shapes) {
      for (const at::Tensor& mask : {at::rand(sizes).lt(0.5), at::rand(sizes).lt(0.02)}) {
        if (!mask.any().item<bool>()) continue;
        for (const double fill : {-1e9, -1e4, 1e9, -3.4028234663852886e38}) {
          const at::Tensor scores = at::randn(sizes);
          for (const Program& program : {Filled(fill), Added(fill)}) {
            const Expectation expected = Expect(program, scores, mask, way);
            const at::Tensor eager = program(scores, mask);
            EXPECT_TRUE(expected.Compare(eager).ok);
            if (fill != -1e4) {  // a score beside this is more than its last digits
              EXPECT_TRUE(expected.Compare(Filled(fill)(scores, mask)).ok) << fill;
            }
            EXPECT_TRUE(expected.Compare(eager * (1 - 2e-7)).ok) << fill;
            EXPECT_FALSE(expected.Compare(eager.masked_fill(~mask, 0)).ok) << fill;
            EXPECT_FALSE(expected.Compare(eager.masked_fill(~mask, 0.5)).ok) << fill;
            EXPECT_FALSE(expected.Compare(Filled(fill * 0.99)(scores, mask)).ok) << fill;
            EXPECT_FALSE(expected.Compare(scores).ok) << fill;
          }
        }
      }
    }
  }
}

TEST(BudgetFill, WhoseBudgetDecidesIsSaid) {
  at::manual_seed(2);
  const at::Tensor scores = at::randn({6, 32, 32}), mask = Causal(32).expand({6, 32, 32});
  for (const auto way : kWays) {
    const Expectation expected = Expect(Filled(-1e9), scores, mask, way);
    at::Tensor got = Filled(-1e9)(scores, mask);
    got[3][20][4] += 0.01;
    Comparison wrong = expected.Compare(got);
    EXPECT_EQ(wrong.index, (3 * 32 + 20) * 32 + 4);
    EXPECT_EQ(wrong.beside, Comparison::Beside::kRow);
    got = Filled(-1e9)(scores, mask);
    got[3][20][24] = -9e8;
    wrong = expected.Compare(got);
    EXPECT_EQ(wrong.index, (3 * 32 + 20) * 32 + 24);
    EXPECT_EQ(wrong.beside, Comparison::Beside::kFills);
    EXPECT_FALSE(wrong.ok);
  }
}

// One mask on top of another, each with its own rounding; a scale and a bias behind.
TEST(BudgetFill, MasksMayBeSumsAndGoThroughLayers) {
  at::manual_seed(3);
  const at::Tensor mask = Causal(64), padding = at::arange(64).ge(50).expand({64, 64});
  const Program program = [&](const at::Tensor& scores, const at::Tensor& causal) {
    return (Added(-1e9)(Added(-1e9)(scores, causal), padding) * 0.125 + 3).relu() - 7 +
           Added(-1e9)(scores, causal) * 0.5;
  };
  for (const auto way : kWays) {
    const at::Tensor scores = at::randn({64, 64});
    const Expectation expected = Expect(program, scores, mask, way);
    const at::Tensor eager = program(scores, mask);
    EXPECT_TRUE(expected.Compare(eager).ok);
    EXPECT_FALSE(expected.Compare(eager.masked_fill(eager.abs().lt(1e6), -6)).ok);
  }
}

TEST(BudgetFill, HalfPrecisionHasFillsToo) {
  at::manual_seed(4);
  for (const auto way : kWays) {
    for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16}) {
      const at::Tensor scores = at::randn({64, 64}).to(dtype), mask = Causal(64);
      const Expectation expected = Expect(Filled(-6e4), scores, mask, way);
      EXPECT_TRUE(expected.Compare(Filled(-6e4)(scores, mask)).ok);
      EXPECT_TRUE(expected.Compare(Added(-6e4)(scores, mask)).ok);
      EXPECT_FALSE(expected.Compare(Filled(-6e4)(at::zeros_like(scores), mask)).ok);
    }
  }
}

// What lies between leaves a row as it was.
TEST(BudgetFill, WithoutAGapThereIsNone) {
  EXPECT_TRUE(std::isinf(LeastFill(1e9, 1e8, 1024)));
  EXPECT_TRUE(std::isinf(LeastFill(1e9, 0, 1024)));
  EXPECT_TRUE(std::isinf(LeastFill(1, 1e-9, 1024)));
  EXPECT_EQ(LeastFill(1.6e9, 10, 1024), 1e8);
}

TEST(BudgetFill, KernelsAgreeWithLoops) {
  at::manual_seed(5);
  for (const at::ScalarType dtype : {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble}) {
    for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{
             {40}, {2, 3, 4, 5}, {64, 33}, {5, 200}, {3, 2500}, {17000}, {2100, 16}}) {
      const at::Tensor mask = at::rand(sizes).lt(0.3);
      const at::Tensor exact =
          at::randn(sizes, at::kDouble).masked_fill(mask, -5e4) + at::rand(sizes, at::kDouble);
      at::Tensor special = exact.clone();
      special.flatten()[1] = INFINITY;
      for (const at::Tensor& x : {exact, special}) {
        const std::vector<at::Tensor> wobbles = {x * (1 + 1e-7)};
        Expectation loops(x, x.to(dtype), wobbles, {}, kWays[0]),
            kernels(x, x.to(dtype), wobbles, {}, kWays[1]);
        for (const double relative : {0.0, 1e-6, 1e-2}) {
          const at::Tensor got = (x * (1 + relative * at::randn(sizes, at::kDouble))).to(dtype);
          const Comparison a = loops.Compare(got), b = kernels.Compare(got);
          EXPECT_EQ(a.ok, b.ok);
          EXPECT_EQ(a.index, b.index);
          EXPECT_EQ(a.beside, b.beside);
          EXPECT_EQ(a.budget, b.budget);
          EXPECT_EQ(a.eager, b.eager);
          EXPECT_NEAR(a.rms, b.rms, 1e-12 * a.rms);
        }
        EXPECT_TRUE(at::equal(loops.AllowedEverywhere(3), kernels.AllowedEverywhere(3)));
        for (const int64_t place : {0, 3, 17}) EXPECT_EQ(loops.AllowedAt(place), kernels.AllowedAt(place));
        loops.Widen(x * (1 + 1e-6));
        kernels.Widen(x * (1 + 1e-6));
      }
    }
  }
}

}  // namespace
}  // namespace tritogen
