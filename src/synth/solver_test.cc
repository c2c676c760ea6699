// Counts and samples against the plain definition: System::Holds tried on every combination of values.
#include "synth/solver.h"

#include <gtest/gtest.h>

#include "synth/random_systems.h"

namespace tritogen::synth {
namespace {

void ExpectBijection(const System& system, const Space& space) {
  ExpectBijection(system, space.count().ToString(),
                  [&](uint64_t i, std::vector<int64_t>* values) { space.Unrank(i, values); });
}

TEST(Solver, CountsAndUnranksRandomSystemsLikeBruteForce) {
  SplitMix random(20);
  Solver solver, by_budgets({.most_steps = kManySteps});
  int with_solutions = 0;
  for (int i = 0; i < 1500; ++i) {
    const System system = RandomSystem(&random, 6, 5);
    const auto space = solver.Compile(system);
    ASSERT_TRUE(space) << Text(system);
    EXPECT_TRUE(space->exact());
    ExpectBijection(system, *space);
    const auto twin = by_budgets.Compile(system);
    ASSERT_TRUE(twin);
    ExpectBijection(system, *twin);
    if (HasFatalFailure()) return;
    with_solutions += !space->count().IsZero();
  }
  EXPECT_GT(with_solutions, 500);
}

// The superset that is counted when tables may only have few rows still holds every solution, each once.
TEST(Solver, WhereTablesAreLimitedNoSolutionIsLost) {
  SplitMix random(21);
  Solver solver({.max_rows = 100});
  int inexact = 0;
  for (int i = 0; i < 60; ++i) {
    System system;
    for (int v = 0; v < 4; ++v)
      system.Add(fmt::format("v{}", v), Domain::Interval(1, 6 + static_cast<int64_t>(random.Below(4))));
    const int64_t high = 20 + static_cast<int64_t>(random.Below(400));
    system.Add(Bound{{0, 1, 2, 3}, 1, static_cast<int64_t>(random.Below(20)), high});
    system.Add(Bound{{0, 1, 2}, 1, 0, high / 2});
    const auto space = solver.Compile(system);
    ASSERT_TRUE(space);
    inexact += !space->exact();
    const auto expected = SolutionsByTrying(system);
    std::set<std::vector<int64_t>> seen;
    std::vector<int64_t> values;
    for (Natural n = 0; n < space->count(); n += 1) {
      space->Unrank(n, &values);
      if (!system.Holds(values)) continue;
      EXPECT_TRUE(seen.insert(values).second) << Text(system);
    }
    EXPECT_EQ(seen, expected) << Text(system);
  }
  EXPECT_GT(inexact, 20);
}

// Ranges of values that are not listed one by one.
TEST(Solver, LargeDomainsKeepEverySolution) {
  System system;
  const Var m = system.Add("m", Domain::Interval(1, 2000)), n = system.Add("n", Domain::Interval(1, 2000));
  system.Add(Bound{{m, n}, 1, 100, 3000});
  Solver solver;
  const auto space = solver.Compile(system);
  ASSERT_TRUE(space);
  EXPECT_FALSE(space->exact());
  int64_t expected = 0;
  for (int64_t x = 1; x <= 2000; ++x)
    expected += std::max<int64_t>(0, std::min<int64_t>(2000, 3000 / x) - (99 / x));
  int64_t held = 0;
  std::vector<int64_t> values;
  for (Natural i = 0; i < space->count(); i += 1) {
    space->Unrank(i, &values);
    held += system.Holds(values);
  }
  EXPECT_EQ(held, expected);
  EXPECT_GT(static_cast<double>(held), 0.7 * space->count().ToDouble());
}

// A size that is not listed beside some that are.
TEST(Solver, LargeSizesBesideListedOnesAreCountedExactly) {
  SplitMix random(23);
  Solver solver({.most_steps = kManySteps});
  for (int i = 0; i < 60; ++i) {
    System system;
    const Var wide = system.Add("wide", Domain::Interval(1 + static_cast<int64_t>(random.Below(3)), 1100));
    for (int v = 0; v < 3; ++v) system.Add(fmt::format("v{}", v), RandomDomain(&random, 5));
    for (int b = 0; b < 3; ++b) {
      const int64_t high = 300 + static_cast<int64_t>(random.Below(4000));
      Bound bound{{wide}, 1 + static_cast<int64_t>(random.Below(2)), random.Chance(0.3) ? high / 9 : 0, high};
      for (Var v = 1; v <= 3; ++v) {
        if (random.Chance(0.5)) bound.vars.push_back(v);
      }
      system.Add(bound);
    }
    system.Add(Broadcast{1, 2, 3});
    const auto space = solver.Compile(system);
    ASSERT_TRUE(space);
    EXPECT_TRUE(space->exact()) << Text(system);
    ExpectBijection(system, *space);
    if (HasFatalFailure()) return;
  }
}

// Three sizes up to 32768 and a tensor of at most 2^26 elements, against a sum over pairs.
TEST(Solver, CountsProductsOfManySizesExactly) {
  System system;
  std::vector<Var> vars;
  for (int i = 0; i < 3; ++i) vars.push_back(system.Add(fmt::format("v{}", i), Domain::Interval(1, 32768)));
  const int64_t most = int64_t{1} << 26;
  system.Add(Bound{vars, 1, 0, most});
  const auto space = Solver({.most_steps = kManySteps}).Compile(system);
  ASSERT_TRUE(space);
  EXPECT_TRUE(space->exact());
  uint64_t expected = 0;
  for (int64_t a = 1; a <= 32768; ++a) {
    for (int64_t b = 1; b <= 32768 && a * b <= most; ++b)
      expected += std::min<int64_t>(32768, most / (a * b));
  }
  EXPECT_EQ(space->count(), Natural(expected));
  SplitMix random(5);
  std::vector<int64_t> values, again;
  std::set<std::vector<int64_t>> seen;
  for (int i = 0; i < 1000; ++i) {
    const Natural index = space->Draw(&random, &values);
    EXPECT_TRUE(system.Holds(values));
    space->Unrank(index, &again);
    EXPECT_EQ(values, again);
    seen.insert(values);
  }
  EXPECT_GT(seen.size(), 990u);
}

TEST(Solver, FreeVariablesMultiplyBeyondMachineWords) {
  System system;
  for (int i = 0; i < 30; ++i) system.Add(fmt::format("v{}", i), Domain::Interval(1, 32768));
  const auto space = Solver().Compile(system);
  ASSERT_TRUE(space);
  EXPECT_TRUE(space->exact());
  EXPECT_EQ(space->count(), Natural(1).ShiftLeft(450));
  std::vector<int64_t> values;
  space->Unrank(space->count() - 1, &values);
  EXPECT_EQ(values, std::vector<int64_t>(30, 32768));
}

// One component whose count passes 128 bits.
TEST(Solver, CountsPastOneHundredTwentyEightBits) {
  System system;
  std::vector<Var> vars;
  for (int i = 0; i < 70; ++i) vars.push_back(system.Add(fmt::format("v{}", i), {1, 2, 3, 4}));
  for (int i = 0; i + 1 < 70; ++i) system.Add(Bound{{vars[i], vars[i + 1]}, 1, 0, 15});  // all but 4·4
  const auto space = Solver().Compile(system);
  ASSERT_TRUE(space);
  Natural small = 3, four = 1;  // chains that end below 4, and in 4
  for (int i = 1; i < 70; ++i) {
    const Natural next = (small + four) * 3;
    four = small;
    small = next;
  }
  EXPECT_EQ(space->count(), small + four);
  EXPECT_GT(space->count().BitWidth(), 128);
  std::vector<int64_t> values;
  SplitMix random(3);
  for (int i = 0; i < 100; ++i) {
    const Natural index = space->Draw(&random, &values);
    EXPECT_TRUE(system.Holds(values));
    std::vector<int64_t> again;
    space->Unrank(index, &again);
    EXPECT_EQ(values, again);
  }
}

TEST(Solver, ImpossibleSystemsCountZero) {
  System system;
  const Var a = system.Add("a", {2, 3}), b = system.Add("b", {4, 5});
  system.Add(Equal{a, b});
  const auto space = Solver().Compile(system);
  ASSERT_TRUE(space);
  EXPECT_TRUE(space->count().IsZero());
}

// Pearson's statistic of draws from a system of a few hundred solutions. Its mean is the degrees of freedom
// and its variance twice that; five deviations are far beyond chance, and the seed is fixed.
TEST(Solver, DrawsAreUniform) {
  System system;
  const Var n = system.Add("n", {1, 2, 3, 4, 6, 8}), c = system.Add("c", {1, 2, 4, 6}),
            h = system.Add("h", {3, 4, 5, 6, 7}), out = system.Add("out", Domain::Interval(1, 20)),
            g = system.Add("g", {1, 2, 3});
  system.Add(Window{out, h, 3, 2, 1, 1});
  system.Add(Divides{Operand::Of(g), Operand::Of(c)});
  system.Add(Bound{{n, c, h}, 1, 6, 60});
  const auto space = Solver().Compile(system);
  ASSERT_TRUE(space);
  SplitMix random(7);
  ExpectUniform(space->count().ToDouble(), 200,
                [&](std::vector<int64_t>* values) { space->Draw(&random, values); });
}

TEST(Solver, KnowsComponentsThatCameBefore) {
  Solver solver;
  for (int i = 0; i < 3; ++i) {
    System system;
    const Var a = system.Add("a", Domain::Common()), b = system.Add("b", Domain::Common());
    system.Add(Bound{{a, b}, 1, 0, 5000});
    ASSERT_TRUE(solver.Compile(system));
  }
  EXPECT_EQ(solver.statistics().components, 3);
  EXPECT_EQ(solver.statistics().compiled, 1);
}

}  // namespace
}  // namespace tritogen::synth
