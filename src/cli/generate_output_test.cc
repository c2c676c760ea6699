#include "cli/generate_output.h"

#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/temp_dir.h"

namespace tritogen {
namespace {

std::string Line(const char* id, int index) {
  return fmt::format("{{\"finish\":\"stop\",\"id\":\"{}\",\"index\":{}}}\n", id, index);
}

TEST(AnsweredIds, AreThoseWithAllAnswersAndWhatAKillLeftIsCutOff) {
  const TempDir folder;
  const std::string path = folder.path() / "out.jsonl", whole = Line("a", 0) + Line("a", 1);
  EXPECT_TRUE(AnsweredIds(path, 2).empty());
  for (const std::string& left : {std::string(), std::string("{"), Line("b", 0), Line("b", 0) + "{\"fin"}) {
    WriteFileAtomic(path, whole + left);
    EXPECT_EQ(AnsweredIds(path, 2), std::set<std::string>{"a"});
    EXPECT_EQ(ReadFile(path), whole);
  }
}

// It was cut to nothing where its one line had no line break.
TEST(AnsweredIds, AFileOfSomebodyElseIsLeftAlone) {
  const TempDir folder;
  const std::string path = folder.path() / "notes";
  for (const std::string text :
       {"my notes", "my notes\n", "{\"vocab_size\": 1}", "{\"vocab_size\": 1}\n", "{\n}", "{}"}) {
    WriteFileAtomic(path, text);
    EXPECT_THROW(AnsweredIds(path, 1), UserError) << text;
    EXPECT_EQ(ReadFile(path), text);
  }
}

}  // namespace
}  // namespace tritogen
