#include "teach/updates.h"

#include <algorithm>
#include <set>

#include "teach/joins.h"

namespace tritogen::teach {
namespace {

// Whether the kernel has the same place of all tensors of `count` elements in its hands when it stores: it is
// flat, or has rows, which it stores after all else that it does for them; and nothing in it is read in
// another order.
bool GoesPlaceByPlace(const Graph& graph, const Group& group, int64_t count) {
  if ((group.kind != GroupKind::kFlat && group.kind != GroupKind::kRows) || !group.turned.empty())
    return false;
  const std::set<PrimId> members(group.members.begin(), group.members.end());
  for (const PrimId member : group.members) {
    for (const View& view : graph[member].operands) {
      if (members.count(view.prim) > 0 && Product(graph[view.prim].sizes) == count && !graph.IsWhole(view))
        return false;
    }
  }
  return true;
}

bool IsReadThereAlone(const Graph& graph, const Group& group, PrimId source) {
  for (PrimId id = 0; id < static_cast<PrimId>(graph.prims.size()); ++id) {
    const Prim& prim = graph[id];
    for (const View& view : prim.operands) {
      if (view.prim != source) continue;
      const bool here = std::ranges::count(group.members, id) > 0;
      const bool in_place = prim.kind == PrimKind::kPointwise || prim.kind == PrimKind::kReduce;
      if (!here || !in_place || !graph.IsWhole(view)) return false;
    }
  }
  return true;
}

bool CanStore(const Graph& graph, const std::vector<Group>& groups, const View& value, PrimId source) {
  const auto made = std::ranges::find_if(
      groups, [&](const Group& group) { return std::ranges::count(group.members, value.prim) > 0; });
  if (made == groups.end() || std::ranges::count(graph.outputs, source, &View::prim) > 0) return false;
  const int64_t count = Product(graph[source].sizes);
  if (made->kind == GroupKind::kRows && made->per_row.at(value.prim)) return false;
  return graph.IsWhole(value) && value.numel() == count && graph[value.prim].dtype == graph[source].dtype &&
         graph[value.prim].kind == PrimKind::kPointwise && GoesPlaceByPlace(graph, *made, count) &&
         IsReadThereAlone(graph, *made, source);
}

// What stands there goes into the value, step by step, and nowhere else; and the value goes nowhere else.
bool IsForItselfAlone(const Graph& graph, const Readers& readers, const Graph::Write& write) {
  PrimId at = write.to;
  while (at != write.value) {
    if (readers[at].size() != 1 || IsOutput(graph, at)) return false;
    at = readers[at][0];
  }
  return readers[at].empty() && !IsOutput(graph, at);
}

}  // namespace

void CopyWhatOthersRead(Graph* graph) {
  const Readers readers = ReadersOf(*graph);
  std::vector<Graph::Write> kept;
  for (const Graph::Write& write : graph->writes) {
    if (IsForItselfAlone(*graph, readers, write)) {
      kept.push_back(write);
    } else {
      graph->outputs.push_back(graph->Whole(write.value));
      graph->updates.push_back(write.to);
    }
  }
  graph->writes = std::move(kept);
}

void StoreUpdates(const std::vector<Group>& groups, Graph* graph) {
  for (size_t i = graph->updates.size(); i-- > 0;) {
    const size_t at = graph->outputs.size() - graph->updates.size() + i;
    const View value = graph->outputs[at];
    const PrimId source = graph->updates[i];
    if (std::ranges::count(graph->writes, value.prim, &Graph::Write::value) > 0) continue;  // has a place
    if (!CanStore(*graph, groups, value, source)) continue;
    graph->writes.push_back({value.prim, source});
    graph->outputs.erase(graph->outputs.begin() + static_cast<int64_t>(at));
    graph->updates.erase(graph->updates.begin() + static_cast<int64_t>(i));
  }
}

}  // namespace tritogen::teach
