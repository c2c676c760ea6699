// Counting by budgets against the plain definition and against tables. Nothing hangs on how large a domain
// is: what holds for domains that can be tried holds for large ones.
#include "synth/budget_count.h"

#include <gtest/gtest.h>

#include "synth/random_systems.h"
#include "synth/solver.h"

namespace tritogen::synth {
namespace {

constexpr int64_t kSteps = int64_t{1} << 24;

Component ComponentOf(const System& system) {
  Component component;
  for (const auto& variable : system.variables()) component.domains.push_back(variable.domain);
  component.constraints = system.constraints();
  return component;
}

Domain SomeDomain(SplitMix* random, int64_t size) {
  if (random->Chance(0.3)) return RandomDomain(random, static_cast<int>(size));
  const int64_t low = 1 + static_cast<int64_t>(random->Below(3));
  return Domain::Interval(low, low + static_cast<int64_t>(random->Below(size)));
}

// Bounds that share variables, some of them squared; often with one high number, as tensors have.
System CoupledBounds(SplitMix* random, int variables, int64_t size, int64_t high) {
  System system;
  for (int v = 0; v < variables; ++v) system.Add(fmt::format("v{}", v), SomeDomain(random, size));
  const bool alike = random->Chance(0.6);
  const int bounds = 1 + static_cast<int>(random->Below(4));
  for (int b = 0; b < bounds; ++b) {
    Bound bound{.high = alike ? high : 1 + static_cast<int64_t>(random->Below(2 * high))};
    if (random->Chance(0.2)) bound.low = 1 + static_cast<int64_t>(random->Below(bound.high));
    if (random->Chance(0.2)) bound.scale = 2;
    for (Var v = 0; v < variables; ++v) {
      if (random->Chance(0.6)) bound.vars.insert(bound.vars.end(), 1 + random->Below(5) / 4, v);
    }
    if (!bound.vars.empty()) system.Add(bound);
  }
  if (system.constraints().empty()) system.Add(Bound{.vars = {0}, .high = high});
  return system;
}

void ExpectBijection(const System& system, const BudgetCount& counted) {
  ExpectBijection(system, std::to_string(static_cast<uint64_t>(counted.total())),
                  [&](uint64_t i, std::vector<int64_t>* values) { counted.Unrank(i, values); });
}

TEST(BudgetCount, CoupledBoundsLikeBruteForce) {
  SplitMix random(40);
  int with_solutions = 0;
  for (int i = 0; i < 600; ++i) {
    const int variables = 1 + static_cast<int>(random.Below(5));
    const int64_t size = variables < 4 ? 16 : 7;
    const int64_t high = 1 + static_cast<int64_t>(random.Below(i % 2 == 0 ? 40 : 400));
    const System system = CoupledBounds(&random, variables, size, high);
    const auto counted = BudgetCount::Of(ComponentOf(system), kSteps);
    ASSERT_TRUE(counted) << Text(system);
    ExpectBijection(system, *counted);
    if (HasFatalFailure()) return;
    with_solutions += counted->total() > 0;
  }
  EXPECT_GT(with_solutions, 350);
}

// With variables that other constraints tie together.
TEST(BudgetCount, GroupsLikeBruteForce) {
  SplitMix random(41);
  int with_solutions = 0;
  for (int i = 0; i < 400; ++i) {
    System system = CoupledBounds(&random, 5, 7, 1 + static_cast<int64_t>(random.Below(300)));
    switch (i % 4) {
      case 0:
        system.Add(Broadcast{0, 1, 2});
        break;
      case 1:
        system.Add(Product{{0, 1}, {2}});
        break;
      case 2:
        system.Add(Window{0, 1, 2, 1, 1, 1});
        system.Add(Linear{{{1, 3}, {-1, 4}}, 0, true});
        break;
      default:
        system.Add(Divides{Operand::Of(0), Operand::Of(1)});
        system.Add(Linear{{{1, 2}, {2, 3}}, -9, true});
    }
    const auto counted = BudgetCount::Of(ComponentOf(system), kSteps);
    if (!counted) continue;  // no bound speaks of the group
    ExpectBijection(system, *counted);
    if (HasFatalFailure()) return;
    with_solutions += counted->total() > 0;
  }
  EXPECT_GT(with_solutions, 120);
}

// Larger domains, against the tables of variable elimination; indices at random.
TEST(BudgetCount, AsManyAsTables) {
  SplitMix random(42);
  Solver tables({.max_rows = size_t{1} << 20});
  int compared = 0;
  for (int i = 0; i < 150; ++i) {
    const System system = CoupledBounds(&random, 4, 60, 200 + static_cast<int64_t>(random.Below(20000)));
    const auto space = tables.Compile(system);
    if (!space || !space->exact()) continue;
    const auto counted = BudgetCount::Of(ComponentOf(system), kSteps);
    ASSERT_TRUE(counted);
    ASSERT_EQ(Natural::FromWide(counted->total()), space->count()) << Text(system);
    ++compared;
    std::vector<int64_t> values;
    for (int draw = 0; draw < 30 && counted->total() > 0; ++draw) {
      counted->Unrank(random.Below(static_cast<uint64_t>(counted->total())), &values);
      ASSERT_TRUE(system.Holds(values)) << Text(system);
    }
  }
  EXPECT_GT(compared, 100);
}

// Sizes as a batched product has them: sums by hand for the last two variables.
TEST(BudgetCount, BatchedProductsOfLargeSizes) {
  constexpr int64_t kMost = 20000, kSize = 2000;
  System system;
  for (const char* name : {"a", "b", "c", "d"}) system.Add(name, Domain::Interval(1, kSize));
  for (const std::vector<Var>& vars : {std::vector<Var>{0, 1, 2}, {0, 2, 3}, {0, 1, 3}})
    system.Add(Bound{vars, 1, 0, kMost});
  uint64_t expected = 0;
  for (int64_t a = 1; a <= kSize; ++a) {
    const int64_t m = kMost / a;
    for (int64_t b = 1; b <= std::min(kSize, m); ++b) {
      const int64_t most = std::min(kSize, m / b);
      for (int64_t c = 1; c <= most; ++c) expected += std::min(most, m / c);
    }
  }
  const auto counted = BudgetCount::Of(ComponentOf(system), kSteps);
  ASSERT_TRUE(counted);
  EXPECT_EQ(static_cast<uint64_t>(counted->total()), expected);
  EXPECT_FALSE(BudgetCount::Of(ComponentOf(system), 1000));
  std::set<std::vector<int64_t>> seen;
  std::vector<int64_t> values;
  for (uint64_t i = 0; i < 2000; ++i) {
    counted->Unrank(i * (expected / 2000), &values);
    EXPECT_TRUE(system.Holds(values));
    EXPECT_TRUE(seen.insert(values).second);
  }
}

TEST(BudgetCount, LeavesOtherComponentsAlone) {
  const std::vector<Domain> two(2, Domain::Interval(1, 5));
  EXPECT_TRUE(BudgetCount::Of({two, {Bound{{0, 1}, 1, 0, 10}}, {}}, 1000));
  EXPECT_FALSE(BudgetCount::Of({two, {Broadcast{0, 1, 1}}, {}}, 1000));
}

TEST(BudgetCount, DrawsAreUniform) {
  System system;
  for (int v = 0; v < 4; ++v) system.Add(fmt::format("v{}", v), Domain::Interval(1, 9));
  system.Add(Bound{{0, 1, 2}, 1, 0, 20});
  system.Add(Bound{{0, 2, 3}, 1, 0, 20});
  system.Add(Bound{{0, 1, 3}, 1, 0, 18});
  const auto space = Solver({.most_steps = kSteps}).Compile(system);
  ASSERT_TRUE(space && space->exact());
  SplitMix random(8);
  ExpectUniform(space->count().ToDouble(), 100,
                [&](std::vector<int64_t>* values) { space->Draw(&random, values); });
}

}  // namespace
}  // namespace tritogen::synth
