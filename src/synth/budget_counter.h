// The function F of budget_count.h, and its inverse.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "synth/budget_plan.h"
#include "synth/span_index.h"

namespace tritogen::synth {

// What was counted is kept as far as that is worth it, so calls change the object. Not thread-safe.
class BudgetCounter {
 public:
  // Counting throws TooLarge when it takes more than `most_steps`.
  BudgetCounter(FactorSystem system, int64_t most_steps)
      : plan_(std::move(system)), most_steps_(most_steps) {}

  Wide All() { return Count(AllFactors(), system().high, AllBounds()); }
  // From now on nothing throws; what there is no room for is not kept.
  void NoLimit() { most_steps_ = kUnbounded; }
  // Sets the variables of this solution. REQUIRES: index < All(), NoLimit() was called.
  void UnrankAll(Wide index, std::vector<int64_t>* values) {
    Unrank(AllFactors(), system().high, AllBounds(), index, values);
  }
  const FactorSystem& system() const { return plan_.system(); }
  int64_t steps() const { return steps_; }
  size_t bytes() const;  // about

 private:
  // Values of the chosen variable for which the same bounds matter.
  struct Piece {
    int64_t first, last;
    const Shape* shape;  // what is left
    uint32_t moving;     // bounds whose budgets the value changes
  };
  // The parts of a piece's shape: ways to fill those that no value of the piece changes, and the others.
  struct Split {
    Wide fixed;
    uint32_t factors = 0, bounds = 0;
  };
  // Values up to `last`, from behind the run before, with which all that follows can be done in `each` ways;
  // `before`: what all values of the runs before make together.
  struct Run {
    int64_t last;
    Wide each, before;
  };
  struct Prefix {
    int64_t from;  // the value at which the sums begin
    std::vector<Run> runs;
  };
  struct Key {
    std::array<int64_t, kMostBounds + 1> words;
    int size = 1;
    operator std::span<const int64_t>() const { return {words.data(), static_cast<size_t>(size)}; }
  };

  FactorSet* AllFactors() const {
    return &plan_.SetOf(static_cast<uint32_t>((uint64_t{1} << system().factors.size()) - 1));
  }
  uint32_t AllBounds() const { return (uint32_t{1} << system().bounds) - 1; }
  static Key KeyOf(const Shape& shape, const PerBound& budgets);
  void Step() {
    if (++steps_ > most_steps_) throw TooLarge();
  }

  // F of the factors of the set under these bounds.
  Wide Count(FactorSet* set, PerBound budgets, uint32_t bounds);
  const Shape* Settle(FactorSet* set, PerBound* budgets, uint32_t bounds) const;
  Wide CountPart(const Shape& part, const PerBound& budgets);
  Wide SumRows(const Shape& part, const PerBound& budgets);
  Wide SumValues(const Shape& part, const PerBound& budgets);
  Wide SumPiece(const Shape& part, const Piece& piece, const Split& split, const PerBound& budgets,
                Wide enough);
  bool Spend(const Factor::Row& row, uint32_t bounds, PerBound* budgets) const;
  Split SplitOf(const Piece& piece, const PerBound& budgets);

  // Cuts the values of the chosen variable where a bound begins or ceases to matter; calls `visit` with each
  // piece until it returns false.
  template <typename F>
  void ForEachPiece(const Shape& part, const PerBound& budgets, F visit);
  // Calls `visit` with the runs of a variable's values that leave the same budgets, and the ways to fill the
  // split's changing parts, until it returns false.
  template <typename F>
  void ForEachRun(int variable, const Split& split, const PerBound& budgets, int64_t from, int64_t to,
                  F visit);
  bool Above(int bound) const { return system().above >> bound & 1; }
  int64_t Limit(const Shape& part, const PerBound& budgets) const;
  int64_t First(const Shape& part, const PerBound& budgets) const;
  uint32_t Matter(const Factor& factor, const FactorSet& rest, const PerBound& budgets, uint32_t bounds,
                  int64_t first, int64_t last) const;

  const Prefix& PrefixOf(int variable, const Split& split, const PerBound& budgets, int64_t from);
  static Wide Before(const Factor& factor, const Prefix& prefix, int64_t value);

  // budget_dense.cc
  const std::vector<uint64_t>* Dense(const Shape& part, const PerBound& budgets);
  const std::vector<uint64_t>& MakeDense(const Shape& part);
  std::vector<uint64_t> DenseRest(uint32_t factors, uint32_t bounds);

  // budget_unrank.cc
  void Unrank(FactorSet* set, PerBound budgets, uint32_t bounds, Wide index, std::vector<int64_t>* values);
  Wide UnrankFree(const Shape& shape, Wide index, std::vector<int64_t>* values) const;
  void UnrankPart(const Shape& part, const PerBound& budgets, Wide index, std::vector<int64_t>* values);
  void UnrankRow(const Shape& part, const PerBound& budgets, Wide index, std::vector<int64_t>* values);
  void UnrankPiece(const Shape& part, const Piece& piece, const Split& split, const PerBound& budgets,
                   Wide index, std::vector<int64_t>* values);
  void UnrankRun(const Shape& part, const Piece& piece, const Split& split, const PerBound& budgets,
                 Wide index, std::vector<int64_t>* values);

  BudgetPlan plan_;
  int64_t most_steps_, steps_ = 0;
  int64_t own_steps_ = 0;  // of the sum at work, without those of sums inside it
  bool in_rows_ = false;   // a sum over rows is at work
  SpanIndex known_;        // shapes with budgets that were counted
  std::vector<Wide> counts_;
  SpanIndex prefix_keys_;  // variables, shapes and budgets that have prefix sums
  std::vector<Prefix> prefixes_;
  size_t runs_kept_ = 0;
  // By shape, where all its bounds have one budget: how often that was asked for, and the counts by budget.
  std::vector<int> asked_;
  std::vector<std::vector<uint64_t>> dense_;
};

template <typename F>
void BudgetCounter::ForEachPiece(const Shape& part, const PerBound& budgets, F visit) {
  const Factor& factor = plan_.factor(part.chosen);
  FactorSet* rest = part.rest;
  std::array<int64_t, kMostBounds*(kMostBounds + 1)> cuts;
  size_t size = 0;
  auto cut = [&](int64_t power, int exponent) { cuts[size++] = Root(power, exponent); };
  ForEachBit(part.moving, [&](int b) {
    cut(budgets[b] / (Above(b) ? rest->least[b] : rest->most[b]), factor.exponents[b]);
  });
  for (const auto& [a, b] : rest->follows) {
    if ((part.bounds >> a & part.bounds >> b & 1) == 0) continue;
    const bool a_moves = part.moving >> a & 1, b_moves = part.moving >> b & 1;
    if (a_moves && !b_moves) cut(budgets[a] / budgets[b], factor.exponents[a]);
    if (b_moves && !a_moves) cut(budgets[b] / (budgets[a] + 1), factor.exponents[b]);
  }
  const int64_t limit = Limit(part, budgets);
  std::sort(cuts.begin(), cuts.begin() + size);
  int64_t first = First(part, budgets);
  for (size_t c = 0; c <= size && first <= limit; ++c) {
    const int64_t last = c < size ? std::min(cuts[c], limit) : limit;
    if (last < first) continue;
    const uint32_t bounds = Matter(factor, *rest, budgets, part.bounds, first, last);
    if (!visit(Piece{first, last, &plan_.ShapeOf(rest, bounds), part.moving & bounds})) return;
    first = last + 1;
  }
}

template <typename F>
void BudgetCounter::ForEachRun(int variable, const Split& split, const PerBound& budgets, int64_t from,
                               int64_t to, F visit) {
  const Factor& factor = plan_.factor(variable);
  FactorSet* rest = &plan_.SetOf(split.factors);
  const uint32_t moving = split.bounds & factor.bounds;
  const auto& ranges = factor.domain.ranges();
  auto range = std::ranges::lower_bound(ranges, from, {}, &Domain::Range::high);
  for (; range != ranges.end() && range->low <= to; ++range) {
    const int64_t end = std::min(range->high, to);
    for (int64_t first = std::max(range->low, from); first <= end;) {
      Step();
      PerBound left = budgets;
      int64_t last = end;
      for (uint32_t bits = moving; bits != 0; bits &= bits - 1) {
        const int b = std::countr_zero(bits), e = factor.exponents[b];
        const int64_t quotient = budgets[b] / Power(first, e);
        if (quotient < rest->least[b]) {
          if (!Above(b)) return;
          left[b] = rest->least[b] - 1;  // all values behind are large enough, too
          continue;
        }
        left[b] = RoundedDown(*rest, b, std::min(quotient, rest->most[b]));  // budgets that are as good
        last = std::min(last, Root(budgets[b] / left[b], e));
      }
      if (!visit(first, last, Count(rest, left, split.bounds))) return;
      first = last + 1;
    }
  }
}

}  // namespace tritogen::synth
