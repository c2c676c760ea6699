// Inputs that a program writes to: where the kernel that makes the new values alone reads the old ones, place
// by place, it stores them there.
#pragma once

#include <vector>

#include "teach/graph.h"
#include "teach/partition.h"

namespace tritogen::teach {

// Turns writes into updates where another than the value reads what stood there, or the value has readers:
// nobody knows yet which kernels these are in.
void CopyWhatOthersRead(Graph* graph);

// Turns updates of the graph into writes where that is so; others stay copies behind all kernels.
void StoreUpdates(const std::vector<Group>& groups, Graph* graph);

}  // namespace tritogen::teach
