#include "engine/block_pool.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/error.h"
#include "base/splitmix.h"

namespace tritogen {
namespace {

using Tokens = std::vector<TokenId>;

TEST(BlockPool, NeverHandsOutABlockTwice) {
  BlockPool pool(5, 2);
  std::set<int32_t> taken;
  for (int i = 0; i < 5; ++i) taken.insert(pool.Take());
  EXPECT_EQ(taken.size(), 5u);
  EXPECT_EQ(pool.available(), 0);
  EXPECT_THROW(pool.Take(), InternalError);
  pool.Hold(*taken.begin());
  pool.Release(*taken.begin());
  EXPECT_EQ(pool.available(), 0) << "somebody holds it still";
  pool.Release(*taken.begin());
  EXPECT_EQ(pool.Take(), *taken.begin());
}

TEST(BlockPool, FindsByTokensAndByAllThatStandsBefore) {
  BlockPool pool(8, 2);
  const Tokens ab = {1, 2}, cd = {3, 4};
  const int32_t first = pool.Take(), second = pool.Take();
  EXPECT_TRUE(pool.Remember(first, {.tokens = ab, .prefilled = 2}));
  EXPECT_TRUE(pool.Remember(second, {.before = first, .tokens = cd, .prefilled = 2}));
  EXPECT_EQ(pool.Find({.tokens = ab, .prefilled = 2}), first);
  EXPECT_EQ(pool.holders(first), 2);
  EXPECT_EQ(pool.Find({.before = first, .tokens = cd, .prefilled = 2}), second);
  EXPECT_EQ(pool.Find({.tokens = cd, .prefilled = 2}), BlockPool::kNone) << "stands behind something else";
  EXPECT_EQ(pool.Find({.before = first, .tokens = ab, .prefilled = 2}), BlockPool::kNone);
  EXPECT_EQ(pool.Find({.before = first, .tokens = cd, .prefilled = 1}), BlockPool::kNone)
      << "was computed in another way";
}

TEST(BlockPool, RemembersOneBlockForContents) {
  BlockPool pool(8, 1);
  const Tokens a = {1}, b = {2};
  const int32_t first = pool.Take(), twin = pool.Take(), behind = pool.Take();
  EXPECT_TRUE(pool.Remember(first, {.tokens = a, .prefilled = 1}));
  EXPECT_FALSE(pool.Remember(twin, {.tokens = a, .prefilled = 1}));
  EXPECT_FALSE(pool.Remember(behind, {.before = twin, .tokens = b, .prefilled = 1}))
      << "what it stands behind cannot be found";
}

TEST(BlockPool, ForgetsFirstWhatWasReleasedFirstAndTakesEmptyBlocksBefore) {
  BlockPool pool(4, 1);
  std::vector<int32_t> blocks;
  for (TokenId token = 0; token < 3; ++token) {
    blocks.push_back(pool.Take());
    EXPECT_TRUE(pool.Remember(blocks.back(), {.tokens = Tokens{token}, .prefilled = 1}));
  }
  for (const int i : {1, 0, 2}) pool.Release(blocks[i]);
  EXPECT_EQ(pool.available(), 4);
  const int32_t empty = pool.Take();
  EXPECT_EQ(std::ranges::count(blocks, empty), 0);
  EXPECT_EQ(pool.Find({.tokens = Tokens{0}, .prefilled = 1}), blocks[0]) << "in use again";
  EXPECT_EQ(pool.Take(), blocks[1]);
  EXPECT_EQ(pool.Find({.tokens = Tokens{1}, .prefilled = 1}), BlockPool::kNone);
  EXPECT_EQ(pool.Take(), blocks[2]);
  EXPECT_EQ(pool.available(), 0);
}

TEST(BlockPool, ForgetsAll) {
  BlockPool pool(3, 1);
  const Tokens a = {1}, b = {2};
  const int32_t held = pool.Take(), released = pool.Take();
  pool.Remember(held, {.tokens = a, .prefilled = 1});
  pool.Remember(released, {.before = held, .tokens = b, .prefilled = 1});
  pool.Release(released);
  pool.Forget();
  EXPECT_EQ(pool.Find({.tokens = a, .prefilled = 1}), BlockPool::kNone);
  EXPECT_EQ(pool.available(), 2);
  EXPECT_EQ(pool.holders(held), 1);
  EXPECT_NE(pool.Take(), held);
  EXPECT_NE(pool.Take(), held);
  EXPECT_EQ(pool.available(), 0);
}

// Against a plain twin: chains of random tokens, held and released at random.
TEST(BlockPool, RandomChainsAgreeWithAPlainTwin) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SplitMix random(seed);
    constexpr int32_t kBlocks = 12, kSize = 2;
    BlockPool pool(kBlocks, kSize);
    struct Chain {
      Tokens tokens;
      std::vector<int32_t> blocks;
      bool remembers = true;
    };
    std::vector<Chain> chains;
    std::map<int32_t, Tokens> contents;  // by block: all tokens to its end
    for (int step = 0; step < 300; ++step) {
      if (!chains.empty() && random.Chance(0.4)) {
        const size_t which = random.Below(chains.size());
        for (auto& blocks = chains[which].blocks; !blocks.empty(); blocks.pop_back())
          pool.Release(blocks.back());
        chains.erase(chains.begin() + static_cast<ptrdiff_t>(which));
        continue;
      }
      Chain chain;
      const auto length = static_cast<int32_t>(random.Below(5));
      for (int32_t i = 0; i < length * kSize; ++i)
        chain.tokens.push_back(static_cast<TokenId>(random.Below(2)));
      bool finding = true;
      for (int32_t i = 0; i < length; ++i) {
        const BlockPool::Contents wanted{
            .before = i == 0 ? BlockPool::kNone : chain.blocks.back(),
            .tokens = std::span<const TokenId>(chain.tokens).subspan(i * kSize, kSize),
            .prefilled = kSize};
        const Tokens all(chain.tokens.begin(), chain.tokens.begin() + (i + 1) * kSize);
        int32_t block = finding ? pool.Find(wanted) : BlockPool::kNone;
        if (block != BlockPool::kNone) {
          ASSERT_EQ(contents[block], all) << seed;
        } else {
          finding = false;
          if (pool.available() == 0) break;
          block = pool.Take();
          for (const Chain& other : chains) ASSERT_EQ(std::ranges::count(other.blocks, block), 0) << seed;
          ASSERT_EQ(std::ranges::count(chain.blocks, block), 0);
          contents[block] = all;
          chain.remembers = chain.remembers && pool.Remember(block, wanted);
        }
        chain.blocks.push_back(block);
      }
      chains.push_back(std::move(chain));
      std::map<int32_t, int32_t> holders;
      for (const Chain& c : chains)
        for (const int32_t block : c.blocks) ++holders[block];
      ASSERT_EQ(pool.available(), kBlocks - static_cast<int32_t>(holders.size()));
      for (const auto& [block, count] : holders) ASSERT_EQ(pool.holders(block), count);
    }
  }
}

}  // namespace
}  // namespace tritogen
