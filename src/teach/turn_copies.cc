#include <algorithm>
#include <functional>
#include <numeric>

#include "teach/kernel.h"
#include "teach/partition.h"

namespace tritogen::teach {
namespace {

std::vector<int64_t> OrderInMemory(const View& view) {
  std::vector<int64_t> order(view.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(), [&](int64_t dim) { return view.strides[dim]; });
  return order;
}

bool RepeatsElements(const View& view) {
  for (size_t i = 0; i < view.sizes.size(); ++i) {
    if (view.sizes[i] > 1 && view.strides[i] == 0) return true;
  }
  return false;
}

// The order in which the group's members read memory. None where one reads in its own order, or could not
// follow another one.
std::vector<int64_t> OrderOfReads(const Graph& graph, const Group& group) {
  const std::vector<int64_t>& sizes = graph[group.members.front()].sizes;
  std::vector<int64_t> order;
  for (PrimId id : group.members) {
    const Prim& prim = graph[id];
    if (prim.kind != PrimKind::kPointwise || prim.sizes != sizes || prim.place) return {};
    for (const View& view : prim.operands) {
      if (view.prim < 0) continue;
      if (graph[view.prim].inlined) return {};
      if (group.per_row.contains(view.prim)) {
        if (!view.IsContiguous()) return {};
        continue;
      }
      if (RepeatsElements(view)) continue;
      if (IsRowMajor(view)) return {};
      order = OrderInMemory(view);
      if (std::ranges::is_sorted(order)) return {};
    }
  }
  return order;
}

}  // namespace

std::vector<Group> TurnCopies(const Graph& graph, std::vector<Group> groups) {
  for (Group& group : groups) {
    if (group.kind != GroupKind::kFlat || !group.turned.empty() ||
        group.Size(AxisKind::kFlat) <= kMostSideBySide)
      continue;
    const std::vector<int64_t> order = OrderOfReads(graph, group);
    if (order.empty()) continue;
    Group turned = group;
    for (PrimId id : group.members) turned.turned[id] = {graph[id].sizes, order};
    const View in_order = Permute(graph.Whole(group.members.front()), order);
    turned.domain = {{AxisKind::kFlat, in_order.numel(), in_order.sizes}};
    if (InTiles(graph, turned)) group = std::move(turned);
  }
  return groups;
}

}  // namespace tritogen::teach
