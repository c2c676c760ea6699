#include "verify/budget.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "device/builtin_launch.h"
#include "verify/inputs.h"

namespace tritogen {
namespace {

using Program = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

Expectation Expect(const Program& program, const std::vector<at::Tensor>& inputs) {
  std::vector<at::Tensor> wide, wobbles;
  for (const at::Tensor& x : inputs) wide.push_back(x.to(at::kDouble));
  for (uint64_t i = 0; i < 2; ++i) wobbles.push_back(program(Wobble(inputs, i)));
  return Expectation(program(wide), program(inputs), wobbles);
}

at::Tensor SumInOrder(const at::Tensor& x, int64_t chunks) {  // sequential over chunks, as a kernel's loop
  at::Tensor total = at::zeros_like(x.chunk(chunks, 1)[0]);
  for (const at::Tensor& part : x.chunk(chunks, 1)) total = total + part;
  return total.sum(1);
}

at::Tensor Tf32(const at::Tensor& x) {
  return RoundToTf32({x})[0].to(at::kFloat);
}

TEST(Budget, LetsHonestSumsPassInAnyOrder) {
  for (const int64_t n : {64, 1024, 8192}) {
    const at::Tensor x = at::randn({16, n});
    const Expectation expected = Expect([](const auto& in) { return in[0].sum(1); }, {x});
    EXPECT_TRUE(expected.Compare(SumInOrder(x, 64)).ok);
    // Of 8192 numbers added one by one, which no parallel program does, one run in fifteen is over budget.
    if (n <= 1024) {
      EXPECT_TRUE(expected.Compare(SumInOrder(x, n)).ok) << "one by one, " << n;
    }
    EXPECT_TRUE(expected.Compare(x.flip(1).sum(1)).ok);
  }
}

TEST(Budget, LetsHonestMatmulsPassAndNotTf32OrHalf) {
  for (const int64_t k : {16, 256, 4096}) {
    for (const bool positive : {false, true}) {
      const at::Tensor a = positive ? at::rand({32, k}) : at::randn({32, k});
      const at::Tensor b = positive ? at::rand({k, 32}) : at::randn({k, 32});
      const Expectation expected = Expect([](const auto& in) { return in[0].mm(in[1]); }, {a, b});
      at::Tensor one_by_one = at::zeros({32, 32});
      for (int64_t i = 0; i < k; ++i) one_by_one.addmm_(a.narrow(1, i, 1), b.narrow(0, i, 1));
      EXPECT_TRUE(expected.Compare(one_by_one).ok) << k;
      EXPECT_FALSE(expected.Compare(Tf32(a).mm(Tf32(b))).ok) << k;
      EXPECT_FALSE(expected.Compare(a.to(at::kHalf).mm(b.to(at::kHalf)).to(at::kFloat)).ok) << k;
      EXPECT_FALSE(expected.Compare(a.to(at::kBFloat16).to(at::kFloat).mm(b)).ok) << k;
    }
  }
}

TEST(Budget, LetsOnlineSoftmaxPassAndNotApproximateOnes) {
  const at::Tensor x = at::randn({32, 1000}) * 5;
  const Expectation expected = Expect([](const auto& in) { return at::softmax(in[0], 1); }, {x});
  const at::Tensor left = x.narrow(1, 0, 300), right = x.narrow(1, 300, 700);
  const at::Tensor ml = left.amax(1, true), mr = right.amax(1, true), m = at::maximum(ml, mr);
  const at::Tensor sum =
      (left - ml).exp().sum(1, true) * (ml - m).exp() + (right - mr).exp().sum(1, true) * (mr - m).exp();
  EXPECT_TRUE(expected.Compare((x - m).exp() / sum).ok);
  EXPECT_TRUE(expected.Compare(at::exp2((x - m) * 1.44269504f) / sum).ok);
  EXPECT_FALSE(expected.Compare(at::softmax(Tf32(x), 1)).ok);
  EXPECT_FALSE(expected.Compare(at::full_like(x, 1e-3)).ok);
}

TEST(Budget, LetsWelfordPassForAWellConditionedVariance) {
  const at::Tensor x = at::rand({16, 512});
  const auto norm = [](const std::vector<at::Tensor>& in) { return at::layer_norm(in[0], {512}); };
  const Expectation expected = Expect(norm, {x});
  at::Tensor mean = at::zeros({16}), m2 = at::zeros({16});
  for (int64_t i = 0; i < 512; ++i) {
    const at::Tensor d = x.select(1, i) - mean;
    mean = mean + d / static_cast<double>(i + 1);
    m2 = m2 + d * (x.select(1, i) - mean);
  }
  EXPECT_TRUE(expected.Compare((x - mean.unsqueeze(1)) * (m2 / 512 + 1e-5).rsqrt().unsqueeze(1)).ok);
  EXPECT_FALSE(expected.Compare((x - 0.5) * std::sqrt(12.0)).ok);
}

TEST(Budget, MeasuresEachRowByItsOwnScale) {
  at::Tensor x = at::rand({64, 32});
  x[5] *= 1e-6;
  const Expectation expected = Expect([](const auto& in) { return in[0] * 2; }, {x});
  at::Tensor got = x * 2;
  EXPECT_TRUE(expected.Compare(got).ok);
  got[5] *= 1.001;  // far inside any tolerance of the whole output
  const Comparison comparison = expected.Compare(got);
  EXPECT_FALSE(comparison.ok);
  EXPECT_EQ(comparison.index / 32, 5);
  EXPECT_EQ(comparison.allclose, 1);
}

TEST(Budget, SmallErrorsEverywhereAreOverTheRootMeanSquare) {
  const at::Tensor x = at::rand({64, 1024}) + 1;
  at::Tensor eager = x * 3;
  eager[0][0] += 1e-4;  // one bad value of the eager program does not excuse its whole row's neighbours
  const Expectation expected(x.to(at::kDouble) * 3, eager, {});
  EXPECT_TRUE(expected.Compare(x * 3).ok);
  EXPECT_FALSE(expected.Compare(x * 3 + 1e-4).ok);
}

// Most of the output is clamped: only a row in twenty has an error, and each of those just one. The eager
// program was lucky in one, and a candidate is not.
TEST(Budget, RowsWithErrorsAreJudgedByTheirLike) {
  at::manual_seed(3);
  const at::Tensor exact = at::full({400, 64}, 3, at::kDouble);
  at::Tensor rare = exact.view({20, 20, 64}).select(1, 7).select(1, 5);
  rare.uniform_(-3, 3);
  at::Tensor eager = exact.clone(), got = exact.clone();
  eager.view({20, 20, 64}).select(1, 7).select(1, 5) += 1e-4 * at::randn({20}, at::kDouble).sign();
  got.view({20, 20, 64}).select(1, 7).select(1, 5) += 1e-4 * at::randn({20}, at::kDouble);
  const int64_t lucky = (20 * 4 + 7) * 64 + 5;
  eager.flatten()[lucky] = exact.flatten()[lucky] + 1e-6;
  got.flatten()[lucky] = exact.flatten()[lucky] + 2e-4;
  for (const auto way : {Expectation::Way::kLoops, Expectation::Way::kKernels}) {
    const Expectation expected(exact, eager.to(at::kFloat), {}, {}, way);
    EXPECT_TRUE(expected.Compare(got.to(at::kFloat)).ok);
    at::Tensor elsewhere = got.clone();
    elsewhere.flatten()[0] -= 2e-4;  // in a row without error
    EXPECT_FALSE(expected.Compare(elsewhere.to(at::kFloat)).ok);
  }
}

// In row 3 the eager program and the first moved run were both right by luck.
TEST(Budget, AnotherWobbleWidensItsRows) {
  at::manual_seed(4);
  const at::Tensor exact = at::rand({20, 32}, at::kDouble) + 1;
  const auto noisy = [&] { return exact + 1e-6 * at::randn({20, 32}, at::kDouble); };
  at::Tensor eager = exact.clone(), first = noisy();
  eager.add_(1e-6);
  eager[3] = exact[3];
  first[3] = exact[3];
  at::Tensor got = exact.clone(), other_row = exact.clone();
  got[3][5] += 4e-5;
  other_row[4][5] += 4e-4;
  for (const auto way : {Expectation::Way::kLoops, Expectation::Way::kKernels}) {
    Expectation expected(exact, eager.to(at::kFloat), {first}, {}, way);
    EXPECT_FALSE(expected.Compare(got.to(at::kFloat)).ok);
    const double before = expected.AllowedAt(3 * 32);
    at::Tensor second = noisy();
    second[3][7] = exact[3][7] + 1e-5;
    expected.Widen(second);
    EXPECT_NEAR(expected.AllowedAt(3 * 32) / (16 * 1e-5), 1, 0.2);
    EXPECT_GT(expected.AllowedAt(3 * 32), before);
    EXPECT_TRUE(expected.Compare(got.to(at::kFloat)).ok);
    EXPECT_FALSE(expected.Compare(other_row.to(at::kFloat)).ok);
    const double wide = expected.AllowedAt(3 * 32);
    expected.Widen(exact);  // quieter: nothing is taken back
    EXPECT_EQ(expected.AllowedAt(3 * 32), wide);
  }
}

TEST(Budget, NanAndInfMustStandWhereTheyShould) {
  const at::Tensor x = at::rand({4, 16});
  x[1][2] = -INFINITY;
  x[2][3] = NAN;
  const Expectation expected = Expect([](const auto& in) { return in[0] + 1; }, {x});
  EXPECT_TRUE(expected.Compare(x + 1).ok);
  at::Tensor got = x + 1;
  got[1][2] = INFINITY;
  EXPECT_FALSE(expected.Compare(got).ok);
  got = x + 1;
  got[2][3] = 0;
  EXPECT_FALSE(expected.Compare(got).ok);
  got = x + 1;
  got[0][0] = NAN;
  const Comparison comparison = expected.Compare(got);
  EXPECT_FALSE(comparison.ok);
  EXPECT_EQ(comparison.index, 0);
}

TEST(Budget, OverflowOfTheDeclaredPrecisionIsNoDuty) {
  const at::Tensor x = at::full({1, 16}, 3e4, at::kHalf);
  const Expectation expected = Expect([](const auto& in) { return in[0] * 4; }, {x});
  EXPECT_TRUE(expected.Compare(x * 4).ok);                                   // Inf, like eager
  EXPECT_TRUE(expected.Compare((x.to(at::kFloat) * 4).to(at::kDouble)).ok);  // the true value
  EXPECT_FALSE(expected.Compare(at::zeros({1, 16})).ok);
}

TEST(Budget, IntegersAndBoolsAreExact) {
  const at::Tensor x = at::arange(12).view({3, 4});
  const Expectation expected(x, x, {});
  EXPECT_TRUE(expected.Compare(x).ok);
  at::Tensor got = x.clone();
  got[1][2] = 7;
  const Comparison comparison = expected.Compare(got);
  EXPECT_FALSE(comparison.ok);
  EXPECT_EQ(comparison.index, 6);
  EXPECT_EQ(comparison.expected, 6);
  EXPECT_EQ(comparison.got, 7);
}

TEST(Budget, HalfContractAllowsOneRoundingAndNotFloat8) {
  for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16}) {
    const at::Tensor x = at::randn({32, 128}).to(dtype);
    const Expectation expected = Expect([](const auto& in) { return at::silu(in[0]) * 2; }, {x});
    EXPECT_TRUE(expected.Compare((at::silu(x.to(at::kFloat)) * 2).to(dtype)).ok);
    const at::Tensor narrow = x.to(at::kFloat8_e4m3fn).to(at::kFloat);
    EXPECT_FALSE(expected.Compare((at::silu(narrow) * 2).to(dtype)).ok);
  }
}

TEST(Budget, ScalarsAndEmptyOutputsWork) {
  const at::Tensor x = at::randn({1000});
  const Expectation sum = Expect([](const auto& in) { return in[0].sum(); }, {x});
  EXPECT_TRUE(sum.Compare(x.flip(0).sum()).ok);
  EXPECT_FALSE(sum.Compare(x.sum() * 1.001).ok);
  const Expectation empty = Expect([](const auto& in) { return in[0].narrow(0, 0, 0); }, {x});
  EXPECT_TRUE(empty.Compare(at::empty({0})).ok);
}

// The two ways to the same numbers.
void ExpectSame(const Comparison& a, const Comparison& b) {
  EXPECT_EQ(a.ok, b.ok);
  EXPECT_EQ(a.index, b.index);
  EXPECT_EQ(a.allclose, b.allclose);
  const auto near = [](double x, double y) {
    EXPECT_TRUE(x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= 1e-12 * std::abs(x))
        << x << " " << y;
  };
  near(a.error, b.error);
  near(a.budget, b.budget);
  near(a.eager, b.eager);
  near(a.rms, b.rms);
  near(a.expected, b.expected);
  near(a.got, b.got);
}

TEST(Budget, KernelsAgreeWithLoops) {
  at::manual_seed(7);
  for (const at::ScalarType dtype : {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble}) {
    for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{
             {}, {5}, {3, 7}, {64, 33}, {2, 3, 40}, {5, 200}, {3, 2500}, {17000}, {2100, 16}}) {
      const at::Tensor exact = at::randn(sizes, at::kDouble) * 1000;
      at::Tensor special = exact.clone();
      if (exact.numel() > 3) {
        special.flatten()[1] = INFINITY;
        special.flatten()[2] = NAN;
        special.flatten()[3] = 1e5;  // infinite in half precision
      }
      const at::Tensor clamped = exact.clamp(-1, 1);  // most rows have no error at all
      for (const at::Tensor& x : {exact, special, clamped, at::zeros(sizes, at::kDouble)}) {
        const at::Tensor eager = x.to(dtype);
        const std::vector<at::Tensor> wobbles = {x.equal(clamped) ? x : x * (1 + 1e-6)};
        const at::Tensor base = exact.to(dtype);
        const Expectation loops(x, eager, wobbles, base, Expectation::Way::kLoops);
        const Expectation kernels(x, eager, wobbles, base, Expectation::Way::kKernels);
        Expectation slim = kernels;  // its launches would not be allowed to read what it gave back
        slim.Slim();
        EXPECT_EQ(loops.scale(), kernels.scale());
        for (const double relative : {0.0, 1e-7, 1e-1}) {
          const at::Tensor got = (x * (1 + relative * at::randn(sizes, at::kDouble))).to(dtype);
          ExpectSame(loops.Compare(got), kernels.Compare(got));
          ExpectSame(kernels.Compare(got), slim.Compare(got));
          if (x.numel() > 0) {
            EXPECT_EQ(loops.AllowedAt(x.numel() - 1), kernels.AllowedAt(x.numel() - 1));
          }
        }
        ExpectSame(loops.Compare(at::full(sizes, NAN)), kernels.Compare(at::full(sizes, NAN)));
      }
    }
  }
}

TEST(Budget, OfMillionsOfRowsLuckyOnesArePutWithOthers) {
  for (const bool many : {false, true}) {
    const at::Tensor exact = at::randn({many ? 200'000 : 200, 20}, at::kDouble);
    exact[7] = 1e-3;
    at::Tensor eager = (exact + 1e-6).to(at::kFloat);
    eager[7] = exact[7].to(at::kFloat);  // lucky, and small: what a typical row is like does not help
    const Expectation expected(exact, eager, {});
    at::Tensor got = eager.clone();
    got[7] += 3e-7;
    EXPECT_EQ(expected.Compare(got).ok, many);
    got[7] = 0;
    EXPECT_FALSE(expected.Compare(got).ok);
  }
}

TEST(Budget, ARaisedRowIsAllowedWhatOthersShow) {
  for (const auto way : {Expectation::Way::kLoops, Expectation::Way::kKernels}) {
    const at::Tensor exact = at::randn({40, 20}, at::kDouble);
    exact[7] = 0;  // as behind a step, where no noise shows
    const at::Tensor noise = at::randn_like(exact) * 1e-4;
    noise[7] = 0;
    Expectation expected(exact, (exact + noise).to(at::kFloat), {}, {}, way);
    at::Tensor got = exact.to(at::kFloat);
    got[7][3] = 3e-4;
    EXPECT_FALSE(expected.Compare(got).ok);
    expected.RaiseRows(at::full({}, 1e-4, at::kDouble));
    EXPECT_TRUE(expected.Compare(got).ok);
    EXPECT_NEAR(expected.AllowedAt(7 * 20), 1.6e-3, 1e-6);
    got[7][3] = 3e-3;
    EXPECT_FALSE(expected.Compare(got).ok);
    EXPECT_FALSE(expected.Compare((exact + 12 * noise).to(at::kFloat)).ok) << "as a whole as before";
    Expectation of_all(exact, (exact + noise).to(at::kFloat), {}, {}, way);
    of_all.RaiseRowsToNoise();
    EXPECT_NEAR(of_all.AllowedAt(7 * 20), 16 * of_all.noise(), 1e-9);
  }
}

// Equal errors, rows that are alike: the first of the worst places is named, by a program that had others to
// look at as well.
TEST(Budget, TheFirstOfTheWorstPlacesIsNamed) {
  for (const int64_t length : {16, 50, 1024, 3000}) {
    const at::Tensor exact = at::ones({1300 * 32 * 16 / length, length}, at::kDouble);
    const at::Tensor eager = exact.to(at::kFloat) + 1e-6;
    const int64_t n = exact.numel();
    for (const int64_t first : {int64_t{0}, n / 3, n / 2, n - 2}) {
      at::Tensor got = exact.to(at::kFloat);
      got.flatten()[first] = 2;
      got.flatten()[n - 1] = 2;
      got.flatten()[first + (n - first) / 2] = 2;
      const Expectation expected(exact, eager, {}, {}, Expectation::Way::kKernels);
      EXPECT_EQ(expected.Compare(got).index, first);
      EXPECT_EQ(expected.Compare(got).allclose, 1 - (first == n - 2 ? 2.0 : 3.0) / static_cast<double>(n));
    }
  }
}

TEST(Budget, NoBudgetIsSoLargeThatNanFits) {
  const at::Tensor exact = at::full({4, 16}, 1e308, at::kDouble);
  for (const auto way : {Expectation::Way::kLoops, Expectation::Way::kKernels}) {
    const Expectation expected(exact, exact * 0.5, {}, {}, way);
    EXPECT_TRUE(std::isinf(expected.AllowedAt(0)));
    EXPECT_TRUE(expected.Compare(exact).ok);
    EXPECT_FALSE(expected.Compare(at::full_like(exact, NAN)).ok);
    EXPECT_FALSE(expected.Compare(at::full_like(exact, INFINITY)).ok);
  }
}

TEST(Budget, TypicalRowsAreMediansToTheLastBit) {
  at::manual_seed(11);
  const at::Tensor random = at::rand({2048}, at::kDouble);
  at::Tensor wild = (random * 600 - 300).exp2() * at::rand({2048}, at::kDouble);
  wild[3] = 4e-320;
  wild[4] = INFINITY;
  for (const at::Tensor& numbers :
       {random, wild, at::ones({2048}, at::kDouble), at::where(random.lt(0.8), 0.0, random),
        random.gt(0.5).to(at::kDouble), (random * 5).floor(), at::zeros({2048}, at::kDouble),
        random * 1e-9 + 1}) {
    for (const int64_t samples : {1, 2, 3, 100, 2048}) {
      const at::Tensor scale = at::ones({samples}, at::kDouble);
      if (samples > 2) scale[1] = 0;
      const at::Tensor errors = numbers.narrow(0, 0, samples).contiguous();
      const at::Tensor totals = at::zeros({12}, at::kDouble);
      LaunchBuiltin("total_rows", 1,
                    {at::ones({8}, at::kDouble), scale, errors, totals, int64_t{1}, int64_t{1}, samples, 16.0,
                     1e-6, samples, int64_t{0}});
      const auto median = [](const at::Tensor& some) {
        return some.numel() == 0 ? 0.0 : std::get<0>(some.sort())[some.numel() / 2].item<double>();
      };
      const at::Tensor there = errors.masked_select(scale.gt(0));
      EXPECT_EQ(totals[3].item<double>(), median(there));
      EXPECT_EQ(totals[6].item<double>(), median(there.masked_select(there.gt(0))));
    }
  }
}

TEST(Budget, ComparisonsThatAreFetchedTogetherAreThoseOfEach) {
  std::vector<Expectation> expectations, twins;
  for (const double scale : {1.0, 1000.0}) {
    const at::Tensor exact = scale * at::randn({40, 33}, at::kDouble);
    for (auto* list : {&expectations, &twins})
      list->emplace_back(exact, exact.to(at::kFloat), std::vector<at::Tensor>{}, at::Tensor(),
                         Expectation::Way::kKernels);
  }
  twins[0].scale();  // known before
  std::vector<at::Tensor> answers;
  std::vector<PendingComparison> together;
  for (const size_t which : {0, 0, 1, 0, 1}) {
    answers.push_back(
        (expectations[which].exact() * (1 + 1e-6 * static_cast<double>(answers.size()))).to(at::kFloat));
    together.push_back(expectations[which].CompareLater(answers.back()));
  }
  together.push_back(twins[0].CompareLater(answers[0]));
  PendingComparison::GetAll(together);
  size_t i = 0;
  for (const size_t which : {0, 0, 1, 0, 1}) {
    ExpectSame(twins[which].Compare(answers[i]), together[i].Get());
    ++i;
  }
  ExpectSame(twins[0].Compare(answers[0]), together.back().Get());
}

}  // namespace
}  // namespace tritogen
