#include "teach/kept_band.h"

#include <algorithm>

#include "teach/attention.h"

namespace tritogen::teach {

Band KeptOf(const Graph& graph, const Group& group) {
  const int64_t batch = group.Size(AxisKind::kBatch), m = group.Size(AxisKind::kM),
                n = group.Size(AxisKind::kN);
  Band kept;
  for (size_t i = 0; i < group.stores.size(); ++i) {
    const PrimId id = group.stores[i];
    if (id == group.members[0] || group.turned.contains(id) || graph[id].kind == PrimKind::kTileReduce)
      return {};
    const auto ahead = KeptAhead(graph, graph.Whole(id), batch, m, n),
               behind = KeptBehind(graph, graph.Whole(id), batch, m, n);
    const auto join = [&](std::optional<int64_t>& all, const std::optional<int64_t>& own) {
      all = i == 0 ? own : all && own ? std::optional(std::max(*all, *own)) : std::nullopt;
    };
    join(kept.ahead, ahead);
    join(kept.behind, behind);
  }
  return kept;
}

}  // namespace tritogen::teach
