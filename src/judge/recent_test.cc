#include "judge/recent.h"

#include <gtest/gtest.h>

#include <string>

namespace tritogen {
namespace {

struct Kept {
  std::string key;
};

TEST(FindRecent, WhatIsFoundComesFirstAndStaysWhereItLies) {
  std::list<Kept> kept = {{"a"}, {"b"}, {"c"}};
  const Kept* c = &kept.back();
  EXPECT_EQ(FindRecent(&kept, "c"), c);
  EXPECT_EQ(&kept.front(), c);
  EXPECT_EQ(kept.back().key, "b");  // the next to go
  EXPECT_EQ(FindRecent(&kept, "d"), nullptr);
  EXPECT_EQ(kept.size(), 3u);
}

}  // namespace
}  // namespace tritogen
