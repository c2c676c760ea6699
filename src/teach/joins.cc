#include "teach/joins.h"

#include <algorithm>
#include <numeric>

namespace tritogen::teach {
namespace {

bool IsLineWork(const Prim& prim) {
  return prim.kind == PrimKind::kReduce || prim.kind == PrimKind::kScan;
}

// Whether all that becomes of the value is reduced along other lines than these.
bool IsReducedElsewhere(const Graph& graph, const Readers& readers, PrimId id,
                        const std::vector<Segment>& domain, int steps = 8) {
  if (steps == 0 || readers[id].empty()) return false;
  for (const View& output : graph.outputs) {
    if (output.prim == id) return false;
  }
  return std::ranges::all_of(readers[id], [&](PrimId reader) {
    const Prim& prim = graph[reader];
    if (IsLineWork(prim)) return ReduceDomain(prim) != domain;
    return prim.kind == PrimKind::kPointwise && Product(prim.sizes) == Product(graph[id].sizes) &&
           IsReducedElsewhere(graph, readers, reader, domain, steps - 1);
  });
}

}  // namespace

Readers ReadersOf(const Graph& graph) {
  Readers readers(graph.prims.size());
  for (PrimId id = 0; id < static_cast<PrimId>(graph.prims.size()); ++id) {
    if (graph[id].inlined) continue;
    for (const View& view : Reads(graph, graph[id])) {
      if (view.prim >= 0) readers[view.prim].push_back(id);
    }
  }
  return readers;
}

bool IsForOtherLines(const Graph& graph, const Readers& readers, const Group& rows, PrimId id) {
  const Prim& prim = graph[id];
  if (rows.kind != GroupKind::kRows || prim.kind != PrimKind::kPointwise ||
      Product(prim.sizes) == rows.Size(AxisKind::kRow))
    return false;
  const bool made_here = std::ranges::any_of(Reads(graph, prim), [&](const View& view) {
    const auto member = rows.per_row.find(view.prim);
    return member != rows.per_row.end() && !member->second;
  });
  return !made_here && IsReducedElsewhere(graph, readers, id, rows.domain);
}

bool AreTwins(const Graph& graph, const Group& a, const Group& b) {
  if (a.kind != GroupKind::kRows || b.kind != GroupKind::kRows || a.domain != b.domain) return false;
  const int64_t columns = a.Size(AxisKind::kColumn);
  const bool held = columns <= kHeldLine / 2, walked = columns > kHeldLine;
  return (held || walked) && a.turned.empty() && b.turned.empty() && !HasScans(graph, a) &&
         !HasScans(graph, b);
}

std::optional<Turn> TurnOfReads(const Graph& graph, const Prim& prim, const Group& group) {
  const auto plain = [&](const View& view) {
    return view.guards.empty() && (view.prim < 0 || !graph[view.prim].inlined);
  };
  if (prim.kind != PrimKind::kPointwise || !std::ranges::all_of(prim.operands, plain)) return std::nullopt;
  for (const View& view : prim.operands) {
    if (view.prim < 0 || group.per_row.count(view.prim) == 0) continue;
    const auto turned = group.turned.find(view.prim);
    if (turned != group.turned.end()) {
      const auto divides = [&](const View& read) { return Reshape(read, turned->second.sizes).has_value(); };
      if (std::ranges::all_of(prim.operands, divides)) return turned->second;
      continue;
    }
    if (!prim.once || IsRowMajor(view)) continue;
    std::vector<int64_t> order(view.sizes.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater<>(), [&](int64_t dim) { return view.strides[dim]; });
    return Turn{view.sizes, order};
  }
  return std::nullopt;
}

}  // namespace tritogen::teach
