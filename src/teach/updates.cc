#include "teach/updates.h"

#include <algorithm>
#include <set>

namespace tritogen::teach {
namespace {

// A flat kernel loads what it reads of a block's places, and then stores that block.
bool ReadsPlaceByPlace(const Graph& graph, const Group& group, PrimId source) {
  const View whole = graph.Whole(source);
  const std::set<PrimId> members(group.members.begin(), group.members.end());
  for (PrimId id = 0; id < static_cast<PrimId>(graph.prims.size()); ++id) {
    const Prim& prim = graph[id];
    for (const View& view : prim.operands) {
      if (view.prim != source) continue;
      if (members.count(id) == 0 || prim.kind != PrimKind::kPointwise || view != whole) return false;
    }
  }
  return true;
}

bool CanStore(const Graph& graph, const std::vector<Group>& groups, const View& value, PrimId source) {
  const auto made = std::ranges::find_if(groups, [&](const Group& group) {
    return group.kind == GroupKind::kFlat && std::ranges::count(group.members, value.prim) > 0;
  });
  return made != groups.end() && value == graph.Whole(value.prim) && value.sizes == graph[source].sizes &&
         graph[value.prim].dtype == graph[source].dtype &&
         std::ranges::count(graph.outputs, source, &View::prim) == 0 &&
         ReadsPlaceByPlace(graph, *made, source);
}

}  // namespace

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
