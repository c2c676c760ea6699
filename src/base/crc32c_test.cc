#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace tritogen {
namespace {

TEST(Crc32cTest, MatchesTheStandard) {  // RFC 3720, B.4
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(""), 0u);
}

TEST(Crc32cTest, GoesOnBehindWhatItHas) {
  const std::string text = "It may come in parts, of whatever length they are.";
  for (size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(Crc32c(text.substr(cut), Crc32c(text.substr(0, cut))), Crc32c(text));
}

}  // namespace
}  // namespace tritogen
