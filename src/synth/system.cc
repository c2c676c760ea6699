#include "synth/system.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/overloaded.h"

namespace tritogen::synth {
namespace {

int64_t ValueOf(const Operand& operand, std::span<const int64_t> values) {
  return operand.var < 0 ? operand.number : values[operand.var];
}

int64_t ProductOf(int64_t scale, const std::vector<Var>& vars, std::span<const int64_t> values) {
  int64_t product = scale;
  for (Var var : vars) product = SaturatingProduct(product, values[var]);
  return product;
}

}  // namespace

int64_t SaturatingProduct(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kUnbounded : product;
}

int64_t WindowOut(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  const int64_t room = in + 2 * padding - dilation * (kernel - 1) - 1;
  return room < 0 || stride < 1 ? 0 : room / stride + 1;
}

int64_t TransposedOut(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                      int64_t extra) {
  if (extra >= std::max(stride, dilation)) return 0;
  return std::max<int64_t>(0, (in - 1) * stride - 2 * padding + dilation * (kernel - 1) + extra + 1);
}

Var System::Add(std::string name, Domain domain) {
  variables_.push_back({std::move(name), std::move(domain)});
  return static_cast<Var>(variables_.size() - 1);
}

void System::Restrict(Var var, const Domain& domain) {
  variables_[var].domain = variables_[var].domain.And(domain);
}

bool System::Holds(std::span<const int64_t> values) const {
  TRITOGEN_CHECK(values.size() == variables_.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (!variables_[i].domain.Contains(values[i])) return false;
  }
  for (const Constraint& constraint : constraints_) {
    if (!synth::Holds(constraint, values)) return false;
  }
  return true;
}

bool Holds(const Constraint& constraint, std::span<const int64_t> values) {
  return std::visit(
      Overloaded{
          [&](const Equal& c) { return values[c.a] == values[c.b]; },
          [&](const Broadcast& c) {
            const int64_t a = values[c.a], b = values[c.b], out = values[c.out];
            return (a == b && b == out) || (a == 1 && b == out) || (b == 1 && a == out);
          },
          [&](const Product& c) {
            const int64_t left = ProductOf(c.left_scale, c.left, values);
            return left < kUnbounded && left == ProductOf(c.right_scale, c.right, values);
          },
          [&](const Bound& c) {
            const int64_t product = ProductOf(c.scale, c.vars, values);
            return c.low <= product && product <= c.high;
          },
          [&](const Divides& c) {
            const int64_t divisor = ValueOf(c.divisor, values);
            return divisor > 0 && ValueOf(c.number, values) % divisor == 0;
          },
          [&](const Window& c) {
            const int64_t out = WindowOut(values[c.in], ValueOf(c.kernel, values), ValueOf(c.stride, values),
                                          ValueOf(c.padding, values), ValueOf(c.dilation, values));
            return out >= 1 && values[c.out] == out;
          },
          [&](const TransposedWindow& c) {
            const int64_t out = TransposedOut(values[c.in], ValueOf(c.kernel, values),
                                              ValueOf(c.stride, values), ValueOf(c.padding, values),
                                              ValueOf(c.dilation, values), ValueOf(c.extra, values));
            return out >= 1 && values[c.out] == out;
          },
          [&](const Linear& c) {
            int64_t sum = c.constant;
            for (const Linear::Term& term : c.terms) sum += term.coefficient * values[term.var];
            return c.at_most ? sum <= 0 : sum == 0;
          },
      },
      constraint);
}

void ForEachVariable(Constraint* constraint, const std::function<void(Var*)>& visit) {
  auto operand = [&](Operand* o) {
    if (o->var >= 0) visit(&o->var);
  };
  auto all = [&](std::vector<Var>* vars) {
    for (Var& var : *vars) visit(&var);
  };
  std::visit(Overloaded{
                 [&](Equal& c) { visit(&c.a), visit(&c.b); },
                 [&](Broadcast& c) { visit(&c.out), visit(&c.a), visit(&c.b); },
                 [&](Product& c) { all(&c.left), all(&c.right); },
                 [&](Bound& c) { all(&c.vars); },
                 [&](Divides& c) { operand(&c.divisor), operand(&c.number); },
                 [&](Window& c) {
                   visit(&c.out), visit(&c.in);
                   for (Operand* o : {&c.kernel, &c.stride, &c.padding, &c.dilation}) operand(o);
                 },
                 [&](TransposedWindow& c) {
                   visit(&c.out), visit(&c.in);
                   for (Operand* o : {&c.kernel, &c.stride, &c.padding, &c.dilation, &c.extra}) operand(o);
                 },
                 [&](Linear& c) {
                   for (Linear::Term& term : c.terms) visit(&term.var);
                 },
             },
             *constraint);
}

std::vector<Var> VariablesOf(const Constraint& constraint) {
  std::vector<Var> vars;
  ForEachVariable(const_cast<Constraint*>(&constraint), [&](Var* var) { vars.push_back(*var); });
  std::sort(vars.begin(), vars.end());
  vars.erase(std::unique(vars.begin(), vars.end()), vars.end());
  return vars;
}

std::string System::ToString(const Constraint& constraint) const {
  auto name = [&](Var var) -> const std::string& { return variables_[var].name; };
  auto operand = [&](const Operand& o) { return o.var < 0 ? fmt::format("{}", o.number) : name(o.var); };
  auto product = [&](int64_t scale, const std::vector<Var>& vars) {
    std::vector<std::string> parts;
    if (scale != 1 || vars.empty()) parts.push_back(fmt::format("{}", scale));
    for (Var var : vars) parts.push_back(name(var));
    return fmt::format("{}", fmt::join(parts, "·"));
  };
  return std::visit(
      Overloaded{
          [&](const Equal& c) { return fmt::format("{} = {}", name(c.a), name(c.b)); },
          [&](const Broadcast& c) {
            return fmt::format("{} = broadcast({}, {})", name(c.out), name(c.a), name(c.b));
          },
          [&](const Product& c) {
            return fmt::format("{} = {}", product(c.left_scale, c.left), product(c.right_scale, c.right));
          },
          [&](const Bound& c) {
            return fmt::format("{}{}{}", c.low > 0 ? fmt::format("{} ≤ ", c.low) : "",
                               product(c.scale, c.vars),
                               c.high < kUnbounded ? fmt::format(" ≤ {}", c.high) : "");
          },
          [&](const Divides& c) {
            return fmt::format("{} divides {}", operand(c.divisor), operand(c.number));
          },
          [&](const Window& c) {
            return fmt::format("{} = ⌊({} + 2·{} − {}·({} − 1) − 1) / {}⌋ + 1", name(c.out), name(c.in),
                               operand(c.padding), operand(c.dilation), operand(c.kernel), operand(c.stride));
          },
          [&](const TransposedWindow& c) {
            return fmt::format("{} = ({} − 1)·{} − 2·{} + {}·({} − 1) + {} + 1", name(c.out), name(c.in),
                               operand(c.stride), operand(c.padding), operand(c.dilation), operand(c.kernel),
                               operand(c.extra));
          },
          [&](const Linear& c) {
            std::string sum;
            for (const Linear::Term& term : c.terms)
              sum += fmt::format("{}{}·{}", sum.empty() ? "" : " + ", term.coefficient, name(term.var));
            return fmt::format("{} + {} {} 0", sum, c.constant, c.at_most ? "≤" : "=");
          },
      },
      constraint);
}

}  // namespace tritogen::synth
