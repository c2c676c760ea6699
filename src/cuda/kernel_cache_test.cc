#include "cuda/kernel_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/sha256.h"
#include "base/temp_dir.h"

namespace tritogen::cuda {
namespace {

namespace fs = std::filesystem;

std::string Key(int i) {
  return Sha256Hex(std::to_string(i));
}

std::vector<fs::path> Files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  return files;
}

int64_t Bytes(const fs::path& folder) {
  int64_t total = 0;
  for (const fs::path& file : Files(folder)) total += static_cast<int64_t>(fs::file_size(file));
  return total;
}

TEST(KernelCache, GivesBackWhatWasPut) {
  TempDir folder;
  KernelCache cache(folder.path() / "deeper", 1 << 20);
  EXPECT_EQ(cache.Get(Key(1)), std::nullopt);
  cache.Put(Key(1), std::string("a\0b", 3));
  cache.Put(Key(2), "");
  EXPECT_EQ(cache.Get(Key(1)), std::string("a\0b", 3));
  EXPECT_EQ(cache.Get(Key(2)), "");
  EXPECT_EQ(KernelCache(folder.path() / "deeper", 1 << 20).Get(Key(1)), std::string("a\0b", 3));
}

TEST(KernelCache, WhatIsDamagedIsGone) {
  TempDir folder;
  KernelCache cache(folder.path(), 1 << 20);
  const std::string payload(1000, 'x');
  cache.Put(Key(1), payload);
  const fs::path file = Files(folder.path()).at(0);
  const std::string whole = ReadFile(file);
  std::string flipped = whole;
  flipped[whole.size() - 5] ^= 1;
  for (const std::string& text :
       {flipped, whole.substr(0, 40), whole.substr(0, whole.size() - 1), std::string(), whole + "x"}) {
    WriteFileAtomic(file, text);
    EXPECT_EQ(cache.Get(Key(1)), std::nullopt);
    EXPECT_FALSE(fs::exists(file));
  }
  fs::create_directories(file / "a folder where a file should be");
  EXPECT_EQ(cache.Get(Key(1)), std::nullopt);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(cache.Get(Key(1)), std::nullopt);
  cache.Put(Key(1), payload);
  EXPECT_EQ(cache.Get(Key(1)), payload);
}

TEST(KernelCache, TheLeastRecentlyUsedGoFirst) {
  TempDir folder;
  constexpr int64_t kLimit = 100000;
  KernelCache cache(folder.path(), kLimit);
  const std::string payload(9000, 'x');
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(3);
  for (int i = 0; i < 8; ++i) cache.Put(Key(i), payload);
  for (const fs::path& file : Files(folder.path())) fs::last_write_time(file, long_ago);
  EXPECT_TRUE(cache.Get(Key(0)));
  for (int i = 100; i < 120; ++i) {
    cache.Put(Key(i), payload);
    EXPECT_TRUE(cache.Get(Key(0)));  // used all the time
    EXPECT_LE(Bytes(folder.path()), kLimit * 9 / 8);
  }
  EXPECT_FALSE(cache.Get(Key(1)));
  EXPECT_TRUE(cache.Get(Key(119)));
}

TEST(KernelCache, FilesThatKilledWritersLeftGoSomeTime) {
  TempDir folder;
  KernelCache cache(folder.path(), 1000);
  const fs::path left = folder.path() / "ab" / "cdef.XyZaBc";
  fs::create_directories(left.parent_path());
  std::ofstream(left) << "half";
  fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(3));
  cache.Put(Key(1), std::string(500, 'x'));
  EXPECT_FALSE(fs::exists(left));
}

// Every reader sees nothing or the whole of an entry, whoever writes, reads and evicts meanwhile.
TEST(KernelCache, ManyProcessesShareAFolder) {
  TempDir folder;
  auto payload_of = [](int i) { return std::string(2000 + 10 * i, static_cast<char>('a' + i)); };
  std::vector<pid_t> children;
  for (int process = 0; process < 4; ++process) {
    const pid_t pid = fork();
    if (pid == 0) {
      int wrong = 0;
      KernelCache cache(folder.path(), 30000);
      for (int round = 0; round < 40; ++round) {
        const int i = (round * 7 + process) % 20;
        const auto found = cache.Get(Key(i));
        wrong += found && *found != payload_of(i);
        if (!found) cache.Put(Key(i), payload_of(i));
      }
      _exit(wrong);
    }
    children.push_back(pid);
  }
  for (pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_LE(Bytes(folder.path()), 30000 * 3 / 2);
}

TEST(KernelCache, WhatCannotBeWrittenIsNotKept) {
  TempDir folder;
  KernelCache cache(folder.path(), 1000);
  std::ofstream(folder.path() / Key(1).substr(0, 2)) << "in the way";
  cache.Put(Key(1), "payload");
  EXPECT_EQ(cache.Get(Key(1)), std::nullopt);
  cache.Put(Key(2), "payload");
  EXPECT_EQ(cache.Get(Key(2)), "payload");
}

TEST(KernelCache, AFolderThatCannotBeMadeIsAnError) {
  TempDir folder;
  std::ofstream(folder.path() / "file") << "x";
  EXPECT_THROW(KernelCache(folder.path() / "file" / "cache", 1000), UserError);
}

}  // namespace
}  // namespace tritogen::cuda
