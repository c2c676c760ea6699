#include "synth/budget_counter.h"

#include <utility>

namespace tritogen::synth {
namespace {

constexpr size_t kMostKept = size_t{1} << 19;  // counts
constexpr size_t kMostRuns = size_t{1} << 18;  // of prefix sums, at a time
constexpr size_t kPlanBytes = size_t{1} << 16;
constexpr int64_t kEnoughToTell = int64_t{1} << 19;
constexpr double kHopeless = 24;      // times as many steps as there may be
constexpr int64_t kWorthKeeping = 8;  // a count of fewer summands is made anew

}  // namespace

size_t BudgetCounter::bytes() const {
  size_t bytes = kPlanBytes + known_.bytes() + counts_.capacity() * sizeof(Wide) + runs_kept_ * sizeof(Run);
  for (const auto& dense : dense_) bytes += dense.size() * sizeof dense[0];
  return bytes;
}

BudgetCounter::Key BudgetCounter::KeyOf(const Shape& shape, const PerBound& budgets) {
  Key key;
  key.words[0] = shape.number;
  for (uint32_t bits = shape.bounds; bits != 0; bits &= bits - 1)
    key.words[key.size++] = budgets[std::countr_zero(bits)];
  return key;
}

// Forgets bounds that do not matter and rounds budgets; null when nothing fits.
const Shape* BudgetCounter::Settle(FactorSet* set, PerBound* budgets, uint32_t bounds) const {
  PerBound& have = *budgets;
  for (uint32_t bits = bounds; bits != 0; bits &= bits - 1) {
    const int b = std::countr_zero(bits);
    const bool none = have[b] < set->least[b], all = have[b] >= set->most[b];  // products within the budget
    if (Above(b) ? all : none) return nullptr;
    if (Above(b) ? none : all) bounds &= ~(uint32_t{1} << b);
  }
  if ((bounds & (bounds - 1)) != 0) {
    for (const auto& [a, b] : set->follows) {
      if ((bounds >> a & bounds >> b & 1) && have[a] >= have[b]) bounds &= ~(uint32_t{1} << a);
    }
  }
  for (uint32_t bits = bounds; bits != 0; bits &= bits - 1) {
    const int b = std::countr_zero(bits);
    have[b] = RoundedDown(*set, b, have[b]);
  }
  return &plan_.ShapeOf(set, bounds);
}

Wide BudgetCounter::Count(FactorSet* set, PerBound budgets, uint32_t bounds) {
  const Shape* shape = Settle(set, &budgets, bounds);
  if (shape == nullptr) return 0;
  Wide count = shape->free;
  for (const Shape* part : shape->parts) {
    if (count == 0) return 0;
    count *= CountPart(*part, budgets);
  }
  return count;
}

Wide BudgetCounter::CountPart(const Shape& part, const PerBound& budgets) {
  const Factor& factor = plan_.factor(part.chosen);
  if (part.rest->factors == 0 && !factor.listed()) {
    const int64_t before = factor.AtMost(First(part, budgets) - 1);
    return static_cast<Wide>(std::max<int64_t>(0, factor.AtMost(Limit(part, budgets)) - before));
  }
  if (const std::vector<uint64_t>* dense = Dense(part, budgets))
    return (*dense)[budgets[std::countr_zero(part.bounds)]];
  const Key key = KeyOf(part, budgets);
  if (const int id = known_.Find(key); id >= 0) return counts_[id];
  const int64_t outer_steps = own_steps_;
  own_steps_ = 0;
  const Wide count = factor.listed() ? SumRows(part, budgets) : SumValues(part, budgets);
  if (own_steps_ >= kWorthKeeping && counts_.size() < kMostKept) {
    known_.Insert(key);
    counts_.push_back(count);
  } else if (own_steps_ >= kWorthKeeping && most_steps_ < kUnbounded) {
    throw TooLarge();
  }
  own_steps_ = outer_steps;
  return count;
}

// The largest value that the chosen variable may have, whatever the others are.
int64_t BudgetCounter::Limit(const Shape& part, const PerBound& budgets) const {
  const Factor& factor = plan_.factor(part.chosen);
  int64_t limit = factor.domain.max();
  for (uint32_t bits = part.moving; bits != 0; bits &= bits - 1) {
    const int b = std::countr_zero(bits);
    if (Above(b)) continue;
    const int64_t least = part.rest->least[b], budget = least == 1 ? budgets[b] : budgets[b] / least;
    limit = std::min(limit, Root(budget, factor.exponents[b]));
  }
  return limit;
}

// The smallest value that may do: with those below it no rest is large enough.
int64_t BudgetCounter::First(const Shape& part, const PerBound& budgets) const {
  const Factor& factor = plan_.factor(part.chosen);
  int64_t first = factor.domain.min();
  for (uint32_t bits = part.moving & system().above; bits != 0; bits &= bits - 1) {
    const int b = std::countr_zero(bits);
    first = std::max(first, Root(budgets[b] / part.rest->most[b], factor.exponents[b]) + 1);
  }
  return first;
}

// What a row leaves of the budgets; false when it does not fit.
bool BudgetCounter::Spend(const Factor::Row& row, uint32_t bounds, PerBound* budgets) const {
  for (; bounds != 0; bounds &= bounds - 1) {
    const int b = std::countr_zero(bounds);
    if (((*budgets)[b] /= row.powers[b]) == 0 && !Above(b)) return false;
  }
  return true;
}

Wide BudgetCounter::SumRows(const Shape& part, const PerBound& budgets) {
  const std::vector<Factor::Row>& rows = plan_.factor(part.chosen).rows;
  const bool outermost = !std::exchange(in_rows_, true);
  const int64_t before = steps_;
  Wide sum = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    Step();
    ++own_steps_;
    PerBound left = budgets;
    if (Spend(rows[i], part.moving, &left)) sum += rows[i].weight * Count(part.rest, left, part.bounds);
    if (!outermost || steps_ - before <= kEnoughToTell || most_steps_ == kUnbounded) continue;
    // Rows cost about the same, the first ones somewhat more: sooner rather than later.
    const double a_row = static_cast<double>(steps_ - before) / static_cast<double>(i + 1);
    if (a_row * static_cast<double>(rows.size()) > kHopeless * static_cast<double>(most_steps_))
      throw TooLarge();
  }
  if (outermost) in_rows_ = false;
  return sum;
}

// Of the bounds those that matter for some value of the piece, as far as is easily seen.
uint32_t BudgetCounter::Matter(const Factor& factor, const FactorSet& rest, const PerBound& budgets,
                               uint32_t bounds, int64_t first, int64_t last) const {
  PerBound low, high;  // what is left at the last value and at the first
  for (uint32_t bits = bounds; bits != 0; bits &= bits - 1) {
    const int b = std::countr_zero(bits);
    low[b] = high[b] = budgets[b];
    if (const int e = factor.exponents[b]) low[b] /= Power(last, e), high[b] /= Power(first, e);
    if (Above(b) ? high[b] < rest.least[b] : low[b] >= rest.most[b]) bounds &= ~(uint32_t{1} << b);
  }
  for (const auto& [a, b] : rest.follows) {
    if ((bounds >> a & bounds >> b & 1) == 0) continue;
    // Both fall as the value grows: the one that begins higher and falls no faster stays above.
    const bool above = factor.exponents[a] <= factor.exponents[b] && budgets[a] >= budgets[b];
    if (above || low[a] >= high[b]) bounds &= ~(uint32_t{1} << a);
  }
  return bounds;
}

BudgetCounter::Split BudgetCounter::SplitOf(const Piece& piece, const PerBound& budgets) {
  Split split{piece.shape->free};
  for (const Shape* part : piece.shape->parts) {
    if (part->bounds & piece.moving)
      split.factors |= part->factors, split.bounds |= part->bounds;
    else
      split.fixed *= Count(&plan_.SetOf(part->factors), budgets, part->bounds);
  }
  return split;
}

Wide BudgetCounter::SumValues(const Shape& part, const PerBound& budgets) {
  Wide sum = 0;
  ForEachPiece(part, budgets, [&](const Piece& piece) {
    const Split split = SplitOf(piece, budgets);
    if (split.fixed != 0) sum += split.fixed * SumPiece(part, piece, split, budgets, ~Wide{0});
    return true;
  });
  return sum;
}

// Ways to choose the variable among the values of the piece and to fill the changing parts; not more than is
// enough, where that is less than all.
Wide BudgetCounter::SumPiece(const Shape& part, const Piece& piece, const Split& split,
                             const PerBound& budgets, Wide enough) {
  const Factor& factor = plan_.factor(part.chosen);
  if (split.factors == 0)
    return static_cast<Wide>(factor.AtMost(piece.last) - factor.AtMost(piece.first - 1));
  if (split.bounds != part.bounds) {
    const Prefix& prefix = PrefixOf(part.chosen, split, budgets, piece.first);
    return Before(factor, prefix, piece.last) - Before(factor, prefix, piece.first - 1);
  }
  Wide sum = 0;
  ForEachRun(part.chosen, split, budgets, piece.first, piece.last,
             [&](int64_t first, int64_t last, Wide each) {
               ++own_steps_;
               sum += static_cast<Wide>(last - first + 1) * each;
               return sum < enough;
             });
  return sum;
}

// Runs of a variable's values under bounds that are fewer than those at hand: they are the same for many
// limits of the variable.
const BudgetCounter::Prefix& BudgetCounter::PrefixOf(int variable, const Split& split,
                                                     const PerBound& budgets, int64_t from) {
  Key key = KeyOf(plan_.ShapeOf(&plan_.SetOf(split.factors), split.bounds), budgets);
  key.words[0] = key.words[0] * kMostFactors + variable;
  int id = prefix_keys_.Find(key);
  if (id >= 0 && prefixes_[id].from <= from) return prefixes_[id];
  const Factor& factor = plan_.factor(variable);
  Prefix made{.from = from, .runs = {}};
  Wide sum = 0;
  ForEachRun(variable, split, budgets, from, factor.domain.max(),
             [&](int64_t first, int64_t last, Wide each) {
               made.runs.push_back({last, each, sum});
               sum += static_cast<Wide>(last - first + 1) * each;
               return true;
             });
  made.runs.push_back({factor.domain.max(), 0, sum});
  if (runs_kept_ > kMostRuns) {
    runs_kept_ = 0;
    prefixes_.clear();
    prefix_keys_ = {};
  }
  runs_kept_ += made.runs.size();
  id = prefix_keys_.Find(key);  // others were made meanwhile
  if (id >= 0) return prefixes_[id] = std::move(made);
  prefix_keys_.Insert(key);
  prefixes_.push_back(std::move(made));
  return prefixes_.back();
}

// What the values up to this one make together. REQUIRES: value ≥ prefix.from − 1.
Wide BudgetCounter::Before(const Factor& factor, const Prefix& prefix, int64_t value) {
  const std::vector<Run>& runs = prefix.runs;
  const auto run = std::ranges::lower_bound(runs, value, {}, &Run::last);
  if (run == runs.end()) return runs.back().before;
  const int64_t past = factor.AtMost(run == runs.begin() ? prefix.from - 1 : std::prev(run)->last);
  return run->before + static_cast<Wide>(factor.AtMost(value) - past) * run->each;
}

}  // namespace tritogen::synth
