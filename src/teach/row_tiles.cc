#include "teach/row_tiles.h"

#include <algorithm>

#include "teach/windows.h"

namespace tritogen::teach {
namespace {

constexpr int64_t kWalkedBlock = 16384;  // of a longer line than a program holds: with accumulators
constexpr int64_t kTile = 2048;          // elements that a program of several rows works on
constexpr int64_t kTileAcross = 4096;    // the same when rows, not columns, are neighbours in memory
constexpr int64_t kWindows = 512;        // that a program works on

int WarpsFor(int64_t tile, const KernelOptions& options) {
  if (options.num_warps > 0) return options.num_warps;
  return tile > 16384 ? 32 : tile >= 8192 ? 16 : tile >= 2048 ? 8 : 4;
}

}  // namespace

RowTiles ChooseRowTiles(const Graph& graph, const Group& group, const KernelOptions& options) {
  RowTiles s{};
  s.rows = group.Size(AxisKind::kRow);
  s.columns = group.Size(AxisKind::kColumn);
  bool across = group.domain.back().axis == AxisKind::kRow;
  int64_t whole = NextPowerOf2(s.columns);
  const bool scans = HasScans(graph, group), held = scans && s.columns <= kHeldScan, walked = scans && !held;
  s.windows = options.rows_per_program == 0 && !options.row_loop && AreWindows(graph, group);
  if (s.windows) {
    s.row_tile = kWindows;
    s.col_tile = 1;
  } else if (across) {
    s.row_tile =
        options.rows_per_program > 0 ? options.rows_per_program : std::min<int64_t>(NextPowerOf2(s.rows), 64);
    if (held) s.row_tile = std::clamp<int64_t>(kTileAcross / whole, 1, s.row_tile);
    s.col_tile = held ? whole : std::min(whole, std::max<int64_t>(kTileAcross / s.row_tile, 1));
  } else {
    s.row_tile = options.rows_per_program > 0
                     ? options.rows_per_program
                     : std::max<int64_t>(1, std::min<int64_t>(whole > 32 ? 16 : 128, kTile / 2 / whole));
    s.col_tile = whole > kHeldLine ? kWalkedBlock : whole;
    if ((options.row_loop && !held) || walked)
      s.col_tile = std::min(whole, options.row_block > 0 ? options.row_block : kTile);
  }
  s.row_tile = std::min(s.row_tile, NextPowerOf2(s.rows));
  s.loop = s.col_tile < whole;
  s.several_rows = s.row_tile > 1;
  s.row_mask = s.rows % s.row_tile != 0;
  s.col_mask = s.columns % s.col_tile != 0;
  s.num_warps = WarpsFor(s.row_tile * s.col_tile, options);
  return s;
}

}  // namespace tritogen::teach
