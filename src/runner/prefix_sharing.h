// Rows of a decode step that begin with the same blocks, as samples of one prompt do: attention reads these
// blocks once for all of them (kernels/attention.py: paged_shared), not once for each.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/runner.h"

namespace tritogen {

struct SharingOptions {
  int32_t block_tokens = 0;  // positions in a block
  int32_t rows_of_item = 0;  // that a program serves; fewer than 2: nothing is ever shared
  int32_t wanted_items = 0;  // fill the device
  int64_t least_saved = 0;   // blocks that are not read again, from which on a kernel more pays
};

// Arrays of the kernels. A block is shared only where it is full in all its rows.
struct SharedBlocks {
  std::vector<std::array<int32_t, 4>>
      items;                     // first of `members`, how many, first block, block behind the last
  std::vector<int32_t> members;  // rows
  std::vector<std::array<int32_t, 4>>
      shares;  // of each row: blocks, first item, items, place among their rows
};

class PrefixSharing {
 public:
  explicit PrefixSharing(const SharingOptions& options) : options_(options) {}

  // REQUIRES: rows of different sequences. Null: sharing does not pay. Valid until the next call. What was
  // found for the step before is kept while the same rows go on, so that most steps look for nothing.
  const SharedBlocks* Find(std::span<const DecodeRow> rows);
  // Items that Find gives at most for so many rows.
  int64_t MostItems(int64_t rows) const { return options_.wanted_items + rows / 2; }

 private:
  struct Group {
    size_t first, last;  // of order_
    int32_t blocks;      // that all of them share
  };

  int32_t FullBlocks(const DecodeRow& row) const { return row.position / options_.block_tokens; }
  bool StillHolds(std::span<const DecodeRow> rows) const;
  void Sort(std::span<const DecodeRow> rows);
  int64_t Saved(const Group& group) const;
  int64_t AddGroups(size_t first, size_t last, std::vector<Group>* groups) const;
  void AddItems(const std::vector<Group>& groups);

  const SharingOptions options_;
  std::vector<std::pair<int32_t, int32_t>> before_;  // slots and positions of the last call's rows
  std::vector<int32_t> order_;                       // rows, by their blocks
  std::vector<int32_t> common_;                      // blocks that order_[i] and the one before it share
  SharedBlocks found_;
  bool pays_ = false;
};

}  // namespace tritogen
