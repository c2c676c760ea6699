#include "cli/json_lines.h"

#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/temp_dir.h"

namespace tritogen {
namespace {

TEST(MayBeCutLine, IsTheBeginningOfAnObjectWithAnId) {
  for (const char* end : {"", "{", "{\"", R"({"id": "1", "verd)", R"({"finish":"stop","id":"a"})"})
    EXPECT_TRUE(MayBeCutLine(end)) << end;
  for (const char* end : {"import torch", "[1, 2", "{x", "{}", "12", R"({"a": 1})", " {\"id\": 1"})
    EXPECT_FALSE(MayBeCutLine(end)) << end;
}

TEST(ReadOldLines, CutsOffWhatIsBehindTheLastWholeOne) {
  const TempDir folder;
  const std::string path = folder.path() / "lines";
  const auto take = [](const nlohmann::json& line) {
    return !line.is_object() ? OldLine::kForeign : line.contains("end") ? OldLine::kWhole : OldLine::kPart;
  };
  EXPECT_EQ(ReadOldLines(path, take), 0);
  const std::string whole = "{\"id\": 1}\n{\"end\": 1}\n";
  for (const char* rest : {"", "{\"id\": 2}\n", "{\"id\": 2, \"en"}) {
    WriteFileAtomic(path, whole + rest);
    EXPECT_EQ(ReadOldLines(path, take), 0) << rest;
    EXPECT_EQ(ReadFile(path), whole) << rest;
  }
  for (const char* rest : {"import torch\n", "import torch"}) {
    WriteFileAtomic(path, whole + rest);
    EXPECT_EQ(ReadOldLines(path, take), 3) << rest;
    EXPECT_EQ(ReadFile(path), whole + rest) << rest;
  }
}

TEST(AppendedLines, GoBehindTheOthersOrSayThatTheyDoNot) {
  const TempDir folder;
  const std::string path = folder.path() / "lines";
  for (const char* line : {"1\n", "2\n"}) AppendedLines(path).Write(line);
  EXPECT_EQ(ReadFile(path), "1\n2\n");
  EXPECT_FALSE(AppendedLines().is_open());
  EXPECT_THROW(AppendedLines("/dev/full").Write("1\n"), UserError);
  EXPECT_THROW(AppendedLines(folder.path() / "no" / "folder"), UserError);
}

}  // namespace
}  // namespace tritogen
