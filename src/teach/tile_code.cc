#include "teach/tile_code.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "program/triton_dtype.h"
#include "teach/count_text.h"
#include "teach/placed_parts.h"

namespace tritogen::teach {
namespace {

std::string Sum(const std::vector<std::string>& terms, int64_t offset, const std::vector<int64_t>& shape) {
  std::string text = fmt::format("{}", fmt::join(terms, " + "));
  for (const std::string& term : PlaceTerms(shape, std::abs(offset))) {
    if (offset < 0) {
      text += (text.empty() ? "-" : " - ") + term;
    } else {
      text += (text.empty() ? "" : " + ") + term;
    }
  }
  return text.empty() ? "0" : text;
}

// As one operand of whatever stands around it.
std::string InParentheses(const std::string& text) {
  if (text.find_first_of(" (") == std::string::npos) return text;
  // Whether the first parenthesis is closed by the last one.
  int depth = 0;
  size_t at = 0;
  do {
    depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
    ++at;
  } while (depth > 0 && at < text.size());
  return text.front() == '(' && at == text.size() ? text : "(" + text + ")";
}

// One digit of an axis with these dimensions, behind which there are `inner` elements:
// "(rows // (4 * 2) % 4)".
std::string DigitText(const AxisCode& axis, const Digit& digit, int64_t inner, int64_t total,
                      const std::vector<int64_t>& dimensions) {
  int64_t behind = 1;  // of the axis, elements for each of the index
  std::string index = WholeIndex(axis, dimensions);
  if (axis.line > 0 && inner % axis.line == 0) {
    behind = axis.line;
    index = axis.lines;
  } else if (axis.line > 0 && axis.line % (inner * digit.size) == 0) {
    total = axis.line;
    index = axis.index;
  }
  std::string text;
  if (inner > behind) text += " // " + CountOperand(FactorsAt(dimensions, behind, inner / behind));
  if (inner * digit.size != total) text += " % " + CountOperand(FactorsAt(dimensions, inner, digit.size));
  return text.empty() ? index : "(" + index + text + ")";
}

// Σ digit·stride over one axis, which has these dimensions, in a value of this shape:
// "(rows // (4 * 2) % 4) * (16 * 4)".
std::vector<std::string> DigitTerms(const AxisCode& axis, const std::vector<Digit>& digits,
                                    const std::vector<int64_t>& dimensions, const std::vector<int64_t>& shape,
                                    std::set<std::string>* divided) {
  const auto shifts = [](int64_t by) { return (by & (by - 1)) == 0; };
  int64_t total = 1;
  for (const Digit& digit : digits) total *= digit.size;
  std::vector<std::string> terms;
  int64_t inner = total;
  for (const Digit& digit : digits) {
    inner /= digit.size;
    if (digit.stride == 0) continue;
    const std::string term = DigitText(axis, digit, inner, total, dimensions);
    const bool outermost = inner * digit.size == total;
    if (!(shifts(inner) && (outermost || shifts(digit.size)))) divided->insert(term);
    terms.push_back(digit.stride == 1 ? term : fmt::format("{} * {}", term, StrideText(shape, digit.stride)));
  }
  return terms;
}

bool AnyStride(const std::vector<Digit>& digits) {
  return std::any_of(digits.begin(), digits.end(), [](const Digit& d) { return d.stride != 0; });
}

// The text with {0}, {1}… replaced.
std::string FilledIn(std::string text, const std::vector<std::string>& in) {
  for (size_t i = in.size(); i-- > 0;) {
    std::string hole = fmt::format("{{{}}}", i);
    for (size_t at = 0; (at = text.find(hole, at)) != std::string::npos; at += in[i].size()) {
      text.replace(at, hole.size(), in[i]);
    }
  }
  return text;
}

// The index that a guard of a value of these sizes looks at, as a view whose elements are its values.
View GuardedIndex(const std::vector<int64_t>& sizes, const Guard& guard) {
  View index{kElementNumber, 0, sizes, std::vector<int64_t>(sizes.size(), 0), {}};
  index.strides[guard.dim] = 1;
  return index;
}

std::vector<std::string> GuardTexts(const std::vector<int64_t>& sizes, const Guard& guard,
                                    const std::string& index) {
  std::vector<std::string> texts;
  if (guard.lo > 0) texts.push_back(fmt::format("({} >= {})", index, guard.lo));
  if (guard.hi < sizes[guard.dim]) texts.push_back(fmt::format("({} < {})", index, guard.hi));
  return texts;
}

bool Names(const Prim& prim, size_t operand) {
  std::string hole = fmt::format("{{{}}}", operand);
  return prim.expr.find(hole) != std::string::npos || prim.valid.find(hole) != std::string::npos;
}

}  // namespace

std::string WholeIndex(const AxisCode& axis, const std::vector<int64_t>& dimensions) {
  if (axis.line == 0) return axis.index;
  const std::string line = CountOperand(FactorsAt(dimensions, 1, axis.line));
  return fmt::format("({} * {} + {})", axis.lines, line, axis.index);
}

void Lines::Add(const std::string& line) {
  text_ += std::string(4 * indent_, ' ') + line + "\n";
}

std::string Converted(const std::string& variable, Dtype have, Dtype want) {
  if (have == want) return variable;
  if (want == Dtype::kBool) return fmt::format("({} != 0)", variable);
  return fmt::format("{}.to({})", variable, TritonDtype(want));
}

TileCode::TileCode(const Graph& graph, const Group& group, const std::vector<std::string>& buffers)
    : graph_(graph),
      group_(group),
      buffers_(buffers),
      names_{"tl", "triton", "libdevice", "torch", "range", "min", "float"},
      domain_(&group.domain) {
  // What is only computed has no address, however many elements it has.
  const auto reach = [&](const View& view) { wide_ |= Reach(view) >= kNarrowLimit; };
  const auto read = [&](auto& self, const View& view) -> void {
    if (!IsComputed(view)) return reach(view);
    if (group_.per_row.count(view.prim) > 0) return;  // its own operands are looked at
    for (const View& operand : graph_[view.prim].operands) self(self, operand);
  };
  for (const Segment& segment : group.domain) wide_ |= group.Size(segment.axis) >= kNarrowLimit;
  for (const PrimId member : group.members) {
    for (const View& view : graph_[member].operands) read(read, view);
    if (IsScatter(member)) reach(graph_.Whole(member));
  }
  for (const PrimId stored : group.stores) reach(PlaceOfPart(graph, stored).value_or(graph_.Whole(stored)));
}

std::string TileCode::Pointer(PrimId id) {
  auto found = pointer_names_.find(id);
  if (found != pointer_names_.end()) return found->second;
  pointers_.push_back(id);
  return pointer_names_[id] = names_.Unique(buffers_[id] + "_ptr");
}

TileCode::Place TileCode::PlaceOf(const View& view, const std::vector<Segment>& domain, bool per_row) const {
  auto digits = DigitsOf(view, domain, per_row);
  TRITOGEN_CHECK(digits.has_value());
  Place place{"", "", {}};
  const std::vector<int64_t> shape = view.prim < 0 ? std::vector<int64_t>{} : graph_[view.prim].Shape();
  std::vector<std::string> terms, masks;
  std::vector<AxisKind> seen;
  // Which axes matter: those the address moves along, and those that a guard looks at. Where the address does
  // not move, no guard keeps it inside.
  std::vector<std::string> guards;
  std::vector<View> looked = {view};
  for (const Guard& guard : view.guards) {
    if (view.strides[guard.dim] == 0) continue;
    const View index = GuardedIndex(view.sizes, guard);
    for (std::string& text : GuardTexts(view.sizes, guard, PlaceOf(index, domain, per_row).offset))
      guards.push_back(std::move(text));
    looked.push_back(index);
  }
  for (const Segment& segment : domain) {
    AxisKind axis = segment.axis;
    if (std::count(seen.begin(), seen.end(), axis) > 0 || (per_row && axis == AxisKind::kColumn)) continue;
    seen.push_back(axis);
    const AxisCode& code = axes.at(axis);
    auto own = AxisDigits(*digits, domain, per_row, axis);
    for (std::string& term : DigitTerms(code, own, FactorsOf(domain, axis), shape, &divided_))
      terms.push_back(std::move(term));
    bool moves = false;
    for (const View& each : looked)
      moves |= AnyStride(AxisDigits(*DigitsOf(each, domain, per_row), domain, per_row, axis));
    if (!moves) continue;
    if (!code.mask.empty()) masks.push_back(code.mask);
    place.axes.Add(axis);
  }
  masks.insert(masks.end(), guards.begin(), guards.end());
  place.offset = Sum(terms, view.offset, shape);
  place.mask = fmt::format("{}", fmt::join(masks, " & "));
  return place;
}

void TileCode::BeginOperand(const std::vector<Segment>& domain) {
  domain_ = &domain;
  outside_kept_ = kept_;
  outside_loads_ = loads_kept_;
}

void TileCode::EndOperand() {
  domain_ = &group_.domain;
  kept_ = std::move(outside_kept_);
  loads_kept_ = std::move(outside_loads_);
  EndLoop();
}

std::string TileCode::Load(const View& view, const Place& place) {
  std::string pointer = Pointer(view.prim);
  std::string address = place.offset == "0" ? pointer : pointer + " + " + place.offset;
  if (place.mask.empty()) return fmt::format("tl.load({})", address);
  return fmt::format("tl.load({}, mask={}, other={})", address, place.mask,
                     IsFloating(graph_[view.prim].dtype) ? "0.0" : "0");
}

TileCode::Variable TileCode::LoadOnce(const View& view, bool per_row) {
  Place place = PlaceOf(view, *domain_, per_row);
  if (view.prim == kElementNumber) {
    const Dtype dtype = wide_ ? Dtype::kInt64 : Dtype::kInt32;
    // A bare number has no `.to`.
    const bool constant = place.offset.find_first_not_of("0123456789") == std::string::npos;
    return {constant ? fmt::format("tl.full([], {}, {})", place.offset, TritonDtype(dtype))
                     : InParentheses(place.offset),
            dtype, place.axes};
  }
  std::string key = fmt::format("{} {} {}", view.prim, place.offset, place.mask);
  for (auto* cache : {&loads_kept_, &loads_in_loop_}) {
    if (auto found = cache->find(key); found != cache->end()) return found->second;
  }
  bool inside = place.axes.Columns() && body != outer;
  const Prim& prim = graph_[view.prim];
  Variable variable{names_.Unique(buffers_[view.prim]), ComputeDtype(prim.dtype), place.axes};
  std::string text = Load(view, place);
  (inside ? body : outer)
      ->Add(fmt::format("{} = {}", variable.name, Converted(text, prim.dtype, variable.dtype)));
  return (inside ? loads_in_loop_ : loads_kept_)[key] = variable;
}

TileCode::Variable TileCode::Find(PrimId id) const {
  auto found = kept_.find(id);
  return found != kept_.end() ? found->second : in_loop_.at(id);
}

bool TileCode::IsComputed(const View& view) const {
  return view.prim >= 0 && (group_.per_row.count(view.prim) > 0 || graph_[view.prim].inlined);
}

TileCode::Variable TileCode::Operand(const View& view, bool per_row) {
  return IsComputed(view) ? Emit(view.prim, per_row) : LoadOnce(view, per_row);
}

std::string TileCode::Read(const View& view, bool per_row, Dtype dtype) {
  Variable variable = Operand(view, per_row);
  return Converted(variable.name, variable.dtype, dtype);
}

std::string TileCode::Member(PrimId id) {
  return Emit(id, false).name;
}

Axes TileCode::AxesOf(PrimId id) const {
  return Find(id).axes;
}

// An indexed load. Its index is no stored value's place, so every axis that it moves along is masked.
std::string TileCode::LoadText(const Prim& prim, const std::vector<std::string>& in,
                               const std::vector<Axes>& axes, bool per_row) {
  Axes moves, all;
  for (size_t i = 1; i < in.size(); ++i) {
    if (prim.valid != fmt::format("{{{}}}", i)) moves.Add(axes[i]);
    all.Add(axes[i]);
  }
  std::vector<std::string> guards;
  for (const Guard& guard : prim.guards) {
    const Place place = PlaceOf(GuardedIndex(prim.sizes, guard), *domain_, per_row);
    for (std::string& text : GuardTexts(prim.sizes, guard, place.offset)) guards.push_back(std::move(text));
    all.Add(place.axes);
  }
  std::vector<std::string> masks;
  std::vector<AxisKind> seen;
  for (const Segment& segment : *domain_) {
    if (std::count(seen.begin(), seen.end(), segment.axis) > 0 || !all.Has(segment.axis)) continue;
    if (per_row && segment.axis == AxisKind::kColumn) continue;
    seen.push_back(segment.axis);
    const std::string& mask = this->axes.at(segment.axis).mask;
    if (!mask.empty()) masks.push_back(mask);
  }
  std::string index = FilledIn(prim.expr, in);
  if (!prim.valid.empty()) guards.push_back(FilledIn(prim.valid, in));
  if (!guards.empty()) {
    const std::string condition = fmt::format("{}", fmt::join(guards, " & "));
    // The address must have every axis that the mask has.
    if (!moves.Covers(all)) index = fmt::format("tl.where({}, {}, 0)", condition, index);
    masks.push_back(condition);
  }
  std::string pointer = Pointer(prim.operands[0].prim);
  if (masks.empty()) return fmt::format("tl.load({} + {})", pointer, index);
  std::string other = !prim.other.empty() ? prim.other : IsFloating(prim.dtype) ? "0.0" : "0";
  return fmt::format("tl.load({} + {}, mask={}, other={})", pointer, index, fmt::join(masks, " & "), other);
}

void TileCode::Scatter(PrimId id) {
  const Prim& prim = graph_[id];
  std::vector<std::string> in;
  Axes moves;
  for (size_t i = 0; i < prim.operands.size(); ++i) {
    const bool named = i > 0 && (i + 1 == prim.operands.size() || Names(prim, i));
    const Variable variable = named ? Operand(prim.operands[i], false) : Variable{};
    in.push_back(named ? Converted(variable.name, variable.dtype, prim.compute[i]) : "");
    if (i + 1 < prim.operands.size()) moves.Add(variable.axes);
  }
  const AxisCode& axis = axes.at(AxisKind::kFlat);
  std::string index = FilledIn(prim.expr, in);
  // Each entry is an element of the tile, whether its place depends on it or not.
  if (!moves.Has(AxisKind::kFlat)) index += fmt::format(" + tl.zeros_like({})", axis.index);
  std::vector<std::string> masks;
  if (!axis.mask.empty()) masks.push_back(axis.mask);
  if (!prim.valid.empty()) masks.push_back(FilledIn(prim.valid, in));
  std::string rest = masks.empty() ? "" : fmt::format(", mask={}", fmt::join(masks, " & "));
  if (prim.other != "store") rest += ", sem=\"relaxed\"";
  body->Add(fmt::format("tl.{}({} + {}, {}{})", prim.other, Pointer(id), index, in.back(), rest));
}

TileCode::Variable TileCode::Emit(PrimId id, bool per_row) {
  if (IsBound(id)) return Find(id);
  const Prim& prim = graph_[id];
  TRITOGEN_CHECK(prim.IsElementwise());  // others are bound by the kernel that makes them
  auto place = group_.per_row.find(id);
  if (place != group_.per_row.end()) per_row = place->second;
  std::vector<std::string> in;
  std::vector<Axes> axes;
  Axes all;
  for (size_t i = 0; i < prim.operands.size(); ++i) {
    const bool named = i >= prim.FirstElementwise() && Names(prim, i);
    Variable variable = named ? Operand(group_.InOrder(id, prim.operands[i]), per_row) : Variable{};
    in.push_back(named ? Converted(variable.name, variable.dtype, prim.compute[i]) : "");
    axes.push_back(variable.axes);
    all.Add(variable.axes);
  }
  // A guard may look at another axis than the place moves along: a part of a concatenation along columns,
  // say, whose place hangs on the row alone.
  if (prim.kind == PrimKind::kLoad) {
    for (const Guard& guard : prim.guards)
      all.Add(PlaceOf(GuardedIndex(prim.sizes, guard), *domain_, per_row).axes);
  }
  bool inside = all.Columns() && body != outer;
  auto& values = inside ? in_loop_ : kept_;
  Lines* lines = inside ? body : outer;
  if (prim.expr == "{0}") return values[id] = {in[0], prim.held, all};
  Variable variable{NameOf(id), prim.held, all};
  std::string text = prim.kind == PrimKind::kLoad
                         ? Converted(LoadText(prim, in, axes, per_row), prim.dtype, prim.held)
                         : FilledIn(prim.expr, in);
  lines->Add(fmt::format("{} = {}", variable.name, text));
  return values[id] = variable;
}

void TileCode::Store(PrimId id) {
  bool per_row = group_.per_row.at(id);
  const View where = PlaceOfPart(graph_, id).value_or(graph_.Whole(id));
  Place place = PlaceOf(group_.InOrder(id, where), *domain_, per_row);
  std::string value = Member(id);
  // A product's tile has an axis of size 1, too, along which no address moves: its first element is stored.
  const Axes own = AxesOf(id);
  for (const auto& [axis, code] : axes) {
    if (!own.Has(axis) || place.axes.Has(axis) || code.mask.empty()) continue;
    place.offset = place.offset == "0" ? code.index : place.offset + " + " + code.index;
    place.mask += (place.mask.empty() ? "" : " & ") + code.mask;
  }
  std::string pointer = Pointer(where.prim);
  std::string address = place.offset == "0" ? pointer : pointer + " + " + place.offset;
  bool inside = place.axes.Columns() && body != outer;
  (inside ? body : outer)
      ->Add(place.mask.empty() ? fmt::format("tl.store({}, {})", address, value)
                               : fmt::format("tl.store({}, {}, mask={})", address, value, place.mask));
}

}  // namespace tritogen::teach
