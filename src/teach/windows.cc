#include "teach/windows.h"

#include <algorithm>

namespace tritogen::teach {
namespace {

constexpr int64_t kWindow = 64;  // elements of one whose loop is written out

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
  (rows.back().stride < group.Size(AxisKind::kColumn) ? reads->between : reads->apart) = true;
}

}  // namespace

bool AreWindows(const Graph& graph, const Group& group) {
  if (group.Size(AxisKind::kColumn) > kWindow || group.domain.back().axis == AxisKind::kRow) return false;
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

bool AreSimpleWindows(const Graph& graph, const Group& group) {
  if (group.domain.size() != 2 || !AreWindows(graph, group)) return false;
  return std::ranges::all_of(group.members, [&](PrimId id) {
    const Prim& prim = graph[id];
    if (prim.kind != PrimKind::kReduce) return true;
    const auto of = group.per_row.find(prim.operands[0].prim);
    return prim.reduce != ReduceOp::kArgMax && prim.reduce != ReduceOp::kArgMin &&
           IsFloating(prim.compute[0]) && (of == group.per_row.end() || !of->second);
  });
}

}  // namespace tritogen::teach
