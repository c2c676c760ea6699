#include "synth/image.h"

#include <algorithm>

#include "base/error.h"
#include "base/overloaded.h"

namespace tritogen::synth {
namespace {

constexpr size_t kCheap = size_t{1} << 20;  // combinations of values worth listing
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

std::optional<Domain> ImageOf(const Window& c, Var var, const DomainOf& domain) {
  if (var != c.out || var == c.in) return std::nullopt;
  const Values in = domain(c.in).Values();
  const Values kernels = Listed(c.kernel, domain), strides = Listed(c.stride, domain),
               paddings = Listed(c.padding, domain), dilations = Listed(c.dilation, domain);
  if (in.size() * kernels.size() * strides.size() * paddings.size() * dilations.size() > kCheap)
    return std::nullopt;
  Values all;
  for (int64_t k : kernels)
    for (int64_t s : strides)
      for (int64_t p : paddings)
        for (int64_t d : dilations)
          for (int64_t x : in) {
            if (int64_t out = WindowOut(x, k, s, p, d); out >= 1) all.push_back(out);
          }
  return Domain::Of(all);
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

std::optional<Domain> ImageOf(const Product& c, Var var, const DomainOf& domain) {
  const bool left = std::count(c.left.begin(), c.left.end(), var) == 1;
  const auto& own = left ? c.left : c.right;
  const auto& others = left ? c.right : c.left;
  if (own.size() != 1 || own[0] != var || std::count(others.begin(), others.end(), var) > 0)
    return std::nullopt;
  const int64_t own_scale = left ? c.left_scale : c.right_scale;
  Values products{left ? c.right_scale : c.left_scale};
  const int64_t most = SaturatingProduct(domain(var).max(), own_scale);
  for (Var other : others) {
    auto next = Combine(products, domain(other).Values(), [&](int64_t a, int64_t b) {
      return std::min(SaturatingProduct(a, b), SaturatingProduct(most, 2));  // larger ones are all one
    });
    if (!next) return std::nullopt;
    products = std::move(*next);
  }
  Values values;
  for (int64_t product : products) {
    if (product <= most && product % own_scale == 0) values.push_back(product / own_scale);
  }
  return Domain::Of(values);
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
  Values values(vars.back() + 1);
  for (Var other : vars) values[other] = domain(other).min();
  Values kept;
  for (int64_t value : domain(var).Values()) {
    values[var] = value;
    if (Holds(constraint, values)) kept.push_back(value);
  }
  return Domain::Of(kept);
}

std::optional<Domain> Image(const Constraint& constraint, Var var, const DomainOf& domain) {
  return std::visit(Overloaded{
                        [&](const Window& c) { return ImageOf(c, var, domain); },
                        [&](const Linear& c) { return ImageOf(c, var, domain); },
                        [&](const Product& c) { return ImageOf(c, var, domain); },
                        [&](const Broadcast& c) { return ImageOf(c, var, domain); },
                        [](const auto&) -> std::optional<Domain> { return std::nullopt; },
                    },
                    constraint);
}

}  // namespace tritogen::synth
