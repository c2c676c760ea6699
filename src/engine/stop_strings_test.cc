#include "engine/stop_strings.h"

#include <gtest/gtest.h>

#include "base/splitmix.h"

namespace tritogen {
namespace {

using Strings = std::vector<std::string>;

TEST(StopStrings, HoldsBackWhatMayBecomeOne) {
  const Strings stops = {"END", "\n\n"};
  StopStrings text(&stops);
  EXPECT_EQ(text.Add("aE"), "a");
  EXPECT_EQ(text.Add("N"), "");
  EXPECT_EQ(text.Add("E"), "EN");
  EXPECT_EQ(text.Add("ND of it"), "");
  EXPECT_TRUE(text.found());
  EXPECT_EQ(text.Add("more"), "");
  EXPECT_EQ(text.Finish(), "");
}

TEST(StopStrings, GivesBackWhatCameToNothing) {
  const Strings stops = {"END"};
  StopStrings text(&stops);
  EXPECT_EQ(text.Add("the EN"), "the ");
  EXPECT_EQ(text.Finish(), "EN");
  EXPECT_FALSE(text.found());
}

TEST(StopStrings, TheFirstThatIsCompleteCountsAndOfSeveralTheLongest) {
  for (const auto& [stops, expected] : {std::pair(Strings{"abc", "b"}, ""),
                                        {Strings{"bcd", "c"}, "ab"},
                                        {Strings{"c", "bc"}, "a"},
                                        {Strings{"bc", "c"}, "a"}}) {
    const std::string whole = stops[0] == "abc" ? "xb" : "abcd";
    StopStrings text(&stops);
    EXPECT_EQ(text.Add(whole), stops[0] == "abc" ? "x" : expected);
    EXPECT_TRUE(text.found());
  }
}

// The plain twin: the prefix of the text that ends first with a stop string.
std::string Plain(const std::string& text, const Strings& stops) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const std::string& stop : stops)
      if (std::string_view(text).substr(0, end).ends_with(stop)) longest = std::max(longest, stop.size());
    if (longest > 0) return text.substr(0, end - longest);
  }
  return text;
}

TEST(StopStrings, HoweverTheTextIsCut) {
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    SplitMix random(seed);
    auto word = [&](uint64_t most) {
      std::string word;
      for (uint64_t i = 1 + random.Below(most); i > 0; --i) word += "ab\xc3"[random.Below(3)];
      return word;
    };
    Strings stops;
    for (uint64_t i = random.Below(4); i > 0; --i) stops.push_back(word(5));
    const std::string whole = word(20);
    StopStrings text(&stops);
    std::string got;
    for (size_t at = 0; at < whole.size();) {
      const size_t piece = std::min<size_t>(whole.size() - at, 1 + random.Below(4));
      got += text.Add(whole.substr(at, piece));
      at += piece;
      ASSERT_TRUE(whole.starts_with(got));
    }
    got += text.Finish();
    ASSERT_EQ(got, Plain(whole, stops)) << seed;
  }
}

}  // namespace
}  // namespace tritogen
