// Which work goes into which kernel.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "teach/graph.h"

namespace tritogen::teach {

// Elements of a line that a program holds to scan it; longer ones are walked along. Across memory it takes 16
// of them, so that what it reads at once are neighbours.
inline constexpr int64_t kHeldScan = 4096, kHeldScanAcross = 256;

enum class GroupKind {
  kFlat,        // pointwise over all elements
  kRows,        // rows × columns; reductions run along the columns
  kMatmul,      // one matrix product, or attention, and pointwise work on its tiles
  kAlone,       // one recurrent layer, or several in waves; factors of matrices
  kCall,        // one ATen call
  kScatter,     // pointwise over all entries of a scatter, which it ends with
  kSideBySide,  // several flat ones in one launch
};

// kColumn: what rows are reduced along. Rows in tiles have two axes, kRow and kN.
enum class AxisKind { kFlat, kRow, kColumn, kBatch, kM, kN };

// The elements of a group's full-sized members, in memory order, cut into stretches of dimensions. A
// reduction over a middle dimension has rows, columns, rows.
struct Segment {
  AxisKind axis;
  int64_t size;
  std::vector<int64_t> factors;  // the dimensions that it is made of, for who writes its size; may be empty
  bool operator==(const Segment& other) const { return axis == other.axis && size == other.size; }
};

// Another order of a value's elements: its dimensions, divided into these sizes, outermost first.
struct Turn {
  std::vector<int64_t> sizes, order;
};

struct Group {
  GroupKind kind = GroupKind::kFlat;
  std::vector<Segment> domain;
  std::vector<PrimId> members;     // in order of computation; for kMatmul the product comes first
  std::map<PrimId, bool> per_row;  // member → one element for each row instead of the full domain
  std::vector<PrimId> stores;      // members that others read or that are outputs
  std::vector<Group> side;         // kSideBySide: those whose members and stores these are
  // Members whose elements do not follow each other in the domain as in memory, but in this order.
  std::map<PrimId, Turn> turned;

  // Product of the sizes of all segments of this axis.
  int64_t Size(AxisKind axis) const;
  // A view that a member is read by or reads by, with its elements in the domain's order.
  View InOrder(PrimId member, const View& view) const;
};

// A graph and the kernels that it goes into.
struct Partitioned {
  Graph graph;
  std::vector<Group> groups;
};

// The dimensions of all segments of this axis; their product is its size.
std::vector<int64_t> FactorsOf(const std::vector<Segment>& domain, AxisKind axis);

// Repeats cheap pointwise work where it is read through a view (broadcast, transposed, concatenated) or by a
// product, so that it can be fused with its reader instead of being stored.
Graph InlineViews(const Graph& graph);

// What a copy was made from, read where that lies. Nothing for a value that is no copy, or that no strides
// express; `finely`: more dimensions than the view's may.
std::optional<View> BehindCopy(const Graph& graph, const View& view, bool finely);

// Dimensions of a reduction as alternating stretches of rows and columns.
std::vector<Segment> ReduceDomain(const Prim& prim);
// Axes of a product's result.
std::vector<Segment> MatmulDomain(const Prim& product);
// Axes of one of its operands, of which kFlat is what it sums over; of outer products kColumn and kFlat are.
std::vector<Segment> OperandDomain(const Prim& product, size_t operand);

// What a prim reads that its kernel does not compute: the values behind operands that are inlined, and of a
// concatenation the parts that are stored in it, too.
std::vector<View> Reads(const Graph& graph, const Prim& prim);
// The values that a group reads from memory: those that its members read and none of them is.
std::set<PrimId> ReadBy(const Graph& graph, const Group& group);

// What kernels read and write in all, with a launch as some more.
int64_t BytesMoved(const Graph& graph, const std::vector<Group>& groups);

// Greedy, in program order: each prim joins the newest kernel of its operands that works on the same elements
// and leaves no circular wait; else it opens a kernel of its own. The result is in order of execution.
// `turns`: a kernel may store results in another order than it computes them in.
std::vector<Group> Partition(const Graph& graph, bool turns = true);

bool HasScans(const Graph& graph, const Group& group);
// Elements of a line of this domain that a program holds to scan it; of what is sorted it must hold all.
int64_t LongestHeldScan(const std::vector<Segment>& domain, bool sorts);
bool IsSort(const Prim& prim);
bool HasSorts(const Graph& graph, const Group& group);
bool HasSelections(const Graph& graph, const Group& group);  // of which a program holds whole lines, too
// A walk along lines of these elements makes all scans, in one direction: what is reduced of one is not there
// before, and a scan in the other direction would need a walk of its own. Whether `prim`, a reduction or
// scan, is such a one for the group.
bool NeedsAnotherWalk(const Graph& graph, const Group& group, const Prim& prim,
                      const std::vector<Segment>& domain);
// Flat groups that copy into another order, and are too large to share a launch, then work in the order of
// what they read: in tiles, which have neighbours in memory both ways.
std::vector<Group> TurnCopies(const Graph& graph, std::vector<Group> groups);

// Elements of a flat group that may share a launch. With about ten bytes read and written for each, so many
// keep an H200 busy for 12 us. A launch by Triton takes its host 20 to 40 us: what is much larger hides the
// launch behind it, and sharing one gains nothing.
inline constexpr int64_t kMostSideBySide = int64_t{1} << 22;

// Small flat groups that do not wait for each other in one launch, where the first of them was. For groups in
// order of execution; so is the result.
std::vector<Group> SideBySide(const Graph& graph, const std::vector<Group>& groups);

// The digits of `view` on each segment of the domain (but for its columns when `per_row`); nothing when
// they do not fit. See SplitIntoAxes.
std::optional<std::vector<std::vector<Digit>>> DigitsOf(const View& view, const std::vector<Segment>& domain,
                                                        bool per_row);
// The group with its domain, flat or rows, cut in two: the dimensions before and behind the border of these
// sizes, which are the domain's. Of flat ones the second are columns. Nothing where a member cannot be cut.
std::optional<Group> CutInTwo(const Graph& graph, const Group& group, const std::vector<int64_t>& sizes,
                              size_t border);
// The same with the last dimension that is longer than 1 behind the border. Nothing where there is none, too.
std::optional<Group> CutLastDimension(const Graph& graph, const Group& group,
                                      const std::vector<int64_t>& sizes);
// Whether they fit, for the view and for what inlined work behind it reads.
bool Splits(const Graph& graph, const View& view, const std::vector<Segment>& domain, bool per_row);
// The digits that belong to one axis, joined.
std::vector<Digit> AxisDigits(const std::vector<std::vector<Digit>>& digits,
                              const std::vector<Segment>& domain, bool per_row, AxisKind axis);

}  // namespace tritogen::teach
