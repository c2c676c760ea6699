#include "teach/joins.h"

#include <algorithm>
#include <numeric>

namespace tritogen::teach {
namespace {

// Elements that it takes less time to reduce than to launch a kernel for them.
constexpr int64_t kShorterThanLaunch = 1 << 20;

// Whether all that becomes of the value is reduced along other lines than these.
bool IsReducedElsewhere(const Graph& graph, const Readers& readers, PrimId id,
                        const std::vector<Segment>& domain, int steps = 8) {
  if (steps == 0 || readers[id].empty() || IsOutput(graph, id)) return false;
  return std::ranges::all_of(readers[id], [&](PrimId reader) {
    const Prim& prim = graph[reader];
    if (prim.IsLineWork()) return ReduceDomain(prim) != domain;
    return prim.kind == PrimKind::kPointwise && Product(prim.sizes) == Product(graph[id].sizes) &&
           IsReducedElsewhere(graph, readers, reader, domain, steps - 1);
  });
}

// Whether it is a result, or who reads it finds it in memory only.
bool IsStored(const Graph& graph, const Readers& readers, PrimId id) {
  return IsOutput(graph, id) || std::ranges::any_of(readers[id], [&](PrimId reader) {
           return !graph[id].IsCopy() && (graph[reader].kind == PrimKind::kLoad || graph[reader].IsProduct());
         });
}

}  // namespace

bool ReadsOwnRow(const View& view, const std::vector<std::vector<Digit>>& digits,
                 const std::vector<Segment>& domain) {
  auto rows = MergeDigits(AxisDigits(digits, domain, false, AxisKind::kRow));
  auto columns = MergeDigits(AxisDigits(digits, domain, false, AxisKind::kColumn));
  bool own_row = rows.empty() || (rows.size() == 1 && rows[0].stride == 1);
  return view.offset == 0 && view.guards.empty() && own_row && columns.size() == 1 && columns[0].stride == 0;
}

bool IsOutput(const Graph& graph, PrimId id) {
  return std::ranges::any_of(graph.outputs, [&](const View& output) { return output.prim == id; });
}

int OtherReader(const Graph& graph, const Readers& readers, const std::vector<int>& group_of, PrimId id) {
  if (graph[id].inlined || readers[id].empty() || IsOutput(graph, id)) return -1;
  const int reader = group_of[readers[id].front()];
  const bool one = std::ranges::all_of(readers[id], [&](PrimId other) { return group_of[other] == reader; });
  const bool written =
      std::ranges::any_of(graph.writes, [&](const auto& write) { return write.value == id; });
  return one && !written && reader != group_of[id] ? reader : -1;
}

bool IsForOneReader(const Graph& graph, PrimId id) {
  const PrimKind kind = graph[id].kind;
  if (kind == PrimKind::kSource || kind == PrimKind::kCall) return false;
  int64_t readers = std::ranges::count(graph.outputs, id, &View::prim) +
                    std::ranges::count(graph.writes, id, &Graph::Write::value);
  for (const Prim& prim : graph.prims) readers += std::ranges::count(prim.operands, id, &View::prim);
  return readers == 1;
}

std::set<PrimId> StoredOf(const Graph& graph, const std::vector<int>& group_of) {
  std::set<PrimId> stored;
  for (const View& view : graph.outputs) stored.insert(view.prim);
  for (const Graph::Write& write : graph.writes) stored.insert(write.value);
  for (PrimId id = 0; id < static_cast<PrimId>(graph.prims.size()); ++id) {
    if (graph[id].inlined) continue;
    for (const View& view : Reads(graph, graph[id])) {
      if (view.prim >= 0 && group_of[view.prim] != group_of[id]) stored.insert(view.prim);
    }
  }
  return stored;
}

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

bool SharesLaunch(const Graph& graph, const Group& group, const Prim& reduce) {
  return reduce.kind == PrimKind::kReduce && group.kind == GroupKind::kRows &&
         Product(reduce.space) <= kShorterThanLaunch && group.domain == ReduceDomain(reduce) &&
         group.Size(AxisKind::kColumn) <= kHeldLine / 2 && group.turned.empty() && !HasScans(graph, group);
}

std::optional<Turn> TurnOfReads(const Graph& graph, const Readers& readers, PrimId id, const Group& group) {
  const Prim& prim = graph[id];
  const auto plain = [&](const View& view) {
    return view.guards.empty() && (view.prim < 0 || !graph[view.prim].inlined);
  };
  if (prim.kind != PrimKind::kPointwise || !std::ranges::all_of(prim.operands, plain)) return std::nullopt;
  // What must be in memory anyway is stored by the product that it is made from.
  const bool stored = group.kind == GroupKind::kMatmul && IsStored(graph, readers, id);
  for (const View& view : prim.operands) {
    if (view.prim < 0 || group.per_row.count(view.prim) == 0) continue;
    const auto turned = group.turned.find(view.prim);
    if (turned != group.turned.end()) {
      const std::vector<int64_t>& sizes = turned->second.sizes;
      const auto divides = [&](const View& read) { return Reshape(read, sizes).has_value(); };
      if (Product(prim.sizes) == Product(sizes) && std::ranges::all_of(prim.operands, divides))
        return turned->second;
      continue;
    }
    if (!(prim.once || stored) || IsRowMajor(view)) continue;
    std::vector<int64_t> order(view.sizes.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater<>(), [&](int64_t dim) { return view.strides[dim]; });
    return Turn{view.sizes, order};
  }
  return std::nullopt;
}

}  // namespace tritogen::teach
