#include "verify/budget_most.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>

#include "verify/budget.h"
#include "verify/inputs.h"

namespace tritogen {
namespace {

using Way = Expectation::Way;
using Program = std::function<at::Tensor(const at::Tensor&)>;

Expectation Expect(const Program& program, const at::Tensor& x, Way way) {
  return Expectation(program(x.to(at::kDouble)), program(x), {program(Wobble({x}, 0)[0])}, {}, way);
}

at::Tensor Tf32(const at::Tensor& x) {
  return RoundToTf32({x})[0].to(at::kFloat);
}

// Distances of things from themselves have nearly all of the noise: acos is steep where it is 0.
TEST(MostElements, Tf32DoesNotHideBehindAFewNoisyElements) {
  at::manual_seed(5);
  const at::Tensor x = at::layer_norm(at::randn({64, 48}), {48});
  const auto angles = [](const at::Tensor& y) {
    const at::Tensor n = y / y.norm(2, {1}, true);
    return (0.999999 * n.mm(n.t())).clamp(-1, 1).acos();
  };
  const auto by_tf32 = [](const at::Tensor& y) {
    const at::Tensor n = Tf32(y / y.norm(2, {1}, true));
    const at::Tensor cosines = n.mm(n.t());
    return (0.999999 * cosines.fill_diagonal_(1)).clamp(-1, 1).acos();
  };
  for (const Way way : {Way::kLoops, Way::kKernels}) {
    const Expectation expected = Expect(angles, x, way);
    EXPECT_TRUE(expected.Compare(angles(x)).ok);
    const Comparison comparison = expected.Compare(by_tf32(x));
    EXPECT_FALSE(comparison.ok);
    EXPECT_EQ(comparison.beside, Comparison::Beside::kMost);
    EXPECT_EQ(comparison.index, -1);
    EXPECT_GT(comparison.error, comparison.budget);
  }
}

// Half of the output is exact, a little more for one program than for the next.
TEST(MostElements, WhatIsExactInHalfOfAllPlacesHasNoEdge) {
  at::manual_seed(6);
  const at::Tensor exact = at::randn({100, 50}, at::kDouble).clamp_min(0);
  const auto program = [&](double zeros) {
    const at::Tensor noise = 1e-3 * at::randn({100, 50}, at::kDouble);
    const at::Tensor right = at::rand({100, 50}, at::kDouble).lt(zeros);
    return (exact + noise.masked_fill(right, 0)).to(at::kFloat);
  };
  for (const Way way : {Way::kLoops, Way::kKernels}) {
    const Expectation expected(exact, program(0.505), {exact}, {}, way);
    EXPECT_TRUE(expected.Compare(program(0.495)).ok);
    EXPECT_TRUE(expected.Compare(exact.to(at::kFloat)).ok);
  }
}

// A few elements are off by a lot in the eager program; more of the noise is known later.
TEST(MostElements, AnotherWobbleWidensIt) {
  at::manual_seed(7);
  const at::Tensor exact = 1 + at::rand({300, 40}, at::kDouble);
  const auto noisy = [&](double size) { return exact + size * at::randn({300, 40}, at::kDouble); };
  at::Tensor eager = noisy(1e-7);
  eager.select(1, 3) += 1e-2;
  const at::Tensor got = noisy(2e-5).to(at::kFloat);
  for (const Way way : {Way::kLoops, Way::kKernels}) {
    Expectation expected(exact, eager.to(at::kFloat), {}, {}, way);
    EXPECT_EQ(expected.Compare(got).beside, Comparison::Beside::kMost);
    expected.Widen(noisy(3e-6));
    EXPECT_TRUE(expected.Compare(got).ok);
  }
}

TEST(MostElements, LoopsAndKernelsAgree) {
  at::manual_seed(8);
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
    for (const std::vector<int64_t>& sizes :
         std::vector<std::vector<int64_t>>{{255}, {256}, {1023}, {70, 100}, {3, 5000}, {5, 1 << 14}}) {
      at::Tensor exact = at::randn(sizes, at::kDouble);
      exact.flatten()[2] = INFINITY;
      at::Tensor eager = (exact * (1 + 1e-6)).to(dtype);
      eager.select(-1, 5) += 1;  // rows, columns and the root mean square go by these
      for (const double zeros : {0.0, 0.3, 0.95}) {
        const at::Tensor moved = 1e-4 * at::rand(sizes, at::kDouble).gt(zeros).to(at::kDouble);
        const at::Tensor got = (exact + moved).to(dtype);
        const Comparison loops = Expectation(exact, eager, {}, {}, Way::kLoops).Compare(got);
        const Comparison kernels = Expectation(exact, eager, {}, {}, Way::kKernels).Compare(got);
        EXPECT_EQ(loops.ok, kernels.ok);
        EXPECT_EQ(loops.beside, kernels.beside);
        EXPECT_DOUBLE_EQ(loops.error, kernels.error);
        EXPECT_DOUBLE_EQ(loops.budget, kernels.budget);
        EXPECT_DOUBLE_EQ(loops.eager, kernels.eager);
        if (dtype == at::kFloat && exact.dim() > 1) {
          EXPECT_EQ(loops.ok, zeros > 0.9);
        }
      }
    }
  }
}

TEST(MostElements, PlacesLieInOrderAndAreOthersEachTime) {
  for (const int64_t n : {256LL, 1024LL, 1025LL, 2047LL, 1LL << 20, 1LL << 33}) {
    const SampledPlaces places(n, 1.5), others(n, 1.25);
    int64_t equal = 0;
    for (int64_t i = 0; i < places.count(); ++i) {
      EXPECT_LT(places[i], n);
      if (i > 0) {
        EXPECT_GT(places[i], places[i - 1]);
      }
      equal += places[i] == others[i];
    }
    EXPECT_EQ(places.count(), std::min(n, SampledPlaces::kMost));
    if (n > 100'000) {
      EXPECT_LT(equal, places.count() / 50);
    }
  }
  EXPECT_EQ(SampledPlaces(255, 1).count(), 0);
}

}  // namespace
}  // namespace tritogen
