#include "teach/ranges.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

namespace tritogen::teach {
namespace {

using Kind = Expression::Kind;

// Values behind the one that is asked about. Of a longer way to it nothing is known.
constexpr int kMostSteps = 200;
// Float32 holds all integers up to here.
constexpr double kExact = 1 << 24;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Range Truncated(const Range& range) {
  return {std::trunc(range.lo), std::trunc(range.hi)};
}

// The range in another dtype; nothing where that holds other numbers.
std::optional<Range> In(Dtype want, Dtype have, const std::optional<Range>& range) {
  if (!range || want == have) return range;
  if (want == Dtype::kBool) return Range{0, 1};
  if (IsFloating(want)) {
    const bool exact = want == Dtype::kFloat64 || (want == Dtype::kFloat32 && have != Dtype::kFloat64);
    return exact && range->lo >= -kExact && range->hi <= kExact ? range : std::nullopt;
  }
  const Range whole = Truncated(*range);
  return whole.Fits(want) ? std::optional(whole) : std::nullopt;
}

// What a comparison with a number says of an integer, or of any number that is not NaN.
std::optional<Range> Compared(std::string_view op, double number, bool integer) {
  const double below = integer ? std::ceil(number) - 1 : std::nextafter(number, -kInfinity);
  const double above = integer ? std::floor(number) + 1 : std::nextafter(number, kInfinity);
  if (op == "<") return Range{-kInfinity, below};
  if (op == "<=") return Range{-kInfinity, number};
  if (op == ">") return Range{above, kInfinity};
  if (op == ">=") return Range{number, kInfinity};
  if (op == "==") return Range{number, number};
  return std::nullopt;
}

// The comparison that says the same with its sides exchanged, or the contrary.
std::string_view Other(std::string_view op, bool exchanged) {
  constexpr std::array<std::array<std::string_view, 3>, 6> kOthers = {{{"<", ">", ">="},
                                                                       {"<=", ">=", ">"},
                                                                       {">", "<", "<="},
                                                                       {">=", "<=", "<"},
                                                                       {"==", "==", "!="},
                                                                       {"!=", "!=", "=="}}};
  for (const auto& [of, with_sides_exchanged, contrary] : kOthers) {
    if (op == of) return exchanged ? with_sides_exchanged : contrary;
  }
  return "";
}

std::optional<Dtype> CastDtype(std::string_view name) {
  if (name == "tl.int64") return Dtype::kInt64;
  if (name == "tl.int32") return Dtype::kInt32;
  if (name == "tl.float32") return Dtype::kFloat32;
  if (name == "tl.float64") return Dtype::kFloat64;
  return std::nullopt;
}

}  // namespace

bool Range::Fits(Dtype integer) const {
  if (integer == Dtype::kInt64) return lo >= -0x1p62 && hi <= 0x1p62;
  return integer == Dtype::kInt32 && lo >= -0x1p31 && hi < 0x1p31;
}

Dtype Ranges::HeldBy(const View& view) const {
  return view.prim < 0 ? Dtype::kInt32 : ComputeDtype(graph_[view.prim].dtype);
}

std::optional<Range> Ranges::Of(const View& view) {
  if (facts_.empty()) steps_ = 0;
  if (!view.guards.empty() || ++steps_ > kMostSteps) return std::nullopt;
  std::optional<Range> range = Computed(view);
  for (const Fact& fact : facts_) {
    if (!ReadAlike(fact.view, view)) continue;
    if (!range) range = Range{-kInfinity, kInfinity};
    range = Range{std::max(range->lo, fact.range.lo), std::min(range->hi, fact.range.hi)};
  }
  return range;
}

std::optional<Range> Ranges::Computed(const View& view) {
  if (view.prim == kElementNumber) {
    Range range{static_cast<double>(view.offset), static_cast<double>(view.offset)};
    for (size_t i = 0; i < view.sizes.size(); ++i)
      (view.strides[i] < 0 ? range.lo : range.hi) +=
          static_cast<double>(view.strides[i]) * static_cast<double>(view.sizes[i] - 1);
    return range;
  }
  const Prim& prim = graph_[view.prim];
  if (prim.dtype == Dtype::kBool) return Range{0, 1};
  // Numbers of half types may be rounded up to the next one when they are stored.
  if (prim.kind != PrimKind::kPointwise || IsHalf(prim.dtype)) return std::nullopt;
  const auto e = ParseExpression(prim.expr);
  return e ? In(ComputeDtype(prim.dtype), prim.held, Of(*e, {prim, view})) : std::nullopt;
}

std::optional<Range> Ranges::Of(const Expression& e, const Reading& in) {
  switch (e.kind) {
    case Kind::kNumber:
      return std::isnan(e.number) ? std::nullopt : std::optional(Range{e.number, e.number});
    case Kind::kOperand:
      return OfOperand(e.operand, in);
    case Kind::kCast: {
      const auto dtype = CastDtype(e.name);
      const Dtype have = IntegerDtype(e.in[0], in).value_or(Dtype::kFloat64);
      return dtype ? In(*dtype, have, Of(e.in[0], in)) : std::nullopt;
    }
    case Kind::kBinary:
      return OfBinary(e, in);
    case Kind::kCall:
      return OfCall(e, in);
    default:
      return std::nullopt;
  }
}

std::optional<Range> Ranges::OfOperand(size_t operand, const Reading& in) {
  const auto read = Compose(in.view, in.prim.operands[operand]);
  return read ? In(in.prim.compute[operand], HeldBy(*read), Of(*read)) : std::nullopt;
}

std::optional<Range> Ranges::OfCall(const Expression& e, const Reading& in) {
  if (e.IsCall("tl.where", 3)) return OfWhere(e, in);
  if (!e.IsCall("tl.floor", 1) && !e.IsCall("tl.ceil", 1)) return std::nullopt;
  const auto of = Of(e.in[0], in);
  if (!of) return of;
  return e.name == "tl.floor" ? Range{std::floor(of->lo), std::floor(of->hi)}
                              : Range{std::ceil(of->lo), std::ceil(of->hi)};
}

// Of each side what its elements have in common: the condition holds, or not.
std::optional<Range> Ranges::OfWhere(const Expression& e, const Reading& in) {
  std::optional<Range> sides[2];
  for (const bool holds : {true, false}) {
    const size_t before = facts_.size();
    Assume(e.in[0], in, holds);
    sides[holds ? 0 : 1] = Of(e.in[holds ? 1 : 2], in);
    Forget(before);
  }
  if (!sides[0] || !sides[1]) return std::nullopt;
  return Range{std::min(sides[0]->lo, sides[1]->lo), std::max(sides[0]->hi, sides[1]->hi)};
}

std::optional<Range> Ranges::OfBinary(const Expression& e, const Reading& in) {
  const auto dtype = IntegerDtype(e, in);
  const auto a = Of(e.in[0], in), b = Of(e.in[1], in);
  if (!dtype || !b) return std::nullopt;
  const bool by_number = b->lo == b->hi && b->lo > 0;
  if (e.IsBinary("%") && by_number) {  // which takes the sign of what is divided
    const bool positive = a && a->lo >= 0;
    return Range{positive ? 0 : 1 - b->lo, positive ? std::min(a->hi, b->lo - 1) : b->lo - 1};
  }
  if (!a) return std::nullopt;
  std::optional<Range> range;
  if (e.IsBinary("+")) range = Range{a->lo + b->lo, a->hi + b->hi};
  if (e.IsBinary("-")) range = Range{a->lo - b->hi, a->hi - b->lo};
  if (e.IsBinary("//") && by_number && a->lo >= 0)
    range = Range{std::floor(a->lo / b->lo), std::floor(a->hi / b->lo)};
  if (e.IsBinary("*") && a->Fits(Dtype::kInt64) && b->Fits(Dtype::kInt64)) {
    const auto [lo, hi] = std::minmax({a->lo * b->lo, a->lo * b->hi, a->hi * b->lo, a->hi * b->hi});
    range = Range{lo, hi};
  }
  return range && range->Fits(*dtype) ? range : std::nullopt;  // where it would pass its dtype's end
}

std::optional<Dtype> Ranges::IntegerDtype(const Expression& e, const Reading& in) const {
  const auto integer = [](Dtype dtype) {
    return dtype == Dtype::kInt32 || dtype == Dtype::kInt64 ? std::optional(dtype) : std::nullopt;
  };
  if (e.kind == Kind::kOperand) return integer(in.prim.compute[e.operand]);
  if (e.kind == Kind::kNumber)
    return e.number == std::trunc(e.number) ? std::optional(Dtype::kInt32) : std::nullopt;
  if (e.kind == Kind::kCast) return CastDtype(e.name) ? integer(*CastDtype(e.name)) : std::nullopt;
  if (e.IsBinary("/") || e.in.empty()) return std::nullopt;
  Dtype widest = Dtype::kInt32;
  for (size_t i = e.IsCall("tl.where", 3) ? 1 : 0; i < e.in.size(); ++i) {
    const auto dtype = IntegerDtype(e.in[i], in);
    if (!dtype) return std::nullopt;
    if (*dtype == Dtype::kInt64) widest = *dtype;
  }
  return widest;
}

size_t Ranges::Assume(const View& condition, bool holds) {
  const size_t before = facts_.size();
  if (condition.prim < 0 || !condition.guards.empty() || ++steps_ > kMostSteps) return before;
  const Prim& prim = graph_[condition.prim];
  if (prim.kind != PrimKind::kPointwise) return before;
  if (const auto e = ParseExpression(prim.expr)) Assume(*e, {prim, condition}, holds);
  return before;
}

void Ranges::Assume(const Expression& condition, const Reading& in, bool holds) {
  if (condition.IsOperand()) {
    const auto read = Compose(in.view, in.prim.operands[condition.operand]);
    if (read && HeldBy(*read) == Dtype::kBool) Assume(*read, holds);
  } else if (condition.kind == Kind::kNot) {
    Assume(condition.in[0], in, !holds);
  } else if (condition.IsBinary(holds ? "&" : "|")) {
    for (const Expression& each : condition.in) Assume(each, in, holds);
  } else if (condition.IsBinary("!=") && condition.in[1].IsNumber(0) && condition.in[0].IsOperand() &&
             in.prim.compute[condition.in[0].operand] == Dtype::kBool) {
    Assume(condition.in[0], in, holds);
  } else if (condition.kind == Kind::kBinary) {
    AssumeCompared(condition, in, holds);
  }
}

// A value and a number. Of what may be NaN, the contrary says nothing.
void Ranges::AssumeCompared(const Expression& condition, const Reading& in, bool holds) {
  const bool exchanged = condition.in[1].IsOperand();
  const Expression &value = condition.in[exchanged ? 1 : 0], &number = condition.in[exchanged ? 0 : 1];
  if (!value.IsOperand() || number.kind != Kind::kNumber) return;
  const auto read = Compose(in.view, in.prim.operands[value.operand]);
  if (!read || !read->guards.empty()) return;
  const Dtype compute = in.prim.compute[value.operand], held = HeldBy(*read);
  const bool integer = !IsFloating(held);
  // Rounded for the comparison, it may be another number.
  if (compute != held && !(integer && compute == Dtype::kInt64)) return;
  if (!holds && !integer) return;
  std::string_view op = condition.name;
  if (exchanged) op = Other(op, true);
  if (!holds) op = Other(op, false);
  if (const auto range = Compared(op, number.number, integer)) facts_.push_back({*read, *range});
}

}  // namespace tritogen::teach
