// Random small systems and their solutions by trying everything; for tests only.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/splitmix.h"
#include "synth/system.h"

namespace tritogen::synth {

// A domain of at most `size` values, small ones mostly, 1 among them more often than not.
inline Domain RandomDomain(SplitMix* random, int size) {
  std::vector<int64_t> values;
  const int count = 1 + static_cast<int>(random->Below(size));
  for (int i = 0; i < count; ++i) values.push_back(1 + static_cast<int64_t>(random->Below(2 * size)));
  if (random->Chance(0.6)) values[0] = 1;
  return Domain::Of(values);
}

inline Constraint RandomConstraint(SplitMix* random, int variables, int64_t largest) {
  auto var = [&] { return static_cast<Var>(random->Below(variables)); };
  auto vars = [&](int most) {
    std::vector<Var> some(1 + random->Below(most));
    for (Var& v : some) v = var();
    return some;
  };
  auto operand = [&](int64_t low, int64_t high) {
    if (random->Chance(0.3)) return Operand::Of(var());
    return Operand(low + static_cast<int64_t>(random->Below(high - low + 1)));
  };
  auto number = [&](int64_t below) { return static_cast<int64_t>(random->Below(below)); };
  switch (random->Below(8)) {
    case 0:
      return Equal{var(), var()};
    case 1:
      return Broadcast{var(), var(), var()};
    case 2:
      return Product{vars(3), vars(3), 1 + number(3), 1 + number(3)};
    case 3: {
      const int64_t low = random->Chance(0.5) ? 0 : 1 + number(largest);
      return Bound{vars(4), 1 + number(3), low,
                   random->Chance(0.2) ? kUnbounded : low + number(largest * largest)};
    }
    case 4:
      return Divides{operand(1, 4), operand(1, 12)};
    case 5:
      return Window{var(), var(), operand(1, 4), operand(1, 3), operand(0, 2), operand(1, 2)};
    case 6:
      return TransposedWindow{var(),         var(),         operand(1, 4), operand(1, 3),
                              operand(0, 2), operand(1, 2), operand(0, 1)};
    default: {
      Linear linear{{}, number(9) - 4, random->Chance(0.4)};
      for (Var v : vars(4)) linear.terms.push_back({number(2) == 0 ? 1 : -1 - number(2), v});
      return linear;
    }
  }
}

inline System RandomSystem(SplitMix* random, int most_variables, int most_values) {
  System system;
  const int variables = 1 + static_cast<int>(random->Below(most_variables));
  for (int i = 0; i < variables; ++i) system.Add(fmt::format("v{}", i), RandomDomain(random, most_values));
  const int constraints = static_cast<int>(random->Below(variables + 1));
  for (int i = 0; i < constraints; ++i) system.Add(RandomConstraint(random, variables, 2 * most_values));
  return system;
}

inline std::set<std::vector<int64_t>> SolutionsByTrying(const System& system) {
  std::set<std::vector<int64_t>> solutions;
  std::vector<std::vector<int64_t>> domains;
  for (const auto& variable : system.variables()) domains.push_back(variable.domain.Values());
  std::vector<size_t> at(domains.size());
  std::vector<int64_t> values(domains.size());
  while (true) {
    for (size_t i = 0; i < at.size(); ++i) values[i] = domains[i][at[i]];
    if (system.Holds(values)) solutions.insert(values);
    size_t i = 0;
    while (i < at.size() && ++at[i] == domains[i].size()) at[i++] = 0;
    if (i == at.size()) return solutions;
  }
}

inline std::string Text(const System& system) {
  std::string text;
  for (const auto& v : system.variables()) text += v.name + " ∈ " + v.domain.ToString() + "\n";
  for (const Constraint& c : system.constraints()) text += system.ToString(c) + "\n";
  return text;
}

// Every index below `count` gives a solution, no two the same one, and there are as many as by trying.
inline void ExpectBijection(const System& system, const std::string& count,
                            const std::function<void(uint64_t, std::vector<int64_t>*)>& unrank) {
  const auto expected = SolutionsByTrying(system);
  ASSERT_EQ(count, std::to_string(expected.size())) << Text(system);
  std::set<std::vector<int64_t>> seen;
  std::vector<int64_t> values;
  for (uint64_t i = 0; i < expected.size(); ++i) {
    unrank(i, &values);
    ASSERT_TRUE(expected.contains(values)) << Text(system) << "index " << i;
    ASSERT_TRUE(seen.insert(values).second) << Text(system) << "index " << i;
  }
}

// `times` draws for each of `count` solutions give all of them, about equally often. Pearson's statistic: its
// mean is the degrees of freedom and its variance twice that.
inline void ExpectUniform(double count, int64_t times,
                          const std::function<void(std::vector<int64_t>*)>& draw) {
  ASSERT_GT(count, 100);
  std::map<std::vector<int64_t>, int64_t> seen;
  std::vector<int64_t> values;
  for (int64_t i = 0; i < times * static_cast<int64_t>(count); ++i) {
    draw(&values);
    ++seen[values];
  }
  EXPECT_EQ(static_cast<double>(seen.size()), count);
  const auto expected = static_cast<double>(times);
  double statistic = 0;
  for (const auto& [solution, often] : seen)
    statistic += std::pow(static_cast<double>(often) - expected, 2) / expected;
  EXPECT_NEAR(statistic, count - 1, 5 * std::sqrt(2 * (count - 1)));
}

}  // namespace tritogen::synth
