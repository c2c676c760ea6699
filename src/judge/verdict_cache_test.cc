#include "judge/verdict_cache.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <set>

#include "base/atomic_file.h"
#include "base/temp_dir.h"

namespace tritogen {
namespace {

namespace fs = std::filesystem;

Verdict Passed() {
  Verdict verdict{.outcome = Outcome::kPassed, .reason = "right in 8 trials", .seed = 7, .plan_hash = "ab"};
  verdict.errors = {{.output = 1, .candidate = 1e-7, .eager = 2e-7, .budget = 1e-6, .trial = "spread"}};
  verdict.errors[0].used = {{"spread", 0.1}, {"generated", 0.05}};
  verdict.work = {.flops = 1, .bytes = 0.5};
  verdict.timing = {{"device", "NVIDIA H200"}};
  verdict.notes = {"weights matched by seed"};
  verdict.seconds = 0.25;
  return verdict;
}

Verdict Wrong() {
  Verdict verdict{.outcome = Outcome::kWrongValues, .reason = "output 0 is wrong", .rule = "tf32"};
  verdict.evidence = {{"index", {1, 2}}, {"line", 12}};
  verdict.errors = {{.candidate = std::nan(""), .allclose = 0.5, .trial = "generated"}};
  verdict.errors[0].used = {{"generated", HUGE_VAL}};
  return verdict;
}

// What runs in another process; its exit code tells whether it returned true.
pid_t Fork(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  return child;
}

bool Succeeds(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 0;
}

class VerdictCacheTest : public testing::Test {
 protected:
  VerdictCacheOptions Options() const { return {.file = file_, .verifier = "this one"}; }

  void Sql(const std::string& statement) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(file_.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, statement.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << statement;
    sqlite3_close(database);
  }

  std::set<std::string> FilesSetAside() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(file_.parent_path())) {
      const std::string name = entry.path().filename();
      if (name.find("set-aside") != std::string::npos) names.insert(name);
    }
    return names;
  }

  TempDir folder_;
  const fs::path file_ = folder_.path() / "deep/verdicts.sqlite";
};

TEST_F(VerdictCacheTest, FindsWhatWasKept) {
  VerdictCache cache(Options());
  ASSERT_TRUE(cache.usable());
  EXPECT_EQ(cache.TakeWarning(), "");
  EXPECT_FALSE(cache.Find("a", "source"));
  cache.Keep("a", "source", Passed());
  cache.Keep("b", "source", Wrong());
  const auto passed = cache.Find("a", "source"), wrong = cache.Find("b", "source");
  ASSERT_TRUE(passed && wrong);
  for (auto [found, kept] : {std::pair(*passed, Passed()), {*wrong, Wrong()}}) {
    kept.made = found.made;
    EXPECT_EQ(found.ToJson(), kept.ToJson());
  }
  EXPECT_EQ(passed->ToJson().at("cached"), true);
  EXPECT_EQ(passed->made.substr(0, 2), "20");
  EXPECT_EQ(Passed().ToJson().at("cached"), false);
}

TEST_F(VerdictCacheTest, OutlivesTheProcess) {
  ASSERT_TRUE(Succeeds(Fork([&] {
    VerdictCache(Options()).Keep("a", "source", Passed());
    return true;
  })));
  EXPECT_TRUE(VerdictCache(Options()).Find("a", "source"));
}

TEST_F(VerdictCacheTest, EvidenceIsOfOneSource) {
  VerdictCache cache(Options());
  cache.Keep("a", "source", Passed());
  cache.Keep("b", "source", Wrong());
  EXPECT_TRUE(cache.Find("a", "# a comment\nsource"));
  EXPECT_FALSE(cache.Find("b", "# a comment\nsource"));
}

TEST_F(VerdictCacheTest, KeepsOnlyWhatAnotherRunWouldSayToo) {
  VerdictCache cache(Options());
  const std::set<Outcome> kept = {Outcome::kPassed,      Outcome::kWrongShape,  Outcome::kWrongDtype,
                                  Outcome::kWrongValues, Outcome::kMemoryError, Outcome::kRejected};
  for (int i = 0; i <= static_cast<int>(Outcome::kInfraError); ++i) {
    const auto outcome = static_cast<Outcome>(i);
    cache.Keep("a", "", Passed());
    cache.Keep("a", "", Verdict{.outcome = outcome});
    const auto found = cache.Find("a", "");
    EXPECT_EQ(found.has_value(), kept.contains(outcome)) << OutcomeName(outcome);
    EXPECT_EQ(found.value_or(Verdict{.outcome = outcome}).outcome, outcome);
  }
  Verdict hurried = Passed();
  hurried.hurried = true;
  cache.Keep("a", "", hurried);
  EXPECT_FALSE(cache.Find("a", ""));
  cache.Keep("a", "", Verdict{.outcome = Outcome::kRejected, .rule = "roofline"});
  EXPECT_FALSE(cache.Find("a", ""));
}

TEST_F(VerdictCacheTest, PassesUnderDrawnSeedsAreJudgedAnewNowAndThen) {
  auto missing = [&](const Verdict& verdict, bool seed_is_drawn) {
    VerdictCacheOptions options = Options();
    options.seed_is_drawn = seed_is_drawn;
    VerdictCache cache(options);
    cache.Keep("a", "", verdict);
    int missing = 0;
    for (int i = 0; i < 40 * kSpotCheck; ++i) missing += !cache.Find("a", "");
    return missing;
  };
  EXPECT_EQ(missing(Passed(), false), 0);
  EXPECT_EQ(missing(Wrong(), true), 0);
  const int spot_checks = missing(Passed(), true);
  EXPECT_GT(spot_checks, 5);  // 40 are expected; fewer than 6 happen once in 10¹¹ runs
  EXPECT_LT(spot_checks, 120);
}

TEST(VerdictKey, HasAllThatDecides) {
  std::set<std::string> keys;
  auto add = [&](const VerdictCacheOptions& cache, const VerifyOptions& options,
                 const std::string& executor = "tile machine", const std::string& candidate = "c",
                 const std::string& reference = "r") {
    return keys.insert(VerdictKey(cache, options, executor, candidate, reference)).second;
  };
  EXPECT_TRUE(add({}, {}));
  EXPECT_TRUE(add({}, {.mode = Mode::kStrict}));
  EXPECT_TRUE(add({}, {.fp32_precision = Fp32Precision::kTf32}));
  EXPECT_TRUE(add({}, {.seed = 1}));
  EXPECT_TRUE(add({.verifier = "another"}, {}));
  EXPECT_TRUE(add({}, {}, "NVIDIA H200, driver 13000"));
  EXPECT_TRUE(add({}, {}, "tile machine", "another"));
  EXPECT_TRUE(add({}, {}, "tile machine", "c", "another"));
  EXPECT_TRUE(add({}, {.on_gpu = true}));
  EXPECT_TRUE(add({}, {.on_gpu = true, .timing_samples = 20}));
  EXPECT_TRUE(add({}, {.on_gpu = true, .timing_seconds = 3}));
  EXPECT_TRUE(add({}, {.on_gpu = true, .against_itself = true}));
  EXPECT_TRUE(add({.seed_is_drawn = true}, {}));
  EXPECT_FALSE(add({.seed_is_drawn = true}, {.seed = 1})) << "which seed was drawn is nothing to go by";
  EXPECT_FALSE(add({}, {.threads = 3, .budget_seconds = 7, .timing_samples = 20}));
}

TEST_F(VerdictCacheTest, ManyProcessesWriteAtOnce) {
  constexpr int kProcesses = 8, kEach = 50;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    children.push_back(Fork([&, p] {
      VerdictCache cache(Options());
      for (int i = 0; i < kEach; ++i) {
        cache.Keep(std::to_string(p * kEach + i), "", Passed());
        cache.Keep("all", "", Wrong());
        if (!cache.Find("all", "")) return false;
      }
      return cache.TakeWarning().empty();
    }));
  }
  for (const pid_t child : children) EXPECT_TRUE(Succeeds(child));
  VerdictCache cache(Options());
  for (int i = 0; i < kProcesses * kEach; ++i) EXPECT_TRUE(cache.Find(std::to_string(i), "")) << i;
}

TEST_F(VerdictCacheTest, WhatWasNotUsedForLongestGoesFirst) {
  constexpr int kCount = 400;
  VerdictCacheOptions options = Options();
  options.max_bytes = 1 << 20;
  VerdictCache cache(options);
  Verdict large = Passed();
  large.notes = {std::string(10000, 'x')};
  cache.Keep("old but in use", "", large);
  cache.Keep("old", "", large);
  Sql("UPDATE verdicts SET used = used - 100000");
  for (int i = 0; i < kCount; ++i) {
    cache.Keep(std::to_string(i), "", large);
    if (i % 20 == 0) Sql("UPDATE verdicts SET used = used - 5000");  // time passes
    EXPECT_TRUE(cache.Find("old but in use", "")) << i;
  }
  EXPECT_FALSE(cache.Find("old", ""));
  EXPECT_FALSE(cache.Find("0", ""));
  EXPECT_TRUE(cache.Find(std::to_string(kCount - 1), ""));
  EXPECT_LT(fs::file_size(file_), options.max_bytes + (64 << 10));
}

TEST_F(VerdictCacheTest, WhatIsNoneOfItsFilesIsSetAside) {
  fs::create_directories(file_.parent_path());
  const std::string text = "a diary, say: " + std::string(5000, '.');
  WriteFileAtomic(file_, text);
  {
    VerdictCache cache(Options());
    EXPECT_TRUE(cache.usable());
    const std::string warning = cache.TakeWarning();
    EXPECT_NE(warning.find("verdicts.sqlite.set-aside-1"), std::string::npos) << warning;
    EXPECT_EQ(cache.TakeWarning(), "");
    cache.Keep("a", "", Passed());
    EXPECT_TRUE(cache.Find("a", ""));
  }
  EXPECT_EQ(ReadFile(file_.string() + ".set-aside-1"), text);
  fs::remove(file_);
  Sql("CREATE TABLE songs (title)");  // another program's database
  EXPECT_NE(VerdictCache(Options()).TakeWarning(), "");
  EXPECT_EQ(FilesSetAside().size(), 2u);
  EXPECT_EQ(VerdictCache(Options()).TakeWarning(), "");
}

TEST_F(VerdictCacheTest, DamageThatShowsLaterIsMendedOnce) {
  VerdictCache cache(Options()), other(Options());
  for (int i = 0; i < 200; ++i) cache.Keep(std::to_string(i), "", Passed());
  Sql("PRAGMA wal_checkpoint(TRUNCATE)");
  {
    std::fstream file(file_, std::ios::in | std::ios::out | std::ios::binary);
    const std::string junk(fs::file_size(file_) - 4096, '\x5a');
    file.seekp(4096).write(junk.data(), static_cast<std::streamsize>(junk.size()));
  }
  std::string warnings;
  for (VerdictCache* one : {&cache, &other}) {
    for (int i = 0; i < 200; ++i) {
      one->Keep(std::to_string(i), "", Passed());
      one->Find(std::to_string(i), "");
    }
    warnings += one->TakeWarning();
  }
  EXPECT_EQ(FilesSetAside().size(), 1u) << warnings;
  EXPECT_NE(warnings, "");
  EXPECT_TRUE(cache.Find("199", "") && other.Find("199", ""));
  EXPECT_TRUE(VerdictCache(Options()).Find("199", ""));
}

TEST_F(VerdictCacheTest, ARowThatIsNoVerdictIsJudgedAgain) {
  VerdictCache cache(Options());
  for (const char* text : {"", "{}", "[1", R"({"verdict": "fine"})"}) {
    cache.Keep("a", "", Passed());
    Sql(fmt::format("UPDATE verdicts SET verdict = '{}'", text));
    EXPECT_FALSE(cache.Find("a", "")) << text;
  }
  EXPECT_TRUE(FilesSetAside().empty());
}

TEST_F(VerdictCacheTest, GoesWithoutWhereNothingCanBeWritten) {
  WriteFileAtomic(folder_.path() / "no folder", "");
  VerdictCacheOptions options = Options();
  options.file = folder_.path() / "no folder/verdicts.sqlite";
  VerdictCache cache(options);
  EXPECT_FALSE(cache.usable());
  EXPECT_NE(cache.TakeWarning(), "");
  cache.Keep("a", "", Passed());
  EXPECT_FALSE(cache.Find("a", ""));
}

// A limit on the size of files stands for a disk that is full.
TEST_F(VerdictCacheTest, GoesOnWhenTheDiskIsFull) {
  auto with_room_for = [](rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_FSIZE, &limit);
  };
  VerdictCache(Options()).Keep("a", "", Passed());
  EXPECT_TRUE(Succeeds(Fork([&] {
    with_room_for(0);
    VerdictCache cache(Options());
    return !cache.usable() && !cache.TakeWarning().empty();
  })));
  EXPECT_TRUE(Succeeds(Fork([&] {
    with_room_for(256 << 10);
    VerdictCache cache(Options());
    for (int i = 0; i < 300; ++i) cache.Keep(std::to_string(i), std::string(5000, 'x'), Passed());
    return cache.usable() && cache.Find("a", "").has_value();
  })));
  EXPECT_TRUE(VerdictCache(Options()).Find("a", ""));
  EXPECT_TRUE(FilesSetAside().empty());
}

}  // namespace
}  // namespace tritogen
