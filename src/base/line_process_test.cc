#include "base/line_process.h"

#include <gtest/gtest.h>

namespace tritogen {
namespace {

TEST(LineProcess, AnswersLineByLineAndStays) {
  LineProcess cat({"cat"});
  std::string answer;
  for (const std::string& line : {std::string("one"), std::string(), std::string(3 << 20, 'x')}) {
    ASSERT_TRUE(cat.Ask(line, 20, &answer));
    EXPECT_EQ(answer, line);
    EXPECT_TRUE(cat.running());
  }
}

TEST(LineProcess, WhatEndsHangsOrIsNotThereGivesNoAnswer) {
  std::string answer;
  for (const std::vector<std::string>& argv :
       {std::vector<std::string>{"true"}, {"sleep", "60"}, {"/no/such/program"}, {"printf", "half a line"}}) {
    LineProcess process(argv);
    EXPECT_FALSE(process.Ask("hello", 0.3, &answer)) << argv[0];
    EXPECT_FALSE(process.running());
  }
}

TEST(LineProcess, StartsAnewAfterItEnded) {
  LineProcess once({"head", "-n", "1"});
  std::string answer;
  ASSERT_TRUE(once.Ask("one", 20, &answer));
  once.Ask("lost", 20, &answer);
  ASSERT_TRUE(once.Ask("two", 20, &answer));
  EXPECT_EQ(answer, "two");
}

}  // namespace
}  // namespace tritogen
