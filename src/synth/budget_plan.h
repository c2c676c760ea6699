// What counting by budgets (budget_counter.h) has to know about sets of factors and of bounds; none of it
// hangs on the budgets' sizes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "synth/factors.h"

namespace tritogen::synth {

// Calls `visit` with the number of each bit, the lowest first.
template <typename F>
void ForEachBit(uint32_t bits, F visit) {
  for (; bits != 0; bits &= bits - 1) visit(std::countr_zero(bits));
}

// Factors and bounds that are left, as bits.
struct Shape {
  uint32_t factors = 0, bounds = 0;
  Wide free = 1;               // ways to choose the factors in none of the bounds
  std::vector<int> free_ones;  // those factors
  // The others, in parts without a common bound. A part is a shape of its own.
  std::vector<const Shape*> parts;
  int number = 0;  // among all shapes
  // Of a part: the factor to choose first, the bounds that it stands in, and the factors left after it.
  int chosen = -1;
  uint32_t moving = 0;
  struct FactorSet* rest = nullptr;
  // Of a part: a factor that has the same powers in all bounds, where what is left after it falls into parts
  // that have one too. With one budget for all bounds, counts then come by convolution.
  int common = -1;
};

// Factors that are left, whatever the bounds are.
struct FactorSet {
  uint32_t factors = 0;
  PerBound least, most;  // products of their powers
  // By bound: the products that can be, where they are few, ascending. A budget between two of them is as
  // good as the lower one.
  std::array<std::vector<int64_t>, kMostBounds> products;
  // (a, b): where the budget of a is at least that of b, bound a follows from b.
  std::vector<std::pair<int, int>> follows;
  std::vector<std::unique_ptr<Shape>> shapes;  // by bits of the bounds; null: not asked for yet
};

// What a budget of this bound is as good as.
inline int64_t RoundedDown(const FactorSet& set, int bound, int64_t budget) {
  const std::vector<int64_t>& products = set.products[bound];
  return products.empty() ? budget : *std::prev(std::ranges::upper_bound(products, budget));
}

// Sets and shapes are made when they are first asked for. Not thread-safe.
class BudgetPlan {
 public:
  explicit BudgetPlan(FactorSystem system) : system_(std::move(system)) {
    sets_.resize(size_t{1} << system_.factors.size());
  }
  const FactorSystem& system() const { return system_; }
  const Factor& factor(int f) const { return system_.factors[f]; }
  FactorSet& SetOf(uint32_t factors) const {
    return sets_[factors] != nullptr ? *sets_[factors] : MakeSet(factors);
  }
  // What is left of a part after its common factor, where all bounds have one budget.
  const Shape& AfterCommon(uint32_t factors, uint32_t bounds) const;
  const Shape& ShapeOf(FactorSet* set, uint32_t bounds) const {
    return set->shapes[bounds] != nullptr ? *set->shapes[bounds] : MakeShape(set, bounds);
  }

 private:
  FactorSet& MakeSet(uint32_t factors) const;
  const Shape& MakeShape(FactorSet* set, uint32_t bounds) const;
  void ListProducts(FactorSet* set) const;
  int Entangled(uint32_t factors, uint32_t bounds) const;
  bool Alike(int f, uint32_t bounds) const;
  void Choose(Shape* part) const;

  FactorSystem system_;
  mutable std::vector<std::unique_ptr<FactorSet>> sets_;  // by bits of the factors
  mutable int shapes_ = 0;
};

}  // namespace tritogen::synth
