// What decides whether work joins a kernel, as far as the graph and the kernel's members say it.
#pragma once

#include <optional>
#include <vector>

#include "teach/partition.h"

namespace tritogen::teach {

// By prim: who reads it, through inlined work, too.
using Readers = std::vector<std::vector<PrimId>>;
Readers ReadersOf(const Graph& graph);

// What is a result, or read by another kernel than its own; `group_of`: by prim, -1 for none.
std::set<PrimId> StoredOf(const Graph& graph, const std::vector<int>& group_of);

bool IsOutput(const Graph& graph, PrimId id);

// The one kernel that reads what another one stores for it; -1: there are several, or it is a result.
int OtherReader(const Graph& graph, const Readers& readers, const std::vector<int>& group_of, PrimId id);

// A kernel made it, and one kernel alone reads it: that one may go on in its memory.
bool IsForOneReader(const Graph& graph, PrimId id);

// Reads the row's own element of a per-row value, the same for every column.
bool ReadsOwnRow(const View& view, const std::vector<std::vector<Digit>>& digits,
                 const std::vector<Segment>& domain);

// Whether pointwise work of a kernel over rows would only be stored there, for kernels over other lines that
// had better do it themselves: all that is made of it is reduced along other lines, and of what it reads the
// kernel makes at most a number for each row.
bool IsForOtherLines(const Graph& graph, const Readers& readers, const Group& rows, PrimId id);

// Whether two kernels over rows may be one, so that what one makes for the other is not stored: they work on
// the same elements, and a program can hold two lines.
bool AreTwins(const Graph& graph, const Group& a, const Group& b);

// Whether a reduction may be in a kernel of other values for the launch that it saves: of lines like that
// kernel's, a program can hold two, and all of them are so few elements that a launch takes longer.
bool SharesLaunch(const Graph& graph, const Group& group, const Prim& reduce);

// The order in which the group has what a value is made from. None where that is its own, and where nothing
// is gained: a value that need not be stored is better made by who reads it, and what rows are made of by
// rows.
std::optional<Turn> TurnOfReads(const Graph& graph, const Readers& readers, PrimId id, const Group& group);

}  // namespace tritogen::teach
