#include "synth/budget_plan.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "synth/image.h"
#include "synth/key_index.h"

namespace tritogen::synth {
namespace {

constexpr size_t kMostProducts = 4096, kMostPairs = size_t{1} << 18;
constexpr Wide kFew = 64;

bool NoLarger(const Factor& factor, int a, int b) {
  if (!factor.listed()) return factor.exponents[a] <= factor.exponents[b];
  return std::ranges::all_of(factor.rows,
                             [&](const Factor::Row& row) { return row.powers[a] <= row.powers[b]; });
}

// The factor's powers in a bound, ascending; none when they are not listed.
std::vector<int64_t> PowersOf(const Factor& factor, int bound) {
  Distinct powers(0);
  if (factor.listed()) {
    for (const Factor::Row& row : factor.rows) powers.Add(row.powers[bound]);
  } else if (factor.domain.size() <= kListed) {
    for (int64_t value : factor.domain.Values()) powers.Add(Power(value, factor.exponents[bound]));
  }
  return powers.Sorted();
}

}  // namespace

FactorSet& BudgetPlan::MakeSet(uint32_t factors) const {
  std::unique_ptr<FactorSet>& set = sets_[factors];
  set = std::make_unique<FactorSet>();
  set->factors = factors;
  set->least.fill(1);
  set->most.fill(1);
  ForEachBit(factors, [&](int f) {
    for (int b = 0; b < system_.bounds; ++b) {
      set->least[b] = SaturatingProduct(set->least[b], factor(f).least[b]);
      set->most[b] = SaturatingProduct(set->most[b], factor(f).most[b]);
    }
  });
  for (int a = 0; a < system_.bounds; ++a) {
    for (int b = 0; b < system_.bounds; ++b) {
      bool all = a != b && ((system_.above >> a | system_.above >> b) & 1) == 0;
      ForEachBit(factors, [&](int f) { all = all && NoLarger(factor(f), a, b); });
      if (all) set->follows.emplace_back(a, b);
    }
  }
  set->shapes.resize(size_t{1} << system_.bounds);
  ListProducts(set.get());
  return *set;
}

void BudgetPlan::ListProducts(FactorSet* set) const {
  for (int b = 0; b < system_.bounds; ++b) {
    std::vector<int64_t> products{1};
    ForEachBit(set->factors, [&](int f) {
      if ((factor(f).bounds >> b & 1) == 0 || products.empty()) return;
      const std::vector<int64_t> powers = PowersOf(factor(f), b);
      Distinct more(0);
      if (products.size() * powers.size() <= kMostPairs) {
        for (int64_t product : products) {
          for (int64_t power : powers) {
            const int64_t next = SaturatingProduct(product, power);
            if (next > system_.high[b]) break;
            more.Add(next);
          }
        }
      }
      products = more.Sorted();
      if (products.size() > kMostProducts) products.clear();
    });
    set->products[b] = std::move(products);
  }
}

const Shape& BudgetPlan::MakeShape(FactorSet* set, uint32_t bounds) const {
  std::unique_ptr<Shape>& made = set->shapes[bounds];
  made = std::make_unique<Shape>();
  Shape& shape = *made;
  shape.factors = set->factors;
  shape.bounds = bounds;
  shape.number = shapes_++;
  uint32_t left = set->factors;
  while (left != 0) {
    uint32_t part = left & -left, ties = 0, before;
    do {  // whatever shares a bound with what is in the part already
      before = part;
      ForEachBit(part, [&](int f) { ties |= factor(f).bounds & bounds; });
      ForEachBit(left, [&](int f) {
        if (factor(f).bounds & ties) part |= uint32_t{1} << f;
      });
    } while (part != before);
    left &= ~part;
    if (ties == 0) {
      shape.free_ones.push_back(std::countr_zero(part));
      shape.free *= factor(shape.free_ones.back()).size;
    } else if (part == set->factors && ties == bounds) {
      shape.parts.push_back(&shape);
      Choose(&shape);
      shape.moving = factor(shape.chosen).bounds & bounds;
      shape.rest = &SetOf(part & ~(uint32_t{1} << shape.chosen));
    } else {
      shape.parts.push_back(&ShapeOf(&SetOf(part), ties));
    }
  }
  return shape;
}

// What is to be known about the budgets when these factors are left: bounds over the same powers have one
// budget between them, and a bound over one factor only limits it.
int BudgetPlan::Entangled(uint32_t factors, uint32_t bounds) const {
  int weight = 0;
  std::vector<int> kinds;
  ForEachBit(bounds, [&](int a) {
    int in = 0;
    ForEachBit(factors, [&](int f) { in += factor(f).bounds >> a & 1; });
    if (in == 0) return;
    const bool known = std::ranges::any_of(kinds, [&](int b) {
      bool alike = true;
      ForEachBit(factors,
                 [&](int f) { alike = alike && NoLarger(factor(f), a, b) && NoLarger(factor(f), b, a); });
      return alike;
    });
    if (known) return;
    kinds.push_back(a);
    weight += in == 1 ? 1 : 4;
  });
  return weight;
}

// Whether the factor has the same powers in all these bounds.
bool BudgetPlan::Alike(int f, uint32_t bounds) const {
  const int first = std::countr_zero(bounds);
  bool alike = true;
  ForEachBit(bounds,
             [&](int b) { alike = alike && NoLarger(factor(f), b, first) && NoLarger(factor(f), first, b); });
  return alike;
}

const Shape& BudgetPlan::AfterCommon(uint32_t factors, uint32_t bounds) const {
  FactorSet* set = &SetOf(factors);
  for (const auto& [a, b] : set->follows) {
    if (bounds >> a & bounds >> b & 1) bounds &= ~(uint32_t{1} << a);
  }
  ForEachBit(bounds, [&](int b) {
    if (set->most[b] == 1) bounds &= ~(uint32_t{1} << b);
  });
  return ShapeOf(set, bounds);
}

// The factor that leaves the least to be known. Of several a common one, then one of few values, then the one
// in most bounds, then the one with fewest values: what is left of the budgets then has few values too.
void BudgetPlan::Choose(Shape* part) const {
  auto rank = [&](int f) {
    const uint32_t rest = part->factors & ~(uint32_t{1} << f);
    bool common = (part->bounds & system_.above) == 0 && Alike(f, part->bounds);
    if (common) {
      for (const Shape* left : AfterCommon(rest, part->bounds).parts) common = common && left->common >= 0;
    }
    if (common) part->common = f;
    return std::tuple(Entangled(rest, part->bounds), !common, factor(f).size > kFew,
                      -std::popcount(factor(f).bounds & part->bounds), factor(f).size);
  };
  decltype(rank(0)) best;
  ForEachBit(part->factors, [&](int f) {
    const auto mine = rank(f);
    if (part->chosen < 0 || mine < best) best = mine, part->chosen = f;
  });
}

}  // namespace tritogen::synth
