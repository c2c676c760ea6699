// What kernels over rows make of each row is summed up in them where others only sum it: a program stores the
// sum of its rows, and a reduction joins those of all programs.
#pragma once

#include <optional>

#include "teach/kernel.h"

namespace tritogen::teach {

// The graph with such sums, and what its work goes into; nothing where there are none, or more would be read
// and written. `groups`: of Partition. The rows of a program are those that kernels get with these options.
std::optional<Partitioned> SumInRows(const Graph& graph, const std::vector<Group>& groups,
                                     const KernelOptions& options, bool turns);

// Rows of a program where it can sum what it makes of them; nothing for kernels that cannot. Of several steps
// of a walk along windows, say, rows lie elsewhere. REQUIRES: group.kind is kRows.
std::optional<int64_t> SummedRows(const Graph& graph, const Group& group, const KernelOptions& options);

}  // namespace tritogen::teach
