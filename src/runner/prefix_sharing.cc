#include "runner/prefix_sharing.h"

#include <algorithm>
#include <numeric>

#include "base/rounding.h"

namespace tritogen {

const SharedBlocks* PrefixSharing::Find(std::span<const DecodeRow> rows) {
  if (options_.rows_of_item < 2) return nullptr;
  const bool holds = StillHolds(rows);
  before_.clear();
  for (const DecodeRow& row : rows) before_.emplace_back(row.slot, row.position);
  if (!holds) {
    Sort(rows);
    std::vector<Group> groups;
    pays_ = AddGroups(0, rows.size(), &groups) >= std::max<int64_t>(1, options_.least_saved);
    found_ = {};
    found_.shares.resize(rows.size());
    if (pays_) AddItems(groups);
  }
  return pays_ ? &found_ : nullptr;
}

// Sequences that go on share no more than before, and no less. Rows that seem to go on may be of others, so
// that blocks are compared.
bool PrefixSharing::StillHolds(std::span<const DecodeRow> rows) const {
  const bool go_on = std::ranges::equal(rows, before_, [](const DecodeRow& row, const auto& before) {
    return row.slot == before.first && row.position == before.second + 1;
  });
  if (!go_on || !pays_) return go_on;
  for (const auto& [first, count, from, to] : found_.items) {
    const DecodeRow& like = rows[found_.members[first]];
    for (int32_t i = first; i < first + count; ++i) {
      const DecodeRow& row = rows[found_.members[i]];
      if (FullBlocks(row) < to ||
          !std::equal(row.blocks.begin(), row.blocks.begin() + to, like.blocks.begin())) {
        return false;
      }
    }
  }
  return true;
}

void PrefixSharing::Sort(std::span<const DecodeRow> rows) {
  const auto full = [&](int32_t row) { return rows[row].blocks.first(FullBlocks(rows[row])); };
  order_.resize(rows.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::ranges::sort(
      order_, [&](int32_t a, int32_t b) { return std::ranges::lexicographical_compare(full(a), full(b)); });
  common_.assign(rows.size(), 0);
  for (size_t i = 1; i < rows.size(); ++i) {
    const auto a = full(order_[i - 1]), b = full(order_[i]);
    common_[i] = static_cast<int32_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  }
}

int64_t PrefixSharing::Saved(const Group& group) const {
  const auto rows = static_cast<int64_t>(group.last - group.first);
  return group.blocks * (rows - CeilDiv(rows, options_.rows_of_item));
}

// A row may be in one group only: all rows of a range with what all of them share, or its parts with more
// (samples of several prompts that begin alike). Adds what saves most, and returns how much that is.
int64_t PrefixSharing::AddGroups(size_t first, size_t last, std::vector<Group>* groups) const {
  if (last - first < 2) return 0;
  const Group whole = {first, last, *std::min_element(&common_[first + 1], common_.data() + last)};
  std::vector<Group> parts;
  int64_t saved = 0;
  for (size_t from = first, i = first + 1; i <= last; ++i) {
    if (i < last && common_[i] > whole.blocks) continue;
    saved += AddGroups(from, i, &parts);
    from = i;
  }
  if (Saved(whole) > saved) {
    groups->push_back(whole);
    return Saved(whole);
  }
  groups->insert(groups->end(), parts.begin(), parts.end());
  return saved;
}

// The blocks of all tiles of rows are cut into pieces of one length, of which there are about as many as are
// wanted.
void PrefixSharing::AddItems(const std::vector<Group>& groups) {
  int64_t blocks = 0;
  for (const Group& g : groups) {
    blocks += g.blocks * CeilDiv(static_cast<int64_t>(g.last - g.first), options_.rows_of_item);
  }
  const auto each = static_cast<int32_t>(CeilDiv<int64_t>(blocks, options_.wanted_items));
  for (const Group& g : groups) {
    for (size_t from = g.first; from < g.last; from += options_.rows_of_item) {
      const auto count = static_cast<int32_t>(std::min<size_t>(options_.rows_of_item, g.last - from));
      const auto member = static_cast<int32_t>(found_.members.size());
      const auto item = static_cast<int32_t>(found_.items.size());
      for (int32_t b = 0; b < g.blocks; b += each) {
        found_.items.push_back({member, count, b, std::min(b + each, g.blocks)});
      }
      const auto items = static_cast<int32_t>(found_.items.size()) - item;
      for (int32_t i = 0; i < count; ++i) {
        found_.members.push_back(order_[from + i]);
        found_.shares[order_[from + i]] = {g.blocks, item, items, i};
      }
    }
  }
}

}  // namespace tritogen
