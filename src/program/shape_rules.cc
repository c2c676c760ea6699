#include "program/shape_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "program/catalogue.h"

namespace tritogen {
namespace {

using Role = ShapeVariable::Role;

constexpr int64_t kLargestSize = int64_t{1} << 48;  // of a tensor's elements, and of numbers that make sizes

std::optional<int64_t> Product(const Terms& factors) {
  int64_t product = 1;
  for (const Term& factor : factors) {
    if (__builtin_mul_overflow(product, factor.number, &product) || product > kLargestSize)
      return std::nullopt;
  }
  return product;
}

bool AllKnown(const Terms& terms) {
  return std::all_of(terms.begin(), terms.end(), [](const Term& t) { return t.known(); });
}

}  // namespace

ShapeBuilder::ShapeBuilder(const OpForm& form) : form_(form) {
  for (size_t i = 0; i < form.tensors.size(); ++i) {
    Terms sizes = form.tensors[i];
    for (size_t axis = 0; axis < sizes.size(); ++axis) {
      if (sizes[axis] == kAnySize) {
        const int var = Variable(Role::kOperand, static_cast<int>(i), static_cast<int>(axis),
                                 fmt::format("t{}[{}]", i, axis), 1, kUnboundedSize);
        sizes[axis] = {var, 0};
      }
    }
    system_.operands.push_back(std::move(sizes));
  }
}

int ShapeBuilder::Variable(Role role, int index, int axis, std::string name, int64_t low, int64_t high) {
  system_.variables.push_back({role, index, axis, std::move(name), "", low, high});
  return static_cast<int>(system_.variables.size()) - 1;
}

bool ShapeBuilder::Has(std::string_view tensor) const {
  return AsRef((*form_.args)[tensor]) != nullptr;
}

const Terms& ShapeBuilder::In(std::string_view tensor) const {
  static const Terms scalar;  // a number where a tensor may stand
  const NodeRef* ref = AsRef((*form_.args)[tensor]);
  return ref == nullptr ? scalar : system_.operands.at(ref->id);
}

std::vector<Terms> ShapeBuilder::List(std::string_view tensors) const {
  std::vector<Terms> all;
  ForEachRef((*form_.args)[tensors], [&](NodeRef ref) { all.push_back(system_.operands.at(ref.id)); });
  return all;
}

const Terms& ShapeBuilder::Tensor(NodeRef ref) const {
  return system_.operands.at(ref.id);
}

int64_t ShapeBuilder::Int(std::string_view name, int64_t otherwise) const {
  return AsInt((*form_.args)[name]).value_or(otherwise);
}

bool ShapeBuilder::Flag(std::string_view name) const {
  return AsBool((*form_.args)[name], false);
}

bool ShapeBuilder::Given(std::string_view name) const {
  const Arg& arg = (*form_.args)[name];
  const Arg::List* list = AsList(arg);
  return !IsNone(arg) && (list == nullptr || !list->empty());
}

std::vector<int64_t> ShapeBuilder::Ints(std::string_view name) const {
  return AsInts((*form_.args)[name]).value_or(std::vector<int64_t>{});
}

int ShapeBuilder::Axis(std::string_view name, int rank) {
  auto axis = AsInt((*form_.args)[name]);
  if (!axis) {
    Fail(fmt::format("{} must be an integer", name));
    return 0;
  }
  return Wrap(*axis, rank);
}

int ShapeBuilder::Wrap(int64_t axis, int rank) {
  const int64_t wide = std::max(rank, 1);  // dimension 0 of a tensor without dimensions is allowed
  if (axis < -wide || axis >= wide) {
    Fail(fmt::format("dimension {} of a tensor of rank {}", axis, rank));
    return 0;
  }
  return static_cast<int>(axis < 0 ? axis + wide : axis);
}

Term ShapeBuilder::Attribute(std::string_view name, int64_t otherwise) {
  Terms terms = Attributes(name, 1, otherwise);
  return terms.empty() ? Term::Of(otherwise) : terms[0];
}

Terms ShapeBuilder::Attributes(std::string_view name, int count, int64_t otherwise) {
  if (auto found = attributes_.find(name); found != attributes_.end()) return found->second;
  std::vector<int64_t> values = Ints(name);
  if (values.empty() && count > 0) values.assign(count, otherwise);
  if (count > 0 && values.size() == 1) values.assign(count, values[0]);
  if (count > 0 && values.size() != static_cast<size_t>(count)) {
    Fail(fmt::format("{} must have {} items", name, count));
    values.assign(count, otherwise);
  }
  for (int64_t& value : values) {
    if (value >= -kLargestSize && value <= kLargestSize) continue;
    Fail(fmt::format("{} is too large", name));
    value = 1;
  }
  Terms terms;
  const bool free = form_.free.count(name) > 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!free) {
      terms.push_back(Term::Of(values[i]));
      continue;
    }
    const ParamSpec* spec = form_.row->SpecOf(name);
    const int at = Variable(Role::kAttribute, 0, static_cast<int>(i), fmt::format("{}[{}]", name, i),
                            spec != nullptr ? spec->low : 1, spec != nullptr ? spec->high : kUnboundedSize);
    system_.variables[at].attribute = name;
    terms.push_back({at, 0});
  }
  return attributes_.emplace(name, terms).first->second;
}

Term ShapeBuilder::Unknown(std::string name, int64_t low) {
  return {Variable(Role::kAuxiliary, 0, 0, std::move(name), low, kUnboundedSize), 0};
}

Term ShapeBuilder::Broadcasted(Term a, Term b) {
  if (a.known() && b.known()) {
    Require(a.number == b.number || a.number == 1 || b.number == 1,
            fmt::format("sizes {} and {} do not broadcast", a.number, b.number));
    return a.number == 1 ? b : a;
  }
  if (a == b || b == Term::Of(1)) return a;
  if (a == Term::Of(1)) return b;
  Term out = Unknown("broadcast");
  system_.relations.push_back(relation::Broadcast{out, a, b});
  return out;
}

Terms ShapeBuilder::BroadcastedShapes(const Terms& a, const Terms& b) {
  const Terms& longer = a.size() >= b.size() ? a : b;
  const Terms& shorter = a.size() >= b.size() ? b : a;
  Terms out = longer;
  const size_t lead = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) out[lead + i] = Broadcasted(longer[lead + i], shorter[i]);
  return out;
}

Term ShapeBuilder::Times(const Terms& factors) {
  if (factors.size() == 1) return factors[0];
  if (AllKnown(factors)) {
    auto product = Product(factors);
    Require(product.has_value(), "a size is too large");
    return Term::Of(product.value_or(0));
  }
  Term out = Unknown("product");
  system_.relations.push_back(relation::Product{{out}, factors});
  return out;
}

Term ShapeBuilder::Over(Term number, Term divisor, std::string_view what) {
  if (number.known() && divisor.known()) {
    if (!Require(divisor.number != 0 && number.number % divisor.number == 0,
                 fmt::format("{}: {} does not divide {}", what, divisor.number, number.number)))
      return number;
    return Term::Of(number.number / divisor.number);
  }
  if (divisor == Term::Of(1)) return number;
  Term out = Unknown("quotient");
  system_.relations.push_back(relation::Product{{number}, {out, divisor}});
  return out;
}

Term ShapeBuilder::Plus(const std::vector<std::pair<int64_t, Term>>& terms, int64_t constant, int64_t low) {
  relation::Linear sum{.constant = constant};
  for (const auto& [coefficient, term] : terms) {
    if (term.known()) {
      sum.constant += coefficient * term.number;
    } else {
      sum.terms.emplace_back(coefficient, term);
    }
  }
  if (sum.terms.empty()) {
    Require(sum.constant >= low, fmt::format("a size of {}", sum.constant));
    return Term::Of(sum.constant);
  }
  if (sum.terms.size() == 1 && sum.terms[0].first == 1 && sum.constant == 0) return sum.terms[0].second;
  Term out = Unknown("sum", low);
  sum.terms.emplace_back(-1, out);
  system_.relations.push_back(std::move(sum));
  return out;
}

bool ShapeBuilder::IsWindow(const WindowTerms& w) {
  return Require(w.stride.number > 0 && w.padding.number >= 0 && w.dilation.number > 0 && w.kernel.number > 0,
                 "stride, dilation and kernel must be positive");
}

Term ShapeBuilder::WindowOut(const WindowTerms& w, bool ceil) {
  if (!w.known()) {
    Require(!ceil, "how many windows ceil_mode gives depends on sizes");
    Term out = Unknown("windows");
    system_.relations.push_back(relation::Window{out, w.in, w.kernel, w.stride, w.padding, w.dilation});
    return out;
  }
  if (!IsWindow(w)) return Term::Of(1);
  const __int128 stride = w.stride.number, padding = w.padding.number, in = w.in.number;
  const __int128 room =
      in + 2 * padding - static_cast<__int128>(w.dilation.number) * (w.kernel.number - 1) - 1;
  if (!Require(room >= 0, "the window is larger than what it slides over")) return Term::Of(1);
  __int128 out = (room + (ceil ? stride - 1 : 0)) / stride + 1;
  if (ceil && (out - 1) * stride >= in + padding) --out;  // the last window starts inside
  return Term::Of(static_cast<int64_t>(out));
}

Term ShapeBuilder::WindowIn(const WindowTerms& w, Term extra) {
  if (!w.known() || !extra.known()) {
    Term out = Unknown("transposed");
    system_.relations.push_back(
        relation::TransposedWindow{out, w.in, w.kernel, w.stride, w.padding, w.dilation, extra});
    return out;
  }
  if (!IsWindow(w)) return Term::Of(1);
  const __int128 out = static_cast<__int128>(w.in.number - 1) * w.stride.number - 2 * w.padding.number +
                       static_cast<__int128>(w.dilation.number) * (w.kernel.number - 1) + extra.number + 1;
  Require(extra.number >= 0 && extra.number < std::max(w.stride.number, w.dilation.number),
          "output_padding must be smaller than stride or dilation");
  if (!Require(out >= 1, "padding leaves nothing of the output") ||
      !Require(out <= kLargestSize, "a size is too large"))
    return Term::Of(1);
  return Term::Of(static_cast<int64_t>(out));
}

void ShapeBuilder::RequireEqual(Term a, Term b, std::string_view what) {
  if (a == b) return;
  if (a.known() && b.known()) {
    Fail(fmt::format("{}: {} is not {}", what, a.number, b.number));
    return;
  }
  system_.relations.push_back(relation::Equal{a, b});
}

void ShapeBuilder::RequireEqual(const Terms& a, const Terms& b, std::string_view what) {
  if (!Require(a.size() == b.size(), what)) return;
  for (size_t i = 0; i < a.size(); ++i) RequireEqual(a[i], b[i], what);
}

void ShapeBuilder::RequireProduct(const Terms& left, const Terms& right, std::string_view what) {
  if (AllKnown(left) && AllKnown(right)) {
    auto a = Product(left), b = Product(right);
    Require(a && b && *a == *b, what);
    return;
  }
  system_.relations.push_back(relation::Product{left, right});
}

void ShapeBuilder::RequireDivides(Term divisor, Term number, std::string_view what) {
  if (divisor.known() && number.known()) {
    Require(divisor.number > 0 && number.number % divisor.number == 0, what);
    return;
  }
  system_.relations.push_back(relation::Divides{divisor, number});
}

void ShapeBuilder::RequireRange(Term term, int64_t low, int64_t high, std::string_view what) {
  if (term.known()) {
    Require(term.number >= low && term.number <= high, what);
    return;
  }
  system_.relations.push_back(relation::InRange{term, low, high});
}

void ShapeBuilder::RequireAtMost(const std::vector<std::pair<int64_t, Term>>& terms, int64_t constant,
                                 std::string_view what) {
  relation::Linear sum{.constant = constant, .at_most = true};
  for (const auto& [coefficient, term] : terms) {
    if (term.known()) {
      sum.constant += coefficient * term.number;
    } else {
      sum.terms.emplace_back(coefficient, term);
    }
  }
  if (sum.terms.empty()) {
    Require(sum.constant <= 0, what);
    return;
  }
  system_.relations.push_back(std::move(sum));
}

bool ShapeBuilder::Require(bool holds, std::string_view what) {
  if (!holds) Fail(std::string(what));
  return holds;
}

void ShapeBuilder::Result(Terms sizes) {
  Terms known = sizes;
  known.erase(std::remove_if(known.begin(), known.end(), [](const Term& t) { return !t.known(); }),
              known.end());
  const bool negative = std::any_of(known.begin(), known.end(), [](const Term& t) { return t.number < 0; });
  if (!Require(!negative, "a negative size") || !Require(Product(known).has_value(), "a result is too large"))
    return;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis].known()) continue;
    ShapeVariable& variable = system_.variables[sizes[axis].var];
    if (variable.role != Role::kAuxiliary) continue;  // an operand's size or an attribute shines through
    variable.role = Role::kResult;
    variable.index = static_cast<int>(system_.results.size());
    variable.axis = static_cast<int>(axis);
    variable.name = fmt::format("out{}[{}]", variable.index, axis);
    variable.low = std::max<int64_t>(variable.low, 1);
  }
  system_.results.push_back(std::move(sizes));
}

void ShapeBuilder::ResultAgain() {
  if (!system_.results.empty()) system_.results.push_back(system_.results.back());
}

void ShapeBuilder::Fail(std::string why) {
  if (system_.problem.empty()) system_.problem = std::move(why);
}

ShapeSystem ShapeBuilder::Take() {
  return std::move(system_);
}

ShapeSystem ConstraintsOf(const OpForm& form) {
  TRITOGEN_CHECK(form.row != nullptr && form.args != nullptr && form.row->shape != nullptr);
  ShapeBuilder builder(form);
  form.row->shape(builder);
  return builder.Take();
}

KnownShapes ShapesOf(const OpForm& form) {
  ShapeSystem system = ConstraintsOf(form);
  KnownShapes known{{}, system.problem};
  if (!known.problem.empty()) return known;
  for (const Terms& result : system.results) {
    TRITOGEN_CHECK(AllKnown(result));
    std::vector<int64_t> sizes;
    for (const Term& term : result) sizes.push_back(term.number);
    known.results.push_back(std::move(sizes));
  }
  return known;
}

}  // namespace tritogen
