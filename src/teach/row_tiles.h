// The rows and columns that a program of a row kernel works on.
#pragma once

#include <cstdint>

#include "teach/kernel.h"

namespace tritogen::teach {

struct RowTiles {
  int64_t rows, columns;       // of the domain
  int64_t row_tile, col_tile;  // of one program
  bool several_rows;           // in a tile
  bool across;                 // rows, not columns, are neighbours in memory
  bool loop;                   // a program walks along its rows
  bool windows;                // whose elements it takes one after the other
  bool row_mask, col_mask;     // tiles reach beyond the domain
  int num_warps;
};

// Rows are neighbours in memory when the domain ends with rows.
RowTiles ChooseRowTiles(const Graph& graph, const Group& group, const KernelOptions& options);

}  // namespace tritogen::teach
