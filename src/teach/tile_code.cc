#include "teach/tile_code.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "program/triton_dtype.h"

namespace tritogen::teach {
namespace {

constexpr int64_t kNarrowLimit = int64_t{1} << 31;

// Σ digit·stride over one axis: "(rows // 16 % 4) * 64".
std::vector<std::string> DigitTerms(const std::string& index, const std::vector<Digit>& digits) {
  int64_t total = 1;
  for (const Digit& digit : digits) total *= digit.size;
  std::vector<std::string> terms;
  int64_t inner = total;
  for (const Digit& digit : digits) {
    inner /= digit.size;
    if (digit.stride == 0) continue;
    std::string term = index;
    bool outermost = inner * digit.size == total;
    if (inner > 1) term += fmt::format(" // {}", inner);
    if (!outermost) term += fmt::format(" % {}", digit.size);
    if (term != index) term = "(" + term + ")";
    terms.push_back(digit.stride == 1 ? term : fmt::format("{} * {}", term, digit.stride));
  }
  return terms;
}

std::string Sum(const std::vector<std::string>& terms, int64_t offset) {
  std::string text = fmt::format("{}", fmt::join(terms, " + "));
  if (offset == 0 && !terms.empty()) return text;
  if (terms.empty()) return fmt::format("{}", offset);
  return fmt::format("{} {} {}", text, offset < 0 ? "-" : "+", offset < 0 ? -offset : offset);
}

bool AnyStride(const std::vector<Digit>& digits) {
  return std::any_of(digits.begin(), digits.end(), [](const Digit& d) { return d.stride != 0; });
}

bool IsColumn(AxisKind axis) {
  return axis == AxisKind::kColumn || axis == AxisKind::kFlat;
}

}  // namespace

void Lines::Add(const std::string& line) {
  text_ += std::string(4 * indent_, ' ') + line + "\n";
}

std::string Converted(const std::string& variable, Dtype have, Dtype want) {
  if (have == want) return variable;
  if (want == Dtype::kBool) return fmt::format("({} != 0)", variable);
  return fmt::format("{}.to({})", variable, TritonDtype(want));
}

TileCode::TileCode(const Graph& graph, const Group& group, const std::vector<std::string>& buffers)
    : graph_(graph), group_(group), buffers_(buffers), names_{"tl", "triton", "libdevice", "torch", "range"} {
  auto check = [&](const View& view) {
    int64_t last = std::abs(view.offset);
    for (int i = 0; i < view.rank(); ++i) last += (view.sizes[i] - 1) * view.strides[i];
    wide_ |= last >= kNarrowLimit;
  };
  for (PrimId member : group.members) {
    check(graph_.Whole(member));
    for (const View& view : graph_[member].operands) check(view);
  }
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
  Place place{"", "", false};
  std::vector<std::string> terms, masks;
  std::vector<AxisKind> seen;
  // Which axes matter: those the address moves along, and those that a guard looks at.
  std::vector<std::string> guards;
  std::vector<View> looked = {view};
  for (const Guard& guard : view.guards) {
    View index{kElementNumber, 0, view.sizes, std::vector<int64_t>(view.sizes.size(), 0), {}};
    index.strides[guard.dim] = 1;
    std::string text = PlaceOf(index, domain, per_row).offset;
    if (guard.lo > 0) guards.push_back(fmt::format("({} >= {})", text, guard.lo));
    if (guard.hi < view.sizes[guard.dim]) guards.push_back(fmt::format("({} < {})", text, guard.hi));
    looked.push_back(index);
  }
  for (const Segment& segment : domain) {
    AxisKind axis = segment.axis;
    if (std::count(seen.begin(), seen.end(), axis) > 0 || (per_row && axis != AxisKind::kRow)) continue;
    seen.push_back(axis);
    const AxisCode& code = axes.at(axis);
    auto own = AxisDigits(*digits, domain, per_row, axis);
    for (std::string& term : DigitTerms(code.index, own)) terms.push_back(std::move(term));
    bool moves = false;
    for (const View& each : looked)
      moves |= AnyStride(AxisDigits(*DigitsOf(each, domain, per_row), domain, per_row, axis));
    if (!moves) continue;
    if (!code.mask.empty()) masks.push_back(code.mask);
    place.varies_by_column |= IsColumn(axis);
  }
  masks.insert(masks.end(), guards.begin(), guards.end());
  place.offset = Sum(terms, view.offset);
  place.mask = fmt::format("{}", fmt::join(masks, " & "));
  return place;
}

std::string TileCode::Load(const View& view, const Place& place) {
  std::string pointer = Pointer(view.prim);
  std::string address = place.offset == "0" ? pointer : pointer + " + " + place.offset;
  if (place.mask.empty()) return fmt::format("tl.load({})", address);
  return fmt::format("tl.load({}, mask={}, other={})", address, place.mask,
                     IsFloating(graph_[view.prim].dtype) ? "0.0" : "0");
}

TileCode::Variable TileCode::LoadOnce(const View& view, bool per_row) {
  Place place = PlaceOf(view, group_.domain, per_row);
  if (view.prim == kElementNumber) {
    return {"(" + place.offset + ")", wide_ ? Dtype::kInt64 : Dtype::kInt32, place.varies_by_column};
  }
  std::string key = fmt::format("{} {} {}", view.prim, place.offset, place.mask);
  for (auto* cache : {&loads_kept_, &loads_in_loop_}) {
    if (auto found = cache->find(key); found != cache->end()) return found->second;
  }
  bool inside = place.varies_by_column && body != outer;
  const Prim& prim = graph_[view.prim];
  Variable variable{names_.Unique(buffers_[view.prim]), ComputeDtype(prim.dtype), place.varies_by_column};
  std::string text = Load(view, place);
  (inside ? body : outer)
      ->Add(fmt::format("{} = {}", variable.name, Converted(text, prim.dtype, variable.dtype)));
  return (inside ? loads_in_loop_ : loads_kept_)[key] = variable;
}

TileCode::Variable TileCode::Find(PrimId id) const {
  auto found = kept_.find(id);
  return found != kept_.end() ? found->second : in_loop_.at(id);
}

std::string TileCode::Read(const View& view, bool per_row, Dtype dtype) {
  bool member = view.prim >= 0 && group_.per_row.count(view.prim) > 0;
  Variable variable = member ? Emit(view.prim) : LoadOnce(view, per_row);
  return Converted(variable.name, variable.dtype, dtype);
}

std::string TileCode::Member(PrimId id) {
  return Emit(id).name;
}

bool TileCode::HasColumns(PrimId id) const {
  return Find(id).columns;
}

TileCode::Variable TileCode::Emit(PrimId id) {
  if (IsBound(id)) return Find(id);
  const Prim& prim = graph_[id];
  TRITOGEN_CHECK(prim.kind == PrimKind::kPointwise);  // others are bound by the kernel that makes them
  bool per_row = group_.per_row.at(id), columns = false;
  std::string expr = prim.expr;
  std::vector<std::string> in;
  for (size_t i = 0; i < prim.operands.size(); ++i) {
    const View& view = prim.operands[i];
    in.push_back(Read(view, per_row, prim.compute[i]));
    bool member = view.prim >= 0 && group_.per_row.count(view.prim) > 0;
    columns |= member ? Find(view.prim).columns : LoadOnce(view, per_row).columns;
  }
  for (size_t i = in.size(); i-- > 0;) {
    std::string hole = fmt::format("{{{}}}", i);
    for (size_t at = 0; (at = expr.find(hole, at)) != std::string::npos; at += in[i].size()) {
      expr.replace(at, hole.size(), in[i]);
    }
  }
  bool inside = columns && body != outer;
  auto& values = inside ? in_loop_ : kept_;
  if (prim.expr == "{0}") return values[id] = {expr, prim.held, columns};
  Variable variable{names_.Unique(prim.name), prim.held, columns};
  (inside ? body : outer)->Add(fmt::format("{} = {}", variable.name, expr));
  return values[id] = variable;
}

void TileCode::Store(PrimId id) {
  bool per_row = group_.per_row.at(id);
  View whole = graph_.Whole(id);
  Place place = PlaceOf(whole, group_.domain, per_row);
  std::string value = Member(id);
  std::string pointer = Pointer(id);
  std::string address = place.offset == "0" ? pointer : pointer + " + " + place.offset;
  bool inside = place.varies_by_column && body != outer;
  (inside ? body : outer)
      ->Add(place.mask.empty() ? fmt::format("tl.store({}, {})", address, value)
                               : fmt::format("tl.store({}, {}, mask={})", address, value, place.mask));
}

}  // namespace tritogen::teach
