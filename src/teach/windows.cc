#include "teach/windows.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "teach/expression.h"

namespace tritogen::teach {
namespace {

// Windows of which multiprocessors have enough at a time, and elements of each that these may have; of twice
// as long ones there must be twice as many. On an H200, of depthwise convolutions that are rows of lanes take
// those of 13 x 13 4.6 times, of 31 x 31 4.4 times as long (docs/log/2026-12-01-windows.md).
constexpr int64_t kManyWindows = kProcessors * 512, kLongestOfMany = 1024, kUsualOfMany = 256;

// What so many rows share is found in a cache, wherever it lies.
constexpr int64_t kManySharers = 64;

// How the rows of what a group's members read lie in memory.
struct RowReads {
  bool computed = false;  // at places that are worked out
  bool between = false;   // between those of their neighbours
  bool apart = false;     // one behind the other
};

void NoteReads(const Graph& graph, const Group& group, const View& view, RowReads* reads) {
  if (view.prim < 0 || group.per_row.contains(view.prim)) return;
  const Prim& prim = graph[view.prim];
  if (prim.inlined) {  // nowhere in memory
    reads->computed |= prim.kind == PrimKind::kLoad;
    for (size_t i = prim.FirstElementwise(); i < prim.operands.size(); ++i) {
      if (const auto behind = Compose(view, prim.operands[i])) NoteReads(graph, group, *behind, reads);
    }
    return;
  }
  const auto digits = DigitsOf(view, group.domain, false);
  if (!digits) return;
  const std::vector<Digit> rows = AxisDigits(*digits, group.domain, false, AxisKind::kRow);
  if (rows.empty() || rows.back().stride == 0) return;
  if (Product(prim.sizes) <= group.Size(AxisKind::kRow) * group.Size(AxisKind::kColumn) / kManySharers)
    return;
  (rows.back().stride < group.Size(AxisKind::kColumn) ? reads->between : reads->apart) = true;
}

// The element of a view's value that element `at` of the view is.
int64_t ElementOf(const View& view, int64_t at) {
  int64_t element = view.offset;
  for (size_t i = view.sizes.size(); i-- > 0; at /= view.sizes[i])
    element += at % view.sizes[i] * view.strides[i];
  return element;
}

// What index arithmetic comes to for one element.
class Arithmetic {
 public:
  explicit Arithmetic(const Graph& graph) : graph_(graph) {}

  std::optional<double> Of(const View& view, int64_t at) const {
    const int64_t element = ElementOf(view, at);
    if (view.prim == kElementNumber) return static_cast<double>(element);
    const Prim& prim = graph_[view.prim];
    return prim.kind == PrimKind::kPointwise ? OfText(prim, element) : std::nullopt;
  }

  // Of the text of a prim's element.
  std::optional<double> OfText(const Prim& prim, int64_t element) const {
    const auto e = ParseExpression(prim.expr);
    return e ? Of(*e, prim, element) : std::nullopt;
  }

 private:
  std::optional<double> Of(const Expression& e, const Prim& prim, int64_t element) const {
    if (e.kind == Expression::Kind::kNumber) return e.number;
    if (e.IsOperand())
      return e.operand < prim.operands.size() ? Of(prim.operands[e.operand], element) : std::nullopt;
    if (e.kind != Expression::Kind::kBinary) return std::nullopt;
    const auto a = Of(e.in[0], prim, element), b = Of(e.in[1], prim, element);
    if (!a || !b) return std::nullopt;
    if (e.name == "+") return *a + *b;
    if (e.name == "-") return *a - *b;
    if (e.name == "*") return *a * *b;
    if (e.name == "//" && *b > 0) return std::floor(*a / *b);
    if (e.name == "%" && *b > 0) return *a - std::floor(*a / *b) * *b;
    return std::nullopt;
  }

  const Graph& graph_;
};

// The furthest of what is read for elements `one` and `other` of the view, which work on the way may make.
double StepBetween(const Graph& graph, const Group& group, const View& view, int64_t one, int64_t other) {
  if (view.prim < 0) return 0;
  one = ElementOf(view, one), other = ElementOf(view, other);
  const Prim& prim = graph[view.prim];
  if (prim.kind == PrimKind::kLoad) {
    const Arithmetic arithmetic(graph);
    const auto a = arithmetic.OfText(prim, one), b = arithmetic.OfText(prim, other);
    return a && b ? std::abs(*a - *b) : 0;
  }
  if (!prim.inlined && !group.per_row.contains(view.prim)) return static_cast<double>(std::abs(one - other));
  double step = 0;
  for (const View& operand : prim.operands)
    step = std::max(step, StepBetween(graph, group, operand, one, other));
  return step;
}

// Elements of a window that is taken element by element.
int64_t MostElements(const Group& group) {
  const int64_t windows = group.Size(AxisKind::kRow);
  if (windows < kManyWindows) return kLongestWindow;
  return std::min(kLongestOfMany, kUsualOfMany * windows / kManyWindows);
}

}  // namespace

int64_t StepOfWindows(const Graph& graph, const Group& group) {
  double step = 0;
  for (const PrimId member : group.members) {
    const Prim& prim = graph[member];
    if (prim.kind != PrimKind::kReduce) continue;
    // Two neighbours in the middle of the last line of windows: at its ends they may be cut.
    int64_t behind = 1;
    for (size_t i = prim.space.size(); i-- > 0; behind *= prim.space[i]) {
      if (prim.reduced[i] || prim.space[i] == 1) continue;
      const int64_t one = (prim.space[i] / 2 - 1) * behind;
      step = std::max(step, StepBetween(graph, group, prim.operands[0], one, one + behind));
      break;
    }
  }
  return static_cast<int64_t>(step);
}

bool AreWindows(const Graph& graph, const Group& group) {
  if (group.domain.back().axis == AxisKind::kRow || group.Size(AxisKind::kColumn) > MostElements(group))
    return false;
  const auto per_row = [&](PrimId id) { return group.per_row.at(id); };
  if (!std::all_of(group.stores.begin(), group.stores.end(), per_row)) return false;
  RowReads reads;
  for (const PrimId member : group.members) {
    const Prim& prim = graph[member];
    if (prim.kind == PrimKind::kScan) return false;
    if (per_row(member) && prim.kind != PrimKind::kReduce) continue;
    reads.computed |= prim.kind == PrimKind::kLoad;
    for (size_t i = prim.FirstElementwise(); i < prim.operands.size(); ++i)
      NoteReads(graph, group, prim.operands[i], &reads);
  }
  return (reads.computed || reads.between) && !reads.apart;
}

WindowLoop LoopOverWindow(const Group& group) {
  WindowLoop loop;
  if (group.Size(AxisKind::kColumn) <= kLongestWindow) return loop;
  const std::vector<int64_t> dimensions = FactorsOf(group.domain, AxisKind::kColumn);
  int64_t line = 1;
  for (size_t i = dimensions.size(); i-- > 0 && line * dimensions[i] <= kLongestWindow;)
    line *= dimensions[i];
  loop.written_out = line > 1;
  if (loop.written_out) loop.line = line;
  return loop;
}

bool AreSimpleWindows(const Graph& graph, const Group& group) {
  if (group.domain.size() != 2 || !AreWindows(graph, group)) return false;
  std::set<PrimId> behind;  // of a reduction, as deviations from a mean are
  for (const PrimId id : group.members) {
    const Prim& prim = graph[id];
    const bool waits =
        std::ranges::any_of(Reads(graph, prim), [&](const View& view) { return behind.contains(view.prim); });
    const bool reduces = prim.kind == PrimKind::kReduce;
    if (reduces) {
      const auto of = group.per_row.find(prim.operands[0].prim);
      if (waits || prim.reduce == ReduceOp::kArgMax || prim.reduce == ReduceOp::kArgMin ||
          !IsFloating(prim.compute[0]) || (of != group.per_row.end() && of->second))
        return false;
    }
    if (reduces || waits) behind.insert(id);
  }
  return true;
}

}  // namespace tritogen::teach
