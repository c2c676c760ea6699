#include "serve/inbox.h"

#include <gtest/gtest.h>

namespace tritogen::serve {
namespace {

Sample Of(TokenId token) {
  return {.chosen = {token, -1}, .top = {}};
}

TEST(InboxTest, WakesOnceAndJoinsChunksOfASequence) {
  int woken = 0;
  Inbox inbox([&] { ++woken; });
  const auto later = Inbox::Clock::now();
  inbox.Put({7, 0, {.index = 1, .samples = {Of(1)}, .text = "a"}, later});
  inbox.Put({7, 0, {.index = 0, .samples = {Of(2)}, .text = "b"}, later});
  inbox.Put({7, 1, {.index = 1, .samples = {Of(3)}, .text = "c"}, later});
  inbox.Put(
      {7,
       0,
       {.index = 1, .samples = {Of(4), Of(5)}, .text = "d", .finish = FinishReason::kError, .error = "e"},
       later});
  EXPECT_EQ(woken, 1);
  const auto items = inbox.Take();
  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(items[0].chunk.text, "ad");
  EXPECT_EQ(items[0].chunk.samples.size(), 3u);
  EXPECT_EQ(items[0].chunk.samples[2].chosen.token, 5);
  EXPECT_EQ(items[0].chunk.finish, FinishReason::kError);
  EXPECT_EQ(items[0].chunk.error, "e");
  EXPECT_EQ(items[1].chunk.text, "b");
  EXPECT_EQ(items[2].chunk.text, "c");
  inbox.Put({7, 0, {.text = "f"}, later});
  EXPECT_EQ(woken, 2);
  EXPECT_EQ(inbox.Take().size(), 1u);
  inbox.Close();
  inbox.Put({8, 0, {}, later});
  EXPECT_EQ(woken, 2);
  EXPECT_TRUE(inbox.Take().empty());
}

}  // namespace
}  // namespace tritogen::serve
