// From an index to the solution: the sums of budget_counter.cc walked once more.
#include "base/error.h"
#include "synth/budget_counter.h"

namespace tritogen::synth {
namespace {

void PutWay(const Factor& factor, const Factor::Row& row, Wide index, std::vector<int64_t>* values) {
  const Factor::Way* way = &factor.ways[row.first];
  for (; index >= way->weight; ++way) index -= way->weight;
  std::vector<int64_t> local;
  factor.inside->Unrank(way->first + index, &local);
  for (size_t i = 0; i < factor.vars.size(); ++i) (*values)[factor.vars[i]] = local[i];
}

// A factor that no bound speaks of any more, or a variable alone.
void PutFree(const Factor& factor, Wide index, std::vector<int64_t>* values) {
  if (!factor.listed()) {
    (*values)[factor.vars[0]] = factor.ValueAt(static_cast<int64_t>(index));
    return;
  }
  auto row = factor.rows.begin();
  for (; index >= row->weight; ++row) index -= row->weight;
  PutWay(factor, *row, index, values);
}

}  // namespace

// Returns what is left of the index for the parts.
Wide BudgetCounter::UnrankFree(const Shape& shape, Wide index, std::vector<int64_t>* values) const {
  for (int f : shape.free_ones) {
    const auto [rest, digit] = DivMod(index, plan_.factor(f).size);
    PutFree(plan_.factor(f), digit, values);
    index = rest;
  }
  return index;
}

void BudgetCounter::Unrank(FactorSet* set, PerBound budgets, uint32_t bounds, Wide index,
                           std::vector<int64_t>* values) {
  const Shape& shape = *Settle(set, &budgets, bounds);
  index = UnrankFree(shape, index, values);
  for (const Shape* part : shape.parts) {
    const auto [rest, digit] = DivMod(index, CountPart(*part, budgets));
    UnrankPart(*part, budgets, digit, values);
    index = rest;
  }
}

void BudgetCounter::UnrankPart(const Shape& part, const PerBound& budgets, Wide index,
                               std::vector<int64_t>* values) {
  const Factor& factor = plan_.factor(part.chosen);
  if (factor.listed()) return UnrankRow(part, budgets, index, values);
  if (part.rest->factors == 0) {
    const int64_t before = factor.AtMost(First(part, budgets) - 1);
    return PutFree(factor, index + static_cast<Wide>(before), values);
  }
  ForEachPiece(part, budgets, [&](const Piece& piece) {
    const Split split = SplitOf(piece, budgets);
    if (split.fixed == 0) return true;
    // No further than the run that has the index.
    const Wide count = split.fixed * SumPiece(part, piece, split, budgets, index / split.fixed + 1);
    if (index < count) {
      UnrankPiece(part, piece, split, budgets, index, values);
      return false;
    }
    index -= count;
    return true;
  });
}

void BudgetCounter::UnrankRow(const Shape& part, const PerBound& budgets, Wide index,
                              std::vector<int64_t>* values) {
  const Factor& factor = plan_.factor(part.chosen);
  for (const Factor::Row& row : factor.rows) {
    PerBound left = budgets;
    if (!Spend(row, part.moving, &left)) continue;
    const Wide each = Count(part.rest, left, part.bounds);
    if (index < row.weight * each) {
      const auto [way, below] = DivMod(index, each);
      PutWay(factor, row, way, values);
      return Unrank(part.rest, left, part.bounds, below, values);
    }
    index -= row.weight * each;
  }
  TRITOGEN_CHECK(false && "index past the count");
}

// The digits of an index in a piece: what no value of the piece changes, then the value and what follows it.
void BudgetCounter::UnrankPiece(const Shape& part, const Piece& piece, const Split& split,
                                const PerBound& budgets, Wide index, std::vector<int64_t>* values) {
  index = UnrankFree(*piece.shape, index, values);
  for (const Shape* fixed : piece.shape->parts) {
    if (fixed->bounds & piece.moving) continue;
    FactorSet* set = &plan_.SetOf(fixed->factors);
    const auto [rest, digit] = DivMod(index, Count(set, budgets, fixed->bounds));
    Unrank(set, budgets, fixed->bounds, digit, values);
    index = rest;
  }
  const Factor& factor = plan_.factor(part.chosen);
  if (split.factors == 0) {
    const int64_t before = factor.AtMost(piece.first - 1);
    (*values)[factor.vars[0]] = factor.ValueAt(before + static_cast<int64_t>(index));
  } else {
    UnrankRun(part, piece, split, budgets, index, values);
  }
}

void BudgetCounter::UnrankRun(const Shape& part, const Piece& piece, const Split& split,
                              const PerBound& budgets, Wide index, std::vector<int64_t>* values) {
  const Factor& factor = plan_.factor(part.chosen);
  int64_t from = piece.first;
  if (split.bounds != part.bounds) {  // straight to the run of the index
    const Prefix& prefix = PrefixOf(part.chosen, split, budgets, piece.first);
    const Wide place = index + Before(factor, prefix, piece.first - 1);
    const auto run = std::prev(std::ranges::upper_bound(prefix.runs, place, {}, &Run::before));
    const int64_t start = run == prefix.runs.begin() ? prefix.from : std::prev(run)->last + 1;
    if (start > from) {
      from = start;
      index = place - run->before;
    }
  }
  ForEachRun(part.chosen, split, budgets, from, piece.last, [&](int64_t first, int64_t last, Wide each) {
    const Wide count = static_cast<Wide>(last - first + 1) * each;
    if (index >= count) {
      index -= count;
      return true;
    }
    const auto [place, below] = DivMod(index, each);
    const int64_t value = first + static_cast<int64_t>(place);
    (*values)[factor.vars[0]] = value;
    PerBound left = budgets;
    ForEachBit(split.bounds & factor.bounds, [&](int b) { left[b] /= Power(value, factor.exponents[b]); });
    Unrank(&plan_.SetOf(split.factors), left, split.bounds, below, values);
    return false;
  });
}

}  // namespace tritogen::synth
