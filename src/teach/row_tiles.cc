#include "teach/row_tiles.h"

#include <algorithm>
#include <cstdlib>

#include "base/rounding.h"
#include "teach/sort_text.h"
#include "teach/windows.h"

namespace tritogen::teach {
namespace {

constexpr int64_t kWalkedBlock = 16384;  // of a longer line than a program holds: with accumulators
constexpr int64_t kWalkedByOnes = 4096;
constexpr int64_t kTile = 2048;        // elements that a program of several rows works on
constexpr int64_t kLeastTile = 512;    // where there are few rows
constexpr int64_t kTileAcross = 4096;  // the same when rows, not columns, are neighbours in memory
constexpr int64_t kTileOfLines = 8192, kFewestLines = 16;
constexpr int64_t kShortLine = 32;
// Rows that are neighbours in memory, four to a thread of two warps: a thread then has all of its short lines
// and reduces them by itself. Of lines up to twice as long few threads share one.
constexpr int64_t kRowsOfThreads = 256, kLongestOfThreads = 2 * kShortLine;
constexpr int kWarpsOfThreads = 2, kWarpsOfWalks = 32;
// Of longer lines programs of half as many rows and twice as many elements of each: more of them are under
// way where multiprocessors have fewer than they have room for.
constexpr int64_t kRoomForPrograms = 8, kRowsOfLongLines = 32;
constexpr int64_t kSectorLines = 8;  // whose elements side by side are 32 bytes
// Windows that a program works on. A thread's own are neighbours, so that where windows step over elements a
// warp's loads lie apart, but for one window a thread.
constexpr int64_t kWindows = 512, kWindowsApart = 256, kThreadsOfWarp = 32;

int WarpsFor(int64_t tile, const KernelOptions& options) {
  if (options.num_warps > 0) return options.num_warps;
  return tile > 16384 ? 32 : tile >= 8192 ? 16 : tile >= 2048 ? 8 : 4;
}

// Elements of a warp where whole lines are in order or looked through; 0: of other work. What stays among the
// registers of a warp, or of a thread, waits for no other. Candidates need more of these: of twice as many
// elements they would not do. Keys of 32 bits need fewer, and lines that are sorted by coarse keys two warps
// at the least.
int64_t ElementsOfWarp(const Graph& graph, const Group& group) {
  const bool selects = HasSelections(graph, group);
  if (!selects && !HasSorts(graph, group)) return 0;
  int64_t most = selects ? 1024 : 2048;
  for (const PrimId id : group.members) {
    const Prim& prim = graph[id];
    if (prim.kind == PrimKind::kCandidates) most = std::min<int64_t>(most, 512);
    if (!IsSort(prim) || prim.held != Dtype::kInt64) continue;
    const int64_t line = NextPowerOf2(group.Size(AxisKind::kColumn));
    most = std::min<int64_t>({most, 1024, line >= kShortestCoarse ? line / 2 : most});
  }
  return most;
}

// Whether this reads memory in which the neighbours of an element are of other lines, through a transposed
// view say.
bool LiesAcross(const Graph& graph, const Group& group, const View& view) {
  if (view.prim < 0 || group.per_row.contains(view.prim)) return false;
  const Prim& prim = graph[view.prim];
  if (prim.inlined) {  // nowhere in memory
    return std::ranges::any_of(prim.operands.begin() + static_cast<int64_t>(prim.FirstElementwise()),
                               prim.operands.end(), [&](const View& operand) {
                                 const auto behind = Compose(view, operand);
                                 return behind && LiesAcross(graph, group, *behind);
                               });
  }
  const auto digits = DigitsOf(view, group.domain, false);
  if (!digits) return false;
  const auto nearest = [&](AxisKind axis) {
    const std::vector<Digit> joined = AxisDigits(*digits, group.domain, false, axis);
    return joined.empty() ? 0 : std::abs(joined.back().stride);
  };
  return nearest(AxisKind::kRow) == 1 && nearest(AxisKind::kColumn) > 1;
}

// A tile of several lines then has neighbours both ways. Short lines are in one anyway.
bool ReadsAcross(const Graph& graph, const Group& group) {
  if (group.Size(AxisKind::kColumn) <= kShortLine) return false;
  return std::ranges::any_of(group.members, [&](PrimId member) {
    const Prim& prim = graph[member];
    if (group.per_row.at(member) && prim.kind != PrimKind::kReduce) return false;
    return std::ranges::any_of(
        prim.operands.begin() + static_cast<int64_t>(prim.FirstElementwise()), prim.operands.end(),
        [&](const View& read) { return LiesAcross(graph, group, group.InOrder(member, read)); });
  });
}

// Whether what fills the whole domain is read in half types.
bool ReadsHalves(const Graph& graph, const Group& group) {
  const int64_t all = group.Size(AxisKind::kRow) * group.Size(AxisKind::kColumn);
  return std::ranges::any_of(group.members, [&](PrimId member) {
    return std::ranges::any_of(Reads(graph, graph[member]), [&](const View& read) {
      return read.prim >= 0 && !group.per_row.contains(read.prim) && DtypeSize(graph[read.prim].dtype) == 2 &&
             graph.Whole(read.prim).numel() >= all;
    });
  });
}

// Whether lines become single elements, and nothing else is stored.
bool OnlyReduces(const Group& group) {
  return std::ranges::all_of(group.stores, [&](PrimId stored) { return group.per_row.at(stored); });
}

// Lines that a warp or a few hold wait for no other; a thread has 16 to 64 elements. On an H200, of 197
// numbers of bfloat16 a sum went from 120 to 69 us, a layer norm from 222 to 124; of 386 86 to 58, 152 to 102
// (docs/log/2026-11-30-speeds.md).
void HoldInFewWarps(const Graph& graph, const Group& group, RowTiles* s) {
  constexpr int64_t kOfWarp = 512, kLongest = 8192;
  constexpr int kMostWarps = 8;
  constexpr double kLittleWork = 4, kLittleScan = 12;  // more wants more warps, but for reductions
  double flops = 0;
  bool reduces = false, scans = false;
  for (const PrimId member : group.members) {
    flops += graph[member].flops;
    reduces |= graph[member].kind == PrimKind::kReduce;
    scans |= graph[member].kind == PrimKind::kScan;
  }
  const bool little = flops <= (scans ? kLittleScan : kLittleWork);
  if (s->col_tile < 64 || s->col_tile > kLongest || !((reduces && !scans) || little)) return;
  const int64_t tile = ReadsHalves(graph, group) && OnlyReduces(group) ? kTile : kTile / 2;
  const int64_t rows = std::max<int64_t>(1, tile / s->col_tile);
  if (rows > s->row_tile && CeilDiv(s->rows, rows) >= kRoomForPrograms * kProcessors) s->row_tile = rows;
  s->num_warps = static_cast<int>(std::clamp<int64_t>(s->col_tile / kOfWarp, 1, kMostWarps));
}

// May give a program more rows. `apart`: windows that step over elements; `in_threads`: short lines side by
// side, a thread's each.
void ChooseWarps(const Graph& graph, const Group& group, const KernelOptions& options, bool apart,
                 bool in_threads, RowTiles* s) {
  constexpr int64_t kShortScan = 512;
  s->num_warps = apart && s->row_tile == kWindowsApart ? kWindowsApart / kThreadsOfWarp
                                                       : WarpsFor(s->row_tile * s->col_tile, options);
  if (options.num_warps > 0) return;
  const bool scans = HasScans(graph, group) && (HasSorts(graph, group) || s->col_tile > kShortScan);
  const bool holds = !s->windows && !s->across && !scans && !HasSelections(graph, group) && !s->loop;
  if (holds && !options.simple && options.rows_per_program == 0) HoldInFewWarps(graph, group, s);
  if (s->loop && s->col_tile == kWalkedBlock && s->rows >= 2 * kProcessors) s->num_warps = kWarpsOfWalks;
  if (in_threads) s->num_warps = kWarpsOfThreads;
  if (const int64_t of_warp = ElementsOfWarp(graph, group); of_warp > 0)
    s->num_warps = static_cast<int>(std::clamp<int64_t>(s->row_tile * s->col_tile / of_warp, 1, 32));
}

}  // namespace

RowTiles ChooseRowTiles(const Graph& graph, const Group& group, const KernelOptions& options) {
  RowTiles s{};
  s.rows = group.Size(AxisKind::kRow);
  s.columns = group.Size(AxisKind::kColumn);
  const bool behind = group.domain.back().axis == AxisKind::kRow;
  s.across = behind || ReadsAcross(graph, group);
  int64_t whole = NextPowerOf2(s.columns);
  const bool scans = HasScans(graph, group), selects = HasSelections(graph, group),
             held = selects || (scans && s.columns <= LongestHeldScan(group.domain, HasSorts(graph, group))),
             walked = scans && !held;
  s.windows = options.rows_per_program == 0 && !options.row_loop && AreWindows(graph, group);
  const bool apart = s.windows && StepOfWindows(graph, group) > 1;
  const bool in_threads = behind && !scans && whole <= kLongestOfThreads && options.rows_per_program == 0 &&
                          s.rows >= kRowsOfThreads * kProcessors;
  const auto share_out = [&](int64_t least, int64_t enough) {
    while (options.rows_per_program == 0 && s.row_tile > least && CeilDiv(s.rows, s.row_tile) < enough)
      s.row_tile /= 2;
  };
  if (s.windows) {
    s.row_tile = apart ? kWindowsApart : kWindows;
    s.col_tile = 1;
  } else if (s.across) {
    s.row_tile =
        options.rows_per_program > 0 ? options.rows_per_program : std::min<int64_t>(NextPowerOf2(s.rows), 64);
    // Few lines leave multiprocessors without work: neighbours that fill a sector are enough then. Fewer
    // programs still where lines are only read across, and written along.
    const int64_t least = std::min(kSectorLines, NextPowerOf2(group.domain.back().size));
    if (in_threads && whole <= kShortLine) s.row_tile = kRowsOfThreads;
    if (behind && !scans && whole >= kTileAcross / kRowsOfLongLines)
      share_out(kRowsOfLongLines, kRoomForPrograms * kProcessors);
    share_out(least, behind ? kProcessors : kProcessors / 4);
    // What is read across and written along is read once where a few lines of it fit into a program.
    const bool whole_lines = held || (!behind && !scans && whole <= kTileOfLines / kFewestLines);
    if (whole_lines)
      s.row_tile = std::clamp<int64_t>((held ? kTileAcross : kTileOfLines) / whole, 1, s.row_tile);
    s.col_tile =
        whole_lines || in_threads ? whole : std::min(whole, std::max<int64_t>(kTileAcross / s.row_tile, 1));
  } else {
    s.row_tile =
        options.rows_per_program > 0 ? options.rows_per_program
        : selects                    ? 1
                  : std::max<int64_t>(1, std::min<int64_t>(whole > kShortLine ? 16 : 128, kTile / 2 / whole));
    share_out(std::max<int64_t>(1, kLeastTile / whole), kProcessors);
    // Of lines of half types that begin anywhere an element is a load.
    const bool by_ones = s.columns % 8 != 0 && s.rows >= 2 * kProcessors && ReadsHalves(graph, group);
    s.col_tile = whole <= kHeldLine ? whole : by_ones ? kWalkedByOnes : kWalkedBlock;
    if ((options.row_loop && !held) || walked)
      s.col_tile = std::min(whole, options.row_block > 0 ? options.row_block : kTile);
  }
  s.row_tile = std::min(s.row_tile, NextPowerOf2(s.rows));
  s.loop = s.col_tile < whole;
  ChooseWarps(graph, group, options, apart, in_threads, &s);
  s.several_rows = s.row_tile > 1;
  s.row_mask = s.rows % s.row_tile != 0 || (options.simple && s.several_rows);
  s.col_mask = s.columns % s.col_tile != 0;
  return s;
}

}  // namespace tritogen::teach
