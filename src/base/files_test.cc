#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/sha256.h"
#include "base/temp_dir.h"
#include "base/utf8.h"

namespace tritogen {
namespace {

namespace fs = std::filesystem;

TEST(AtomicFileTest, ReplacesWholeFilesAndLeavesNoOthers) {
  const TempDir folder;
  const fs::path path = folder.path() / "file";
  WriteFileAtomic(path, "first");
  WriteFileAtomic(path, "second");
  EXPECT_EQ(ReadFile(path), "second");
  EXPECT_THROW(WriteFileAtomic(folder.path() / "no" / "file", "x"), UserError);
  fs::create_directory(folder.path() / "folder");
  EXPECT_THROW(WriteFileAtomic(folder.path() / "folder", "x"), UserError);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 2);
}

TEST(AtomicFileTest, WritesPiecesAndNothingWhereOneIsMissing) {
  TempDir folder;
  const fs::path path = folder.path() / "out";
  WriteFileAtomic(path, [](const AppendPart& append) {
    append("a");
    append("b");
  });
  EXPECT_EQ(ReadFile(path), "ab");
  const auto fails = [](const AppendPart& append) {
    append("c");
    throw UserError("no more");
  };
  EXPECT_THROW(WriteFileAtomic(path, fails), UserError);
  EXPECT_EQ(ReadFile(path), "ab");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(AtomicFileTest, KeepsTheModeOfTheFileItReplaces) {
  const TempDir folder;
  const fs::path path = folder.path() / "file";
  WriteFileAtomic(path, "x");
  fs::permissions(path, fs::perms(0640));
  WriteFileAtomic(path, "y");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0640));
}

TEST(AtomicFileTest, GivesNewFilesTheModeThatTheUmaskAllows) {
  const TempDir folder;
  const mode_t before = umask(0027);
  WriteFileAtomic(folder.path() / "file", "x");
  EXPECT_EQ(fs::status(folder.path() / "file").permissions(), fs::perms(0640));
  umask(before);
}

TEST(ReadFileTest, NamesWhatIsWrong) {
  const TempDir folder;
  EXPECT_THROW(ReadFile(folder.path() / "missing"), UserError);
  EXPECT_THROW(ReadFile(folder.path()), UserError);
  EXPECT_THROW(ReadFile("/dev/zero"), UserError);
  WriteFileAtomic(folder.path() / "long", std::string(100, 'x'));
  EXPECT_THROW(ReadFile(folder.path() / "long", 99), UserError);
  EXPECT_EQ(ReadFile(folder.path() / "long", 100).size(), 100);
}

TEST(TempDirTest, IsGoneWithItsContents) {
  fs::path path;
  {
    const TempDir folder;
    path = folder.path();
    std::ofstream(path / "file") << "x";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(Sha256Test, MatchesTheStandard) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(Sha256Word("abc"), 0xba7816bf8f01cfeau);
  Sha256 parts;
  for (int i = 0; i < 1000; ++i) parts.Update(std::string(i % 7, 'a'));
  EXPECT_EQ(parts.Digest(), [] {
    Sha256 whole;
    whole.Update(std::string(2997, 'a'));
    return whole.Digest();
  }());
}

TEST(Sha256Test, IsTheSameByInstructions) {
  std::mt19937 random(5);
  for (int size = 0; size < 400; ++size) {
    std::string text(size, '\0');
    for (char& c : text) c = static_cast<char>(random());
    Sha256 plain(Sha256::Way::kPlain), quick(Sha256::Way::kInstructions);
    const size_t cut = random() % (text.size() + 1);
    plain.Update(text);
    quick.Update(text.substr(0, cut));
    quick.Update(text.substr(cut));
    EXPECT_EQ(plain.Digest(), quick.Digest()) << size << " bytes, cut at " << cut;
  }
}

TEST(Utf8Test, KnowsWellFormedText) {
  EXPECT_TRUE(IsUtf8("aä€😀"));
  for (const char* bad : {"\x80", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\xff"})
    EXPECT_FALSE(IsUtf8(bad));
}

TEST(Utf8Test, PrintsNothingATerminalObeys) {
  EXPECT_EQ(PrintableText("a\x1b[2J\n\tü\xff\xc2\x9b", 100), "a?[2J\n\tü??");
  EXPECT_EQ(PrintableText("passed\u202edessap\u2066\u200f", 100), "passed?dessap??") << "directions";
  EXPECT_LT(PrintableText(std::string(1000, 'x'), 100).size(), 120);
}

TEST(ProcessTest, GivesOutputAndStatus) {
  const ProcessResult result = RunProcess({"sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(result.output, "out\n");
  EXPECT_EQ(result.error, "err\n");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(RunProcess({"sh", "-c", "kill -9 $$"}).signal, 9);
  EXPECT_THROW(RunProcess({"/no/such/program"}), UserError);
}

TEST(ProcessTest, BoundsTimeAndOutput) {
  EXPECT_TRUE(RunProcess({"sleep", "100"}, {.wall_seconds = 0.1}).timed_out);
  EXPECT_EQ(RunProcess({"sh", "-c", "yes | head -c 100000"}, {.max_output_bytes = 1000}).output.size(), 1000);
}

// A dead process that nobody has waited for is gone, too.
bool IsGone(const std::string& pid) {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  std::string number, name, state;
  return !(stat >> number >> name >> state) || state == "Z" || state == "X";
}

TEST(ProcessTest, InItsOwnGroupTakesItsChildrenAlong) {
  const ProcessResult result =
      RunProcess({"sh", "-c", "sleep 100 & echo $!; wait"}, {.wall_seconds = 0.3, .in_own_group = true});
  EXPECT_TRUE(result.timed_out);
  const std::string child = result.output.substr(0, result.output.find('\n'));
  ASSERT_FALSE(child.empty());
  for (int i = 0; i < 500 && !IsGone(child); ++i) usleep(10'000);
  EXPECT_TRUE(IsGone(child));
}

TEST(FdTest, MemoryFilesAreSealed) {
  const UniqueFd file = MakeMemoryFile("contents");
  std::string text;
  while (ReadAvailable(file.get(), &text)) {
  }
  EXPECT_EQ(text, "contents");
}

TEST(AtomicFile, DevicesAndPipesAreWrittenToAndNotReplaced) {
  const std::filesystem::path pipe = std::filesystem::path(testing::TempDir()) / "atomic_file_test_pipe";
  std::filesystem::remove(pipe);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  WriteFileAtomic(pipe, "through");
  char got[16] = {};
  EXPECT_EQ(read(reader, got, sizeof(got)), 7);
  EXPECT_STREQ(got, "through");
  close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  std::filesystem::remove(pipe);
  EXPECT_THROW(WriteFileAtomic("/dev/full", "nobody has room for this"), UserError);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

}  // namespace
}  // namespace tritogen
