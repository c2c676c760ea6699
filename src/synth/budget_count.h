// Solutions of several bounds together over domains of any size, counted exactly without listing values:
// what `--sizes 1..32768` needs, where tables (network.h) would have millions of rows.
//
// What is left of each bound when some factors are chosen is its budget: Πx ≤ U and x₁ chosen leave
// x₂·x₃·… ≤ ⌊U/x₁⌋. F(budgets) is the number of ways to choose the factors left. Few vectors of budgets
// occur: ⌊U/x⌋ takes at most 2√U values, each for a run of x that counts at once; a budget that allows
// everything, or that another one implies, is forgotten; factors without a common bound are counted apart. An
// index becomes a solution by walking the same sums.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "synth/elimination.h"
#include "synth/reduce.h"

namespace tritogen::synth {

// May be read from several threads: one at a time walks the sums.
class BudgetCount {
 public:
  // Nothing when there is no bound, or counting would take more than `most_steps`. REQUIRES: all variables
  // hang together.
  static std::optional<BudgetCount> Of(const Component& component, int64_t most_steps);

  const Wide& total() const { return total_; }
  // The solution of this index, by variable. REQUIRES: index < total().
  void Unrank(Wide index, std::vector<int64_t>* values) const;
  int64_t steps() const;  // that counting took
  size_t bytes() const;   // about

 private:
  struct Work;
  std::shared_ptr<Work> work_;
  Wide total_ = 0;
};

}  // namespace tritogen::synth
