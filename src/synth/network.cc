#include "synth/network.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>

#include "base/error.h"
#include "base/overloaded.h"
#include "synth/cells.h"
#include "synth/image.h"
#include "synth/key_index.h"

namespace tritogen::synth {
namespace {

using Values = std::vector<int64_t>;
constexpr size_t kMostStates = size_t{1} << 16, kMostBoundaries = 2048;

// A node with the number that each of its states stands for, ascending.
struct Term {
  int node;
  Values values;
};

int StateOf(const Values& values, int64_t value) {
  auto it = std::lower_bound(values.begin(), values.end(), value);
  return it != values.end() && *it == value ? static_cast<int>(it - values.begin()) : -1;
}

class Builder {
 public:
  Builder(const Component& component, Precision precision, size_t max_rows)
      : component_(component), precision_(precision), max_rows_(max_rows) {}

  Network Build() {
    MakeVariables();
    for (const Constraint& constraint : component_.constraints)
      std::visit([&](const auto& c) { Translate(c); }, constraint);
    return std::move(network_);
  }

 private:
  void MakeVariables() {
    std::vector<bool> only_bounds(component_.domains.size(), true);
    for (const Constraint& constraint : component_.constraints) {
      if (std::holds_alternative<Bound>(constraint)) continue;
      for (Var var : VariablesOf(constraint)) only_bounds[var] = false;
    }
    for (size_t var = 0; var < component_.domains.size(); ++var) {
      const Domain& domain = component_.domains[var];
      Cells cells;
      if (component_.constraints.empty()) {  // a free variable: its values are alike in every way
        cells = domain.ranges();
      } else if (domain.size() > kListed && only_bounds[var]) {
        cells = CoarseCells(domain);
      } else {
        if (domain.size() > static_cast<int64_t>(kMostStates)) throw TooLarge();
        for (int64_t value : domain.Values()) cells.push_back({value, value});
      }
      network_.sizes.push_back(static_cast<int>(cells.size()));
      network_.cells.push_back(std::move(cells));
    }
  }

  Term TermOf(Var var) const {
    Term term{var, {}};
    for (const Domain::Range& cell : network_.cells[var]) term.values.push_back(cell.low);
    return term;
  }

  Term Make(Values values) {
    if (values.size() > kMostStates) throw TooLarge();
    network_.sizes.push_back(static_cast<int>(values.size()));
    return {static_cast<int>(network_.sizes.size()) - 1, std::move(values)};
  }

  // A relation under construction. Nodes that come twice must have equal states.
  class Rows {
   public:
    Rows(Builder* builder, std::vector<int> nodes) : builder_(builder), slots_(std::move(nodes)) {
      int shift = 0;
      for (int node : slots_) {
        auto it = std::find(relation_.nodes.begin(), relation_.nodes.end(), node);
        first_.push_back(static_cast<int>(it - relation_.nodes.begin()));
        if (it != relation_.nodes.end()) continue;
        relation_.nodes.push_back(node);
        shifts_.push_back(shift);
        shift += builder->network_.Width(node);
      }
      if (shift > 64) throw TooLarge();
    }
    // States by slot; −1 for a value that the node cannot have: no row.
    void Add(std::span<const int> states) {
      uint64_t key = 0;
      if (slots_.size() == relation_.nodes.size()) {
        for (size_t slot = 0; slot < states.size(); ++slot) {
          if (states[slot] < 0) return;
          key |= static_cast<uint64_t>(states[slot]) << shifts_[slot];
        }
      } else {
        std::array<int, 8> have;
        have.fill(-1);
        for (size_t slot = 0; slot < states.size(); ++slot) {
          const int state = states[slot];
          if (state < 0) return;
          int& known = have[first_[slot]];
          if (known >= 0 && known != state) return;
          if (known < 0) key |= static_cast<uint64_t>(state) << shifts_[first_[slot]];
          known = state;
        }
      }
      relation_.keys.push_back(key);
      if (relation_.keys.size() > builder_->max_rows_) throw TooLarge();
    }
    void Add(std::initializer_list<int> states) { Add(std::span(states.begin(), states.size())); }
    void Finish(bool distinct) {
      if (!distinct || slots_.size() != relation_.nodes.size()) {
        std::sort(relation_.keys.begin(), relation_.keys.end());
        relation_.keys.erase(std::unique(relation_.keys.begin(), relation_.keys.end()), relation_.keys.end());
      }
      builder_->network_.relations.push_back(std::move(relation_));
    }

   private:
    Builder* builder_;
    std::vector<int> slots_, first_, shifts_;
    Relation relation_;
  };

  // The term f(a, b); pairs for which it is negative may not stand together.
  template <typename F>
  Term Combine(const Term& a, const Term& b, F f) {
    if (a.values.size() * b.values.size() > max_rows_) throw TooLarge();
    Distinct results(a.values.size() * b.values.size());
    for (int64_t x : a.values) {
      for (int64_t y : b.values) results.Add(f(x, y));
    }
    Values values = results.Sorted();
    const std::vector<int> places = results.Places(values);
    Term out = Make(std::move(values));
    Rows rows(this, {a.node, b.node, out.node});
    size_t at = 0;
    for (size_t i = 0; i < a.values.size(); ++i) {
      for (size_t j = 0; j < b.values.size(); ++j)
        rows.Add({static_cast<int>(i), static_cast<int>(j), places[at++]});
    }
    rows.Finish(true);
    return out;
  }

  // The pairs for which `holds`.
  template <typename F>
  void Relate(const Term& a, const Term& b, F holds) {
    Rows rows(this, {a.node, b.node});
    for (size_t i = 0; i < a.values.size(); ++i) {
      for (size_t j = 0; j < b.values.size(); ++j) {
        if (holds(a.values[i], b.values[j])) rows.Add({static_cast<int>(i), static_cast<int>(j)});
      }
    }
    rows.Finish(true);
  }

  void Translate(const Equal&) { TRITOGEN_CHECK(false && "equal variables are one by now"); }

  void Translate(const Broadcast& c) {
    const Term out = TermOf(c.out), a = TermOf(c.a), b = TermOf(c.b);
    Rows rows(this, {c.out, c.a, c.b});
    const int one_a = StateOf(a.values, 1), one_b = StateOf(b.values, 1);
    for (size_t i = 0; i < out.values.size(); ++i) {
      const int o = static_cast<int>(i);
      const int in_a = StateOf(a.values, out.values[i]), in_b = StateOf(b.values, out.values[i]);
      rows.Add({o, in_a, in_b});
      if (out.values[i] == 1) continue;
      rows.Add({o, one_a, in_b});
      rows.Add({o, in_a, one_b});
    }
    rows.Finish(true);
  }

  void Translate(const Divides& c) {
    auto term = [&](const Operand& o) { return o.var < 0 ? Constant(o.number) : TermOf(o.var); };
    Relate(term(c.divisor), term(c.number), [](int64_t d, int64_t n) { return d > 0 && n % d == 0; });
  }

  Term Constant(int64_t value) { return Make({value}); }

  void Translate(const Window& c) {
    TabulateWindow(c.out, c.in, {c.kernel, c.stride, c.padding, c.dilation},
                   [](int64_t in, const Values& v) { return WindowOut(in, v[0], v[1], v[2], v[3]); });
  }

  void Translate(const TransposedWindow& c) {
    TabulateWindow(
        c.out, c.in, {c.kernel, c.stride, c.padding, c.dilation, c.extra},
        [](int64_t in, const Values& v) { return TransposedOut(in, v[0], v[1], v[2], v[3], v[4]); });
  }

  // Attributes that are numbers take no part in the relation.
  template <typename F>
  void TabulateWindow(Var out_var, Var in_var, const std::vector<Operand>& attributes, F f) {
    const Term out = TermOf(out_var), in = TermOf(in_var);
    std::vector<int> nodes{out_var, in_var};
    std::vector<Term> free;
    Values values(attributes.size());
    std::vector<size_t> place;  // of each free attribute among all
    for (size_t i = 0; i < attributes.size(); ++i) {
      values[i] = attributes[i].number;
      if (attributes[i].var < 0) continue;
      nodes.push_back(attributes[i].var);
      free.push_back(TermOf(attributes[i].var));
      place.push_back(i);
    }
    Rows rows(this, nodes);
    std::vector<int> states(nodes.size());
    while (true) {
      for (size_t a = 0; a < free.size(); ++a) values[place[a]] = free[a].values[states[a + 2]];
      for (size_t x = 0; x < in.values.size(); ++x) {
        const int64_t size = f(in.values[x], values);
        if (size < 1) continue;
        states[0] = StateOf(out.values, size);
        states[1] = static_cast<int>(x);
        rows.Add(states);
      }
      size_t i = 0;
      for (; i < free.size() && ++states[i + 2] == static_cast<int>(free[i].values.size()); ++i)
        states[i + 2] = 0;
      if (i == free.size()) break;
    }
    rows.Finish(true);
  }

  void Translate(const Linear& c) {
    auto scaled = [&](const Linear::Term& t) {
      Term term = TermOf(t.var);
      for (int64_t& value : term.values) value *= t.coefficient;
      return term;
    };
    Term sum = scaled(c.terms[0]);
    for (size_t i = 1; i + 1 < c.terms.size(); ++i)
      sum = Combine(sum, scaled(c.terms[i]), [](int64_t a, int64_t b) { return a + b; });
    Relate(sum, scaled(c.terms.back()), [&](int64_t a, int64_t b) {
      return c.at_most ? a + b + c.constant <= 0 : a + b + c.constant == 0;
    });
  }

  void Translate(const Product& c) {
    const Term left = ProductOf(c.left, c.left_scale), right = ProductOf(c.right, c.right_scale);
    Rows rows(this, {left.node, right.node});
    for (size_t i = 0; i < left.values.size(); ++i) {
      if (left.values[i] < kUnbounded) rows.Add({static_cast<int>(i), StateOf(right.values, left.values[i])});
    }
    rows.Finish(true);
  }

  Term ProductOf(const std::vector<Var>& vars, int64_t scale) {
    if (vars.empty()) return Constant(scale);
    Term product = TermOf(vars[0]);
    for (size_t i = 1; i < vars.size(); ++i) product = Combine(product, TermOf(vars[i]), SaturatingProduct);
    for (int64_t& value : product.values) value = SaturatingProduct(value, scale);
    return product;
  }

  void Translate(const Bound& bound);
  int64_t BinOf(int64_t value) const {
    const double per_octave = precision_ == Precision::kQuarterOctave ? 4 : 1;
    return std::lround(std::floor(std::log2(value) * per_octave));
  }
  Term Binned(const Term& term);
  Term Multiply(const Term& a, const Term& b, const Values& boundaries, int64_t high);

  const Component& component_;
  Precision precision_;
  size_t max_rows_;
  Network network_;
  std::map<std::pair<int, int64_t>, Term> binned_;  // by node and largest value: x and x² differ
};

// Numbers at which what may follow changes: two partial products between the same two boundaries behave alike
// for all further factors. From the last factor backwards: p·x ≤ b exactly when p ≤ ⌊b / x⌋.
std::vector<Values> BoundariesOf(const std::vector<Term>& factors, int64_t low, int64_t high) {
  std::vector<Values> boundaries(factors.size());
  Values next;
  if (low > 0) next.push_back(low - 1);
  if (high < kUnbounded) next.push_back(high);
  for (size_t i = factors.size(); i-- > 1;) {
    Distinct quotients(0);
    for (int64_t x : factors[i].values) {
      int64_t last = -1;  // quotients of ascending numbers ascend
      for (int64_t b : next) {
        if (const int64_t quotient = b / x; quotient != last) quotients.Add(last = quotient);
      }
    }
    Values mine = quotients.Sorted();
    boundaries[i - 1] = mine;
    if (mine.size() > kMostBoundaries) break;  // so many that they would not merge much
    next = std::move(mine);
  }
  return boundaries;
}

// The product of two terms, products that behave alike merged; those that exceed `high` are left out.
Term Builder::Multiply(const Term& a, const Term& b, const Values& boundaries, int64_t high) {
  if (a.values.size() * b.values.size() > max_rows_) throw TooLarge();
  auto kind = [&](int64_t product) -> int64_t {
    if (precision_ != Precision::kExact) return BinOf(product);
    if (boundaries.empty()) return product;
    return std::lower_bound(boundaries.begin(), boundaries.end(), product) - boundaries.begin();
  };
  struct Row {
    int64_t product;
    int a, b;
  };
  std::vector<Row> all;
  for (size_t i = 0; i < a.values.size(); ++i) {
    for (size_t j = 0; j < b.values.size(); ++j) {
      const int64_t product = SaturatingProduct(a.values[i], b.values[j]);
      if (product > high) break;  // values ascend
      all.push_back({product, static_cast<int>(i), static_cast<int>(j)});
    }
  }
  std::sort(all.begin(), all.end(), [](const Row& x, const Row& y) { return x.product < y.product; });
  Values states;  // the least product of each kind
  std::vector<int> state_of;
  int64_t last = -1;
  for (const Row& row : all) {
    if (states.empty() || (row.product != states.back() && kind(row.product) != last)) {
      states.push_back(row.product);
      last = kind(row.product);
    }
    state_of.push_back(static_cast<int>(states.size()) - 1);
  }
  if (states.empty()) states.push_back(high);  // a node without rows: no solution
  Term out = Make(std::move(states));
  Rows rows(this, {a.node, b.node, out.node});
  for (size_t i = 0; i < all.size(); ++i) rows.Add({all[i].a, all[i].b, state_of[i]});
  rows.Finish(true);
  return out;
}

// A factor of many values with those of one bin merged, each standing for the least of them.
Term Builder::Binned(const Term& term) {
  auto [known, fresh] = binned_.emplace(std::pair(term.node, term.values.back()), term);
  if (!fresh) return known->second;
  Values least;
  std::vector<int> bin_of;
  for (int64_t value : term.values) {
    if (least.empty() || BinOf(value) != BinOf(least.back())) least.push_back(value);
    bin_of.push_back(static_cast<int>(least.size()) - 1);
  }
  if (least.size() == term.values.size()) return term;
  Term out = Make(std::move(least));
  Rows rows(this, {term.node, out.node});
  for (size_t i = 0; i < bin_of.size(); ++i) rows.Add({static_cast<int>(i), bin_of[i]});
  rows.Finish(true);
  return known->second = out;
}

void Builder::Translate(const Bound& bound) {
  std::vector<Term> factors;
  int64_t high = bound.high, low = bound.low;
  for (size_t i = 0; i < bound.vars.size();) {  // x·x is one factor of squares
    size_t end = i;
    Term factor = TermOf(bound.vars[i]);
    const Values base = factor.values;
    for (++end; end < bound.vars.size() && bound.vars[end] == bound.vars[i]; ++end) {
      for (size_t v = 0; v < base.size(); ++v)
        factor.values[v] = SaturatingProduct(factor.values[v], base[v]);
    }
    for (const Domain::Range& cell : network_.cells[bound.vars[i]]) network_.exact &= cell.low == cell.high;
    const bool bin = precision_ != Precision::kExact && precision_ != Precision::kUnbounded;
    factors.push_back(bin ? Binned(factor) : std::move(factor));
    i = end;
  }
  network_.exact &= precision_ == Precision::kExact;
  if (precision_ == Precision::kUnbounded) return;
  if (!network_.exact) low = 0;  // states stand for their least product
  if (low == 0 && high == kUnbounded) return;
  const std::vector<Values> boundaries = BoundariesOf(factors, low, high);
  Term product = factors[0];
  for (size_t i = 1; i + 1 < factors.size(); ++i)
    product = Multiply(product, factors[i], boundaries[i], high);
  if (factors.size() == 1) factors.push_back(Constant(1));
  Relate(product, factors.back(), [&](int64_t a, int64_t b) {
    const int64_t all = SaturatingProduct(a, b);
    return low <= all && all <= high;
  });
}

}  // namespace

Network BuildNetwork(const Component& component, Precision precision, size_t max_rows) {
  return Builder(component, precision, max_rows).Build();
}

}  // namespace tritogen::synth
