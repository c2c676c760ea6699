#include "cli/files.h"

#include <gtest/gtest.h>

#include <set>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/temp_dir.h"

namespace tritogen {
namespace {

// The message with which a file is refused; empty when it is not.
std::string Refusal(const std::filesystem::path& path) {
  try {
    ReadSource(path);
    return "";
  } catch (const UserError& error) {
    return error.what();
  }
}

TEST(ReadSource, GivesTheWholeText) {
  TempDir folder;
  const auto path = folder.path() / "program.py";
  WriteFileAtomic(path, "x = 'é'\n");
  EXPECT_EQ(ReadSource(path), "x = 'é'\n");
}

TEST(ReadSource, LeavesOutAByteOrderMark) {
  TempDir folder;
  const auto path = folder.path() / "program.py";
  WriteFileAtomic(path, "\xef\xbb\xbfx = 1\n");
  EXPECT_EQ(ReadSource(path), "x = 1\n");
}

TEST(ReadSource, NamesTheFileAndWhatIsWrongWithIt) {
  TempDir folder;
  const auto path = folder.path() / "program.py";
  auto refusal_of = [&](const std::string& text) {
    WriteFileAtomic(path, text);
    return Refusal(path);
  };
  for (const auto& [message, word] : {std::pair(Refusal(path), "No such file"),
                                      {refusal_of(""), "empty"},
                                      {refusal_of("x = '\xff'\n"), "UTF-8"},
                                      {refusal_of(std::string((4 << 20) + 1, ' ')), "longer"}}) {
    EXPECT_NE(message.find("program.py"), std::string::npos) << message;
    EXPECT_NE(message.find(word), std::string::npos) << message;
  }
  EXPECT_NE(Refusal(folder.path()), "") << "a folder";
}

TEST(RequireWritable, ComplainsBeforeTheWorkIsDone) {
  const TempDir folder;
  RequireWritable("");
  RequireWritable("in_this_folder.py");
  RequireWritable(folder.path() / "new.py");
  EXPECT_THROW(RequireWritable(folder.path() / "missing/new.py"), UserError);
  EXPECT_THROW(RequireWritable(folder.path()), UserError);
}

TEST(RequireWritable, KeepsWhatTheCommandReads) {
  const TempDir folder;
  const std::string read = folder.path() / "read.py", same = folder.path() / "./read.py";
  WriteFileAtomic(read, "x");
  RequireWritable(folder.path() / "new.py", {read, folder.path() / "missing.py"});
  RequireWritable("", {""});
  EXPECT_THROW(RequireWritable(same, {folder.path() / "missing.py", read}), UserError);
  EXPECT_THROW(RequireWritable(folder.path() / "new.py", {folder.path() / "new.py"}), UserError);
}

TEST(SecretSeed, FitsAJsonNumberAndIsNewEachTime) {
  std::set<uint64_t> seeds;
  for (int i = 0; i < 100; ++i) seeds.insert(SecretSeed());
  EXPECT_EQ(seeds.size(), 100u);
  EXPECT_LT(*seeds.rbegin(), uint64_t{1} << 53);
}

}  // namespace
}  // namespace tritogen
