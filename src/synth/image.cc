#include "synth/image.h"

#include <algorithm>

#include "base/error.h"
#include "base/overloaded.h"

namespace tritogen::synth {
namespace {

constexpr size_t kCheap = size_t{1} << 20;  // combinations of values worth listing
constexpr int64_t kLargestOut = int64_t{1} << 26;
using Values = std::vector<int64_t>;

Values Listed(const Operand& operand, const DomainOf& domain) {
  return operand.var < 0 ? Values{operand.number} : domain(operand.var).Values();
}

// All f(a, b), sorted; nothing when there are too many.
template <typename F>
std::optional<Values> Combine(const Values& a, const Values& b, F f) {
  if (a.size() * b.size() > kCheap) return std::nullopt;
  Values all;
  all.reserve(a.size() * b.size());
  for (int64_t x : a) {
    for (int64_t y : b) all.push_back(f(x, y));
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

// The values of out = f(operands…), listed over all combinations.
std::optional<Domain> ImageOfWindow(Var var, Var out, Var in, const std::vector<Operand>& attributes,
                                    const DomainOf& domain,
                                    const std::function<int64_t(int64_t, const Values&)>& f) {
  if (var != out || var == in || domain(out).max() > kLargestOut) return std::nullopt;
  const Values sizes = domain(in).Values();
  std::vector<Values> lists;
  size_t combinations = sizes.size();
  for (const Operand& operand : attributes) {
    lists.push_back(Listed(operand, domain));
    combinations *= lists.back().size();
    if (combinations > kCheap) return std::nullopt;
  }
  std::vector<bool> seen(domain(out).max() + 1);
  Values values(lists.size()), all;
  std::vector<size_t> at(lists.size());
  for (size_t i = 0; i < lists.size();) {
    for (size_t l = 0; l < lists.size(); ++l) values[l] = lists[l][at[l]];
    for (int64_t x : sizes) {
      const int64_t size = f(x, values);
      if (size < 1 || size >= static_cast<int64_t>(seen.size()) || seen[size]) continue;
      seen[size] = true;
      all.push_back(size);
    }
    for (i = 0; i < lists.size() && ++at[i] == lists[i].size(); ++i) at[i] = 0;
  }
  return Domain::Of(all);
}

std::optional<Domain> ImageOf(const Window& c, Var var, const DomainOf& domain) {
  return ImageOfWindow(var, c.out, c.in, {c.kernel, c.stride, c.padding, c.dilation}, domain,
                       [](int64_t in, const Values& v) { return WindowOut(in, v[0], v[1], v[2], v[3]); });
}

std::optional<Domain> ImageOf(const TransposedWindow& c, Var var, const DomainOf& domain) {
  return ImageOfWindow(
      var, c.out, c.in, {c.kernel, c.stride, c.padding, c.dilation, c.extra}, domain,
      [](int64_t in, const Values& v) { return TransposedOut(in, v[0], v[1], v[2], v[3], v[4]); });
}

std::optional<Domain> ImageOf(const Linear& c, Var var, const DomainOf& domain) {
  if (c.at_most) return std::nullopt;
  Values sums{c.constant};
  int64_t own = 0;
  for (const Linear::Term& term : c.terms) {
    if (term.var == var) {
      own += term.coefficient;
      continue;
    }
    auto next = Combine(sums, domain(term.var).Values(),
                        [&](int64_t sum, int64_t x) { return sum + term.coefficient * x; });
    if (!next) return std::nullopt;
    sums = std::move(*next);
  }
  if (own == 0) return std::nullopt;
  Values values;
  for (int64_t sum : sums) {
    if (sum % own == 0) values.push_back(-sum / own);
  }
  return Domain::Of(values);
}

// All products of the variables' values and the scale; those above `most` are all counted as most + 1.
std::optional<Values> ProductsOf(const std::vector<Var>& vars, int64_t scale, int64_t most,
                                 const DomainOf& domain) {
  Values products{scale};
  for (Var var : vars) {
    auto next = Combine(products, domain(var).Values(),
                        [&](int64_t a, int64_t b) { return std::min(SaturatingProduct(a, b), most + 1); });
    if (!next) return std::nullopt;
    products = std::move(*next);
  }
  return products;
}

std::optional<Domain> ImageOf(const Product& c, Var var, const DomainOf& domain) {
  const bool left = std::count(c.left.begin(), c.left.end(), var) == 1;
  std::vector<Var> own = left ? c.left : c.right;
  const auto& others = left ? c.right : c.left;
  if (std::count(own.begin(), own.end(), var) != 1 || std::count(others.begin(), others.end(), var) > 0)
    return std::nullopt;
  std::erase(own, var);
  constexpr int64_t kMost = int64_t{1} << 48;  // beyond any product of sizes
  const auto numbers = ProductsOf(others, left ? c.right_scale : c.left_scale, kMost, domain);
  const auto divisors = ProductsOf(own, left ? c.left_scale : c.right_scale, kMost, domain);
  if (!numbers || !divisors) return std::nullopt;
  auto quotients = Combine(*numbers, *divisors, [](int64_t n, int64_t d) { return n % d == 0 ? n / d : 0; });
  if (!quotients) return std::nullopt;
  std::erase(*quotients, 0);
  return Domain::Of(*quotients);
}

std::optional<Domain> ImageOf(const Broadcast& c, Var var, const DomainOf& domain) {
  Values values;
  if (var != c.out) values.push_back(1);
  for (Var other : {c.out, c.a, c.b}) {
    if (other == var || (var != c.out && other != c.out)) continue;
    const Values more = domain(other).Values();
    values.insert(values.end(), more.begin(), more.end());
  }
  return Domain::Of(values);
}

}  // namespace

Domain Filter(const Constraint& constraint, Var var, const DomainOf& domain) {
  const std::vector<Var> vars = VariablesOf(constraint);
  if (const auto* bound = std::get_if<Bound>(&constraint); bound != nullptr && bound->vars.size() == 1)
    return domain(var).And(
        Domain::Interval((bound->low + bound->scale - 1) / bound->scale, bound->high / bound->scale));
  Domain candidates = domain(var);
  if (candidates.size() > kListed) {  // the others being known, most constraints give it as a function
    if (const auto image = Image(constraint, var, domain)) candidates = candidates.And(*image);
  }
  Values values(vars.back() + 1);
  for (Var other : vars) values[other] = domain(other).min();
  Values kept;
  for (int64_t value : candidates.Values()) {
    values[var] = value;
    if (Holds(constraint, values)) kept.push_back(value);
  }
  return Domain::Of(kept);
}

std::optional<Domain> Image(const Constraint& constraint, Var var, const DomainOf& domain) {
  return std::visit(Overloaded{
                        [&](const Window& c) { return ImageOf(c, var, domain); },
                        [&](const TransposedWindow& c) { return ImageOf(c, var, domain); },
                        [&](const Linear& c) { return ImageOf(c, var, domain); },
                        [&](const Product& c) { return ImageOf(c, var, domain); },
                        [&](const Broadcast& c) { return ImageOf(c, var, domain); },
                        [](const auto&) -> std::optional<Domain> { return std::nullopt; },
                    },
                    constraint);
}

}  // namespace tritogen::synth
