// Solutions of one bound alone, x₁^e₁ · x₂^e₂ · … ≤ n over domains of any size, counted exactly without
// listing values: what `--sizes 1..32768` needs, where tables (network.h) would have millions of rows.
//
// Let F_k(m) be the number of ways to choose x_k, x_{k+1}, … with x_k^e_k · … ≤ m. Then F_k(m) = Σ_x
// F_{k+1}(⌊m/x^e⌋), and ⌊m/x^e⌋ takes at most 2√m values, each for a run of x that counts at once. All m that
// occur are ⌊n/j⌋ for some j, fewer than 2√n, and F is kept for each. An index becomes a solution by walking
// the same sums.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "synth/elimination.h"
#include "synth/reduce.h"

namespace tritogen::synth {

// Immutable once made; may be read from several threads.
class ProductCount {
 public:
  // Nothing when the component is not one bound from above, or would take more than `most_steps`.
  static std::optional<ProductCount> Of(const Component& component, int64_t most_steps);

  const Wide& total() const { return total_; }
  // The solution of this index, by variable. REQUIRES: index < total().
  void Unrank(Wide index, std::vector<int64_t>* values) const;

 private:
  struct Factor {
    Var var;
    int exponent;
    Domain domain;
    std::vector<int64_t> before;  // by range of the domain: values in the ranges before it
    Wide rest = 1;                // ways to choose the factors behind it when nothing bounds them
    int64_t rest_most = 1;        // their largest product
  };
  // A run of values with one quotient.
  struct Run {
    int64_t first, last, quotient;
  };

  // Of ⌊high/j⌋ for some j, among all of them.
  size_t Place(int64_t most) const { return most <= root_ ? most : 2 * root_ + 1 - high_ / most; }
  Wide Count(size_t factor, int64_t most);
  Wide Known(size_t factor, int64_t most) const;
  int64_t AtMost(const Factor& factor, int64_t most) const;
  // Calls `visit` with the runs of a factor's values whose power is at most `most`, until it returns false.
  template <typename F>
  void ForEachRun(const Factor& factor, int64_t most, F visit) const;

  std::vector<Factor> factors_;
  static constexpr Wide kUnknown = ~Wide{0};
  std::vector<std::vector<Wide>> known_;  // by factor, by Place: F
  // Of the first factor, whose runs are the longest list: what stands before each.
  std::vector<Run> first_runs_;
  std::vector<Wide> first_before_;
  int64_t high_ = 0, root_ = 0, steps_ = 0, most_steps_ = 0;
  Wide total_ = 0;
};

}  // namespace tritogen::synth
