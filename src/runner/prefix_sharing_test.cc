#include "runner/prefix_sharing.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace tritogen {
namespace {

constexpr SharingOptions kOptions = {
    .block_tokens = 4, .rows_of_item = 4, .wanted_items = 6, .least_saved = 2};

// Rows of slots 0, 1, …, each in the middle of its last block.
struct Step {
  explicit Step(std::vector<std::vector<int32_t>> tables) : blocks(std::move(tables)) {
    for (size_t i = 0; i < blocks.size(); ++i) {
      rows.push_back({.slot = static_cast<int32_t>(i),
                      .position = 4 * static_cast<int32_t>(blocks[i].size()) - 3,
                      .blocks = blocks[i]});
    }
  }
  std::vector<std::vector<int32_t>> blocks;
  std::vector<DecodeRow> rows;
};

// What the kernels rely on: of each row's first blocks every one is in one of its items, whose rows have the
// same and are done with them.
void CheckIsRight(const SharedBlocks& found, const Step& step) {
  ASSERT_EQ(found.shares.size(), step.rows.size());
  std::set<int32_t> once(found.members.begin(), found.members.end());
  EXPECT_EQ(once.size(), found.members.size());
  for (size_t r = 0; r < step.rows.size(); ++r) {
    const auto [blocks, item, items, place] = found.shares[r];
    ASSERT_LE(blocks, step.rows[r].position / 4);
    int32_t next = 0;
    for (int32_t i = item; i < item + items; ++i) {
      const auto [first, count, from, to] = found.items.at(i);
      EXPECT_EQ(from, next);
      EXPECT_LT(from, to);
      next = to;
      ASSERT_LE(count, kOptions.rows_of_item);
      ASSERT_LT(place, count);
      EXPECT_EQ(found.members.at(first + place), static_cast<int32_t>(r));
      const std::vector<int32_t>& like = step.blocks[found.members[first]];
      for (int32_t b = from; b < to; ++b) EXPECT_EQ(step.blocks[r].at(b), like.at(b));
    }
    EXPECT_EQ(next, blocks);
  }
}

std::vector<int32_t> BlocksOf(const SharedBlocks& found) {
  std::vector<int32_t> blocks;
  for (const auto& share : found.shares) blocks.push_back(share[0]);
  return blocks;
}

TEST(PrefixSharing, SamplesOfOnePrompt) {
  const Step step({{1, 2, 3, 10}, {5, 6, 20}, {1, 2, 3, 11}, {5, 6, 21, 22}, {7, 30}, {1, 2, 3, 12, 13}});
  PrefixSharing sharing(kOptions);
  const SharedBlocks* found = sharing.Find(step.rows);
  ASSERT_NE(found, nullptr);
  CheckIsRight(*found, step);
  EXPECT_EQ(BlocksOf(*found), (std::vector<int32_t>{3, 2, 3, 2, 0, 3}));
}

TEST(PrefixSharing, OnlyWhereItPays) {
  PrefixSharing sharing(kOptions);
  EXPECT_EQ(sharing.Find(Step({{1, 10}, {1, 11}}).rows), nullptr);  // one block less
  EXPECT_NE(sharing.Find(Step({{1, 10}, {1, 11}, {1, 12}}).rows), nullptr);
  EXPECT_EQ(sharing.Find(Step({{1, 2, 3}, {4, 5, 6}, {7}}).rows), nullptr);
  EXPECT_EQ(sharing.Find({}), nullptr);
  SharingOptions never = kOptions;
  never.rows_of_item = 1;
  EXPECT_EQ(PrefixSharing(never).Find(Step({{1, 2, 9}, {1, 2, 8}, {1, 2, 7}}).rows), nullptr);
}

// A block is read by all only when all have written it.
TEST(PrefixSharing, BlocksInWritingAreNotShared) {
  Step step({{1, 2, 3}, {1, 2, 3}, {1, 2, 3}});
  step.rows[1].position = 5;
  PrefixSharing sharing(kOptions);
  const SharedBlocks* found = sharing.Find(step.rows);
  ASSERT_NE(found, nullptr);
  CheckIsRight(*found, step);
  EXPECT_EQ(BlocksOf(*found), (std::vector<int32_t>{2, 0, 2}));
}

// One beginning for all, and longer ones for some of them: what saves more is taken.
TEST(PrefixSharing, PromptsThatBeginAlike) {
  PrefixSharing sharing(kOptions);
  const Step deep({{1, 2, 3, 4, 10}, {1, 2, 3, 4, 11}, {1, 6, 7, 8, 12}, {1, 6, 7, 8, 13}});
  EXPECT_EQ(BlocksOf(*sharing.Find(deep.rows)), (std::vector<int32_t>{4, 4, 4, 4}));
  const Step broad({{1, 2, 3, 4, 10}, {1, 2, 3, 4, 11}, {1, 2, 3, 12}, {1, 2, 3, 13}});
  EXPECT_EQ(BlocksOf(*sharing.Find(broad.rows)), (std::vector<int32_t>{3, 3, 3, 3}));
}

// Most steps have the rows of the one before, and then nothing is looked for; other rows must not be taken
// for those.
TEST(PrefixSharing, IsKeptWhileTheRowsGoOn) {
  Step step({{1, 2, 10}, {1, 2, 11}, {1, 2, 12}});
  PrefixSharing sharing(kOptions);
  ASSERT_NE(sharing.Find(step.rows), nullptr);
  for (DecodeRow& row : step.rows) ++row.position;
  EXPECT_EQ(BlocksOf(*sharing.Find(step.rows)), (std::vector<int32_t>{2, 2, 2}));
  for (DecodeRow& row : step.rows) ++row.position;
  step.blocks[1][1] = 7;  // another sequence in its slot
  step.rows[1].blocks = step.blocks[1];
  const SharedBlocks* found = sharing.Find(step.rows);
  ASSERT_NE(found, nullptr);
  CheckIsRight(*found, step);
  EXPECT_EQ(BlocksOf(*found), (std::vector<int32_t>{2, 0, 2}));
  step.blocks[1][1] = 2, step.rows[1].position = 9;  // and one that joins the others
  EXPECT_EQ(BlocksOf(*sharing.Find(step.rows)), (std::vector<int32_t>{2, 2, 2}));
  step.blocks[0][0] = step.blocks[1][0] = step.blocks[2][0] = 40;
  step.blocks[0][0] = 41, step.blocks[2][0] = 42;
  for (DecodeRow& row : step.rows) ++row.position;
  EXPECT_EQ(sharing.Find(step.rows), nullptr);
}

TEST(PrefixSharing, AnyTreeOfPrompts) {
  std::mt19937 random(5);
  int shared = 0, most = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::vector<int32_t>> tables(1 + random() % 40);
    const uint32_t branching = 1 + random() % 4;
    for (size_t i = 0; i < tables.size(); ++i) {
      const uint32_t depth = random() % 6;
      int32_t block = 1;
      for (uint32_t d = 0; d < depth; ++d) {
        block = static_cast<int32_t>(block * 7 + random() % branching) % 10007;
        tables[i].push_back(block);
      }
      tables[i].push_back(20000 + static_cast<int32_t>(i));
    }
    const Step step(tables);
    PrefixSharing sharing(kOptions);
    const SharedBlocks* found = sharing.Find(step.rows);
    if (found == nullptr) continue;
    ++shared;
    CheckIsRight(*found, step);
    const auto items = static_cast<int64_t>(found->items.size());
    EXPECT_LE(items, sharing.MostItems(static_cast<int64_t>(step.rows.size())));
    most = std::max<int>(most, static_cast<int>(items));
  }
  EXPECT_GT(shared, 1000);
  EXPECT_GT(most, kOptions.wanted_items);
}

}  // namespace
}  // namespace tritogen
