#include "verify/budget_gain.h"
#include "device/aten_dtype.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "verify/budget.h"

namespace tritogen {
namespace {

// Of a matrix product in half precision, judged by loops and by kernels.
struct Case {
  at::Tensor exact, eager;

  explicit Case(at::ScalarType dtype) {
    at::manual_seed(3);
    const at::Tensor a = at::randn({96, 64}).to(dtype), b = at::randn({64, 80}).to(dtype);
    exact = a.to(at::kDouble).mm(b.to(at::kDouble));
    eager = exact.to(dtype);
  }

  Comparison::Beside BesideOf(const at::Tensor& got) const {
    const auto compare = [&](Expectation::Way way) {
      return Expectation(exact, eager, {}, {}, way).Compare(got);
    };
    const Comparison loops = compare(Expectation::Way::kLoops), kernels = compare(Expectation::Way::kKernels);
    EXPECT_EQ(loops.ok, kernels.ok);
    EXPECT_EQ(loops.beside, kernels.beside);
    EXPECT_NEAR(loops.error, kernels.error, 1e-12);
    EXPECT_NEAR(loops.budget, kernels.budget, 1e-12);
    return loops.ok ? Comparison::Beside::kRow : loops.beside;
  }
};

TEST(GainBudget, FactorsThatAreOffAreOverIt) {
  const Case in_bfloat16(at::kBFloat16), in_half(at::kHalf);
  for (const double factor : {0.99, 1.01})
    EXPECT_EQ(in_bfloat16.BesideOf((in_bfloat16.exact * factor).to(at::kBFloat16)),
              Comparison::Beside::kGain);
  EXPECT_EQ(in_half.BesideOf((in_half.exact * 1.001).to(at::kHalf)), Comparison::Beside::kGain);
}

TEST(GainBudget, RoundingsHaveNoDirection) {
  for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf}) {
    const Case c(dtype);
    EXPECT_EQ(c.BesideOf(c.eager), Comparison::Beside::kRow);
    // Rounded once more on the way, a term at a time, and with errors of a whole roundoff.
    EXPECT_EQ(c.BesideOf(((c.exact * 0.7).to(dtype).to(at::kDouble) + (c.exact * 0.3).to(dtype)).to(dtype)),
              Comparison::Beside::kRow);
    const at::Tensor errors = at::rand(c.exact.sizes(), at::kDouble) * 2 - 1;
    EXPECT_EQ(c.BesideOf((c.exact * (1 + errors * UnitRoundoff(dtype))).to(dtype)), Comparison::Beside::kRow);
  }
}

TEST(GainBudget, FewElementsMayErrAlike) {
  const at::Tensor exact = at::tensor({3.0, 5.0, 7.0}, at::kDouble);
  const Expectation few(exact, exact.to(at::kBFloat16), {});
  EXPECT_TRUE(few.Compare((exact * 1.004).to(at::kBFloat16)).ok);
}

TEST(GainBudget, FillsAndWhatIsNotFiniteCountForNothing) {
  at::manual_seed(5);
  at::Tensor exact = at::randn({64, 64}, at::kDouble);
  exact.select(0, 1).fill_(-1e9);
  exact.select(0, 2).fill_(-std::numeric_limits<double>::infinity());
  const Expectation expected(exact, exact.to(at::kBFloat16), {});
  EXPECT_TRUE(expected.Compare(exact.to(at::kBFloat16)).ok);
  EXPECT_FALSE(expected.Compare((exact * 1.01).to(at::kBFloat16)).ok);
}

TEST(GainBudget, OfZerosNothingIsAsked) {
  const at::Tensor zeros = at::zeros({8, 16}, at::kDouble), eager = zeros.to(at::kHalf);
  for (const auto way : {Expectation::Way::kLoops, Expectation::Way::kKernels})
    EXPECT_TRUE(Expectation(zeros, eager, {}, {}, way).Compare(eager).ok);
}

}  // namespace
}  // namespace tritogen
