// A concatenation that is stored whatever its readers do is no work of its own where kernels make its parts:
// each stores its part where that belongs.
#pragma once

#include <optional>

#include "teach/partition.h"

namespace tritogen::teach {

// With such concatenations as memory that their parts are stored in; nothing where that moves no
// fewer bytes. `before`: of `lowered`, by InlineViews and Partition.
std::optional<Partitioned> PlaceParts(const Graph& lowered, const Partitioned& before, bool turns);

// Where a part lies in the concatenation's memory, as a view of its shape; nothing for what is none.
std::optional<View> PlaceOfPart(const Graph& graph, PrimId id);

// Whether the axes of this domain tell where the group's member has its place there; true for what has none.
bool FitsPlaceOfPart(const Graph& graph, const Group& group, PrimId id, const std::vector<Segment>& domain,
                     bool per_row);

// Whether it reads a concatenation of which the group of this number stores a part; `group_of`: by prim.
bool ReadsPartOf(const Graph& graph, const Prim& prim, const std::vector<int>& group_of, int group);

}  // namespace tritogen::teach
