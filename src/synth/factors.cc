#include "synth/factors.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "base/error.h"

namespace tritogen::synth {
namespace {

constexpr double kMostTotal = 0x1p120;  // 128 bits hold every sum then

// Variables by group, each ascending; groups by their first variable.
std::vector<std::vector<Var>> GroupsOf(const Component& component) {
  std::vector<int> group(component.domains.size());
  std::iota(group.begin(), group.end(), 0);
  for (const Constraint& constraint : component.constraints) {
    if (std::holds_alternative<Bound>(constraint)) continue;
    const std::vector<Var> vars = VariablesOf(constraint);
    for (Var var : vars) {
      const int from = group[var], to = group[vars[0]];
      for (int& g : group) g = g == from ? to : g;
    }
  }
  std::vector<std::vector<Var>> groups;
  std::map<int, size_t> place;
  for (size_t var = 0; var < group.size(); ++var) {
    const auto [it, fresh] = place.emplace(group[var], groups.size());
    if (fresh) groups.emplace_back();
    groups[it->second].push_back(static_cast<Var>(var));
  }
  return groups;
}

class Maker {
 public:
  Maker(const Component& component, size_t most_rows) : component_(component), most_rows_(most_rows) {}

  std::optional<FactorSystem> Make() {
    if (!TakeBounds()) return std::nullopt;
    const auto groups = GroupsOf(component_);
    if (groups.size() > kMostFactors) return std::nullopt;
    double all = 1;
    for (const std::vector<Var>& group : groups) {
      Factor factor = Tied(group) ? Listed(group) : Alone(group[0]);
      all *= static_cast<double>(factor.size);
      if (all > kMostTotal) return std::nullopt;
      out_.factors.push_back(std::move(factor));
    }
    DropImplied();
    for (Factor& factor : out_.factors) Finish(&factor);
    return std::move(out_);
  }

 private:
  bool TakeBounds() {
    for (const Constraint& constraint : component_.constraints) {
      const auto* bound = std::get_if<Bound>(&constraint);
      if (bound == nullptr) continue;
      for (const bool above : {false, true}) {
        if (above ? bound->low <= 0 : bound->high == kUnbounded) continue;
        if (bounds_.size() == kMostBounds) return false;
        if (above) out_.above |= uint32_t{1} << bounds_.size();
        out_.high[bounds_.size()] = (above ? bound->low - 1 : bound->high) / bound->scale;
        bounds_.push_back(bound);
      }
    }
    out_.bounds = static_cast<int>(bounds_.size());
    return out_.bounds > 0;
  }

  int Exponent(Var var, int bound) const {
    return static_cast<int>(std::ranges::count(bounds_[bound]->vars, var));
  }

  bool Tied(const std::vector<Var>& group) const {
    return group.size() > 1 || std::ranges::any_of(component_.constraints, [&](const Constraint& c) {
             return !std::holds_alternative<Bound>(c) && VariablesOf(c) == group;
           });
  }

  Factor Alone(Var var) const {
    Factor factor;
    factor.vars = {var};
    factor.domain = component_.domains[var];
    factor.size = static_cast<Wide>(factor.domain.size());
    for (int b = 0; b < out_.bounds; ++b) factor.exponents[b] = Exponent(var, b);
    int64_t before = 0;
    for (const Domain::Range& range : factor.domain.ranges()) {
      factor.before.push_back(before);
      before += range.high - range.low + 1;
    }
    return factor;
  }

  // The group's own constraints as a network, and one node more: the vector of its powers, made variable by
  // variable. When that node is eliminated last its totals are the weights of the rows.
  Factor Listed(const std::vector<Var>& group) const {
    Component part;
    std::vector<int> local(component_.domains.size(), -1);
    for (Var var : group) {
      local[var] = static_cast<int>(part.domains.size());
      part.domains.push_back(component_.domains[var]);
    }
    for (Constraint constraint : component_.constraints) {
      if (std::holds_alternative<Bound>(constraint) || local[VariablesOf(constraint)[0]] < 0) continue;
      ForEachVariable(&constraint, [&](Var* var) { *var = local[*var]; });
      part.constraints.push_back(std::move(constraint));
    }
    Network network = BuildNetwork(part, Precision::kExact, most_rows_);
    std::vector<PerBound> vectors(1);
    vectors[0].fill(1);
    int node = -1;
    for (Var var : group) {
      const bool bounded =
          std::ranges::any_of(bounds_, [&](const Bound* b) { return std::ranges::count(b->vars, var) > 0; });
      if (bounded) node = AddPowers(var, local[var], node, &vectors, &network);
    }
    if (node < 0) throw TooLarge();
    Factor factor;
    factor.vars = group;
    auto inside = std::make_shared<const Elimination<Wide>>(network, most_rows_, node);
    factor.size = inside->total();
    for (const auto& [state, first, weight] : inside->LastRows()) {
      factor.rows.push_back({vectors[state], weight, static_cast<int>(factor.ways.size())});
      factor.ways.push_back({first, weight});
    }
    factor.inside = std::move(inside);
    return factor;
  }

  // The node of the vectors so far times the variable's powers; vectors past a bound are left out.
  int AddPowers(Var var, int local, int node, std::vector<PerBound>* vectors, Network* network) const {
    const auto& cells = network->cells[local];
    if (cells.size() * vectors->size() > most_rows_ || cells[0].low < 1) throw TooLarge();
    std::map<PerBound, int> known;
    std::vector<PerBound> more;
    std::vector<std::array<int, 3>> rows;
    for (size_t v = 0; v < vectors->size(); ++v) {
      for (size_t c = 0; c < cells.size(); ++c) {
        PerBound powers = (*vectors)[v];
        bool fits = true;
        for (int b = 0; b < out_.bounds; ++b) {
          if (const int e = Exponent(var, b))
            powers[b] = SaturatingProduct(powers[b], Power(cells[c].low, e));
          fits &= (out_.above >> b & 1) || powers[b] <= out_.high[b];
        }
        if (!fits) continue;
        const auto [it, fresh] = known.emplace(powers, static_cast<int>(more.size()));
        if (fresh) more.push_back(powers);
        rows.push_back({static_cast<int>(v), static_cast<int>(c), it->second});
      }
    }
    if (more.empty()) more.push_back((*vectors)[0]);  // a node without rows: no solution
    network->sizes.push_back(static_cast<int>(more.size()));
    const int made = static_cast<int>(network->sizes.size()) - 1;
    Relation relation{.nodes = {local, made}, .keys = {}};
    if (node >= 0) relation.nodes.push_back(node);
    const int one = network->Width(local), two = one + network->Width(made);
    for (const auto& [v, c, m] : rows) {
      relation.keys.push_back(static_cast<uint64_t>(c) | static_cast<uint64_t>(m) << one |
                              (node >= 0 ? static_cast<uint64_t>(v) << two : 0));
    }
    network->relations.push_back(std::move(relation));
    *vectors = std::move(more);
    return made;
  }

  // Whether a power in bound a is at most that in b, whatever the values are.
  static bool NoLarger(const Factor& factor, int a, int b) {
    if (!factor.listed()) return factor.exponents[a] <= factor.exponents[b];
    return std::ranges::all_of(factor.rows,
                               [&](const Factor::Row& row) { return row.powers[a] <= row.powers[b]; });
  }

  // Leaves out bounds that follow from another one.
  void DropImplied() {
    std::vector<int> kept;
    for (int a = 0; a < out_.bounds; ++a) {
      auto implies = [&](int b) {
        return ((out_.above >> a | out_.above >> b) & 1) == 0 && out_.high[b] <= out_.high[a] &&
               std::ranges::all_of(out_.factors, [&](const Factor& f) { return NoLarger(f, a, b); });
      };
      bool implied = std::ranges::any_of(kept, implies);
      for (int b = a + 1; b < out_.bounds && !implied; ++b) implied = implies(b);
      if (!implied) kept.push_back(a);
    }
    uint32_t above = 0;
    for (size_t k = 0; k < kept.size(); ++k) {
      above |= (out_.above >> kept[k] & 1) << k;
      out_.high[k] = out_.high[kept[k]];
      for (Factor& factor : out_.factors) {
        factor.exponents[k] = factor.exponents[kept[k]];
        for (Factor::Row& row : factor.rows) row.powers[k] = row.powers[kept[k]];
      }
    }
    out_.above = above;
    out_.bounds = static_cast<int>(kept.size());
    for (Factor& factor : out_.factors) {
      for (Factor::Row& row : factor.rows) std::fill(row.powers.begin() + out_.bounds, row.powers.end(), 1);
    }
  }

  // Rows with equal powers become one; what the factor is to each bound.
  void Finish(Factor* factor) const {
    factor->least.fill(1);
    factor->most.fill(1);
    if (factor->listed()) {
      std::ranges::sort(factor->rows, [](const Factor::Row& a, const Factor::Row& b) {
        return std::tie(a.powers, a.first) < std::tie(b.powers, b.first);
      });
      std::vector<Factor::Row> rows;
      std::vector<Factor::Way> ways;
      for (const Factor::Row& row : factor->rows) {
        if (rows.empty() || rows.back().powers != row.powers)
          rows.push_back({row.powers, 0, static_cast<int>(ways.size())});
        rows.back().weight += row.weight;
        ways.push_back(factor->ways[row.first]);
      }
      factor->rows = std::move(rows);
      factor->ways = std::move(ways);
    }
    for (int b = 0; b < out_.bounds; ++b) {
      if (!factor->listed()) {
        if (const int e = factor->exponents[b]) {
          factor->least[b] = Power(factor->domain.min(), e);
          factor->most[b] = Power(factor->domain.max(), e);
        }
      } else if (!factor->rows.empty()) {
        auto power = [&](const Factor::Row& row) { return row.powers[b]; };
        factor->least[b] = std::ranges::min(factor->rows, {}, power).powers[b];
        factor->most[b] = std::ranges::max(factor->rows, {}, power).powers[b];
      }
      if (factor->most[b] > 1) factor->bounds |= uint32_t{1} << b;
    }
  }

  const Component& component_;
  size_t most_rows_;
  std::vector<const Bound*> bounds_;
  FactorSystem out_;
};

}  // namespace

int64_t Power(int64_t base, int exponent) {
  int64_t power = base;
  for (int i = 1; i < exponent; ++i) power = SaturatingProduct(power, base);
  return power;
}

int64_t Root(int64_t value, int exponent) {
  if (exponent == 1) return value;
  auto root = static_cast<int64_t>(std::pow(static_cast<double>(value), 1.0 / exponent));
  while (Power(root, exponent) > value) --root;
  while (Power(root + 1, exponent) <= value) ++root;
  return root;
}

int64_t Factor::ValueAt(int64_t place) const {
  const auto range = std::prev(std::ranges::upper_bound(before, place)) - before.begin();
  return domain.ranges()[range].low + place - before[range];
}

int64_t Factor::AtMost(int64_t value) const {
  const auto& ranges = domain.ranges();
  const auto past = std::ranges::upper_bound(ranges, value, {}, &Domain::Range::low);
  if (past == ranges.begin()) return 0;
  const auto range = std::prev(past);
  return before[range - ranges.begin()] + std::min(value, range->high) - range->low + 1;
}

std::optional<FactorSystem> FactorsOf(const Component& component, size_t most_rows) {
  try {
    return Maker(component, most_rows).Make();
  } catch (const TooLarge&) {
    return std::nullopt;
  } catch (const CountOverflow&) {
    return std::nullopt;
  }
}

}  // namespace tritogen::synth
