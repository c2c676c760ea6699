// A component of bounds as factors: its variables fall into groups that only bounds tie together, and each
// bound is a product with one power of each group. What budget_count.h counts.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "synth/elimination.h"
#include "synth/reduce.h"

namespace tritogen::synth {

inline constexpr int kMostBounds = 8, kMostFactors = 12;
using PerBound = std::array<int64_t, kMostBounds>;

// A variable that only bounds speak of, never listed: its powers are xᵉ. Or variables that other constraints
// tie together: rows of the powers that they can have, with the number of ways to have them.
struct Factor {
  struct Row {
    PerBound powers;
    Wide weight;
    int first;  // of its ways, among `ways`
  };
  // Solutions of the group, one after the other in `inside`.
  struct Way {
    Wide first, weight;
  };

  bool listed() const { return inside != nullptr; }
  // The value of this place in a variable's domain, from 0; its values at most `most`.
  int64_t ValueAt(int64_t place) const;
  int64_t AtMost(int64_t most) const;

  std::vector<Var> vars;
  uint32_t bounds = 0;   // those in which it stands, as bits
  PerBound least, most;  // its powers, 1 where it does not stand
  Wide size = 0;
  Domain domain;  // of a variable
  std::array<int, kMostBounds> exponents{};
  std::vector<int64_t> before;  // by range of the domain: values in the ranges before it
  std::vector<Row> rows;        // of a group
  std::vector<Way> ways;
  std::shared_ptr<const Elimination<Wide>> inside;
};

struct FactorSystem {
  std::vector<Factor> factors;
  int bounds = 0;
  uint32_t above = 0;  // bounds from below, as bits
  PerBound high;       // by bound: the largest product; of one from below the largest that is too small
};

// base^exponent, or kUnbounded when that is too large. REQUIRES: exponent ≥ 1.
int64_t Power(int64_t base, int exponent);
// The largest r with r^exponent ≤ value.
int64_t Root(int64_t value, int exponent);

// Nothing where no bound speaks of some group, a group has more than `most_rows` rows or there are too many
// of anything.
std::optional<FactorSystem> FactorsOf(const Component& component, size_t most_rows);

}  // namespace tritogen::synth
