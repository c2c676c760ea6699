// The pipeline with a teacher and judges that need no Python: what comes out does not depend on how many work
// at it, on interruptions or on slices; broken files are found; wrong options are said.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/splitmix.h"
#include "data/data_test_util.h"
#include "data/stats.h"
#include "program/parse.h"

namespace tritogen::data {
namespace {

namespace fs = std::filesystem;

// Builds as much as `run` says; gives whether the set is finished.
bool BuildInto(const fs::path& folder, BuildRun run = {}, BuildOptions options = SmallOptions()) {
  if (run.past_shard == 0) run.past_shard = options.shards();
  FakeTeacher teacher;
  JudgePool pool = FakePool(run.judges);
  SetFolder set(folder, Identity(&options), options.shards());
  return Build(options, run, &teacher, &pool, &set) && set.Finish({"test"});
}

// Name → hash of the contents.
std::map<std::string, std::string> FilesIn(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    files[entry.path().filename().string()] = Sha256Hex(ReadFile(entry.path()));
  return files;
}

std::vector<Record> AllRecords(const fs::path& folder) {
  std::vector<Record> all;
  for (const ShardInfo& shard : ReadManifest(folder).shards) {
    for (Record& record : ReadRecords(folder / ShardName(shard.index), shard.records))
      all.push_back(std::move(record));
  }
  return all;
}

// Runs in a process of its own, which ends with 0, or with 1 after an exception.
pid_t InChild(const std::function<void()>& run) {
  const pid_t child = fork();
  if (child != 0) return child;
  try {
    run();
    _exit(0);
  } catch (...) {
    _exit(1);
  }
}

// What does not compress.
std::string Noise() {
  SplitMix random(1);
  std::string noise;
  for (int i = 0; i < 5000; ++i) noise += static_cast<char>(random.Next() & 0xff);
  return noise;
}

int WaitFor(pid_t child) {
  int status = -1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

class DataTest : public testing::Test {
 protected:
  const std::map<std::string, std::string>& Whole() {
    static const auto* files = [] {
      TempDir folder;
      EXPECT_TRUE(BuildInto(folder.path()));
      return new std::map<std::string, std::string>(FilesIn(folder.path()));
    }();
    return *files;
  }
  TempDir temp_;
  fs::path folder_ = temp_.path() / "set";
};

TEST_F(DataTest, RecordsAreTheAnswersThatPassed) {
  ASSERT_TRUE(BuildInto(folder_));
  const Manifest manifest = ReadManifest(folder_);
  const Tally tally = manifest.tally();
  EXPECT_EQ(tally.programs, 30);
  EXPECT_EQ(tally.answers, 4 * tally.answered);
  EXPECT_EQ(tally.records, 3 * tally.answered) << "the fourth is wrong";
  EXPECT_EQ(tally.dropped.at("verdict wrong_values"), tally.answered);
  const std::vector<Record> records = AllRecords(folder_);
  EXPECT_EQ(static_cast<int64_t>(records.size()), tally.records);
  std::set<std::string> ids, fingerprints;
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].verdict, "passed");
    EXPECT_TRUE(ids.insert(records[i].id()).second);
    EXPECT_TRUE(i == 0 || records[i - 1].draw <= records[i].draw) << "in the order of draws";
    EXPECT_NO_THROW(ParseProgram(records[i].program));
  }
  const ShardInfo& first = manifest.shards[0];
  const auto failures = ReadRecords(folder_ / FailuresName(0), first.failures);
  ASSERT_FALSE(failures.empty());
  EXPECT_EQ(failures[0].verdict, "wrong_values");
  EXPECT_EQ(failures[0].reason, "because");
}

TEST_F(DataTest, LevelsAreMixedEvenly) {
  BuildOptions options = SmallOptions();
  Draw draw(options);
  int of_level_2 = 0;
  for (int i = 0; i < 30; ++i) {
    of_level_2 += draw.Next().level == 2;
    EXPECT_NEAR(of_level_2, (i + 1) / 3.0, 1);
  }
  EXPECT_EQ(of_level_2, 10);
}

TEST_F(DataTest, ALevelMayHaveSizesOfItsOwn) {
  BuildOptions options = SmallOptions();
  options.programs.max_elements = 1 << 20;
  options.levels = {{.level = 1, .programs = 8, .operators = "relu"},
                    {.level = 1, .programs = 8, .operators = "relu", .sizes = "3001..3009"}};
  Draw draw(options);
  int of_its_own = 0;
  for (int i = 0; i < 16; ++i) of_its_own += draw.Next().inputs[0].find("300") != std::string::npos;
  EXPECT_EQ(of_its_own, 8);
}

TEST_F(DataTest, SkippedDrawsDoNotChangeTheNext) {
  const BuildOptions options = SmallOptions();
  Draw all(options), some(options);
  for (int i = 0; i < 13; ++i) all.Next();
  some.Next();
  ASSERT_TRUE(some.SkipTo(13, [] { return false; }));
  EXPECT_EQ(ToLine(some.Next()), ToLine(all.Next()));
  EXPECT_EQ(some.next(), 14);
}

TEST_F(DataTest, TheNumberOfJudgesDoesNotShow) {
  ASSERT_TRUE(BuildInto(folder_, {.judges = 5}));
  EXPECT_EQ(FilesIn(folder_), Whole());
}

TEST_F(DataTest, SlicesBuiltApartAreTheSameSet) {
  EXPECT_FALSE(BuildInto(folder_, {.first_shard = 2, .past_shard = 4}));
  const fs::path other = temp_.path() / "other";
  EXPECT_FALSE(BuildInto(other, {.first_shard = 0, .past_shard = 2}));
  for (const auto& entry : fs::directory_iterator(other))
    fs::copy(entry.path(), folder_, fs::copy_options::overwrite_existing);
  ASSERT_TRUE(BuildInto(folder_));
  EXPECT_EQ(FilesIn(folder_), Whole());
}

TEST_F(DataTest, StoppedAtAnyTimeItGoesOnAndIsTheSame) {
  int runs = 0;
  for (bool finished = false; !finished && runs < 200; ++runs) {
    int asked = 0;
    BuildRun run;
    run.judges = 2;
    run.stop = [&asked, runs] { return ++asked > 12 + 6 * runs; };  // a shard is the least progress
    finished = BuildInto(folder_, run);
    EXPECT_EQ(fs::exists(folder_ / kManifestName), finished);
  }
  EXPECT_GT(runs, 1);
  EXPECT_EQ(FilesIn(folder_), Whole());
}

TEST_F(DataTest, KilledAtAnyTimeItGoesOnAndIsTheSame) {
  int killed = 0;
  for (int millisecond = 2;; millisecond += 5) {
    const pid_t child = InChild([&] { BuildInto(folder_, {.judges = 2}); });
    usleep(1000 * millisecond);
    kill(child, SIGKILL);
    const int status = WaitFor(child);
    ASSERT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << "it says that it cannot";
    if (WIFEXITED(status)) break;
    ++killed;
    ASSERT_LT(killed, 500);
  }
  EXPECT_GT(killed, 0);
  ASSERT_TRUE(BuildInto(folder_));
  EXPECT_EQ(FilesIn(folder_), Whole());
}

// A limit on the size of files stands for the full disk.
TEST_F(DataTest, AFullDiskIsSaidAndNothingIsTakenForWhole) {
  const pid_t child = InChild([&] {
    signal(SIGXFSZ, SIG_IGN);
    BuildOptions options = SmallOptions();
    SetFolder set(folder_, Identity(&options), options.shards());
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string error =
        ErrorOf([&] { set.Add({.index = 1, .draws = 8}, std::string(9, '\n'), Noise()); });
    if (error.find("cannot write") == std::string::npos) throw std::runtime_error(error);
    if (error.find("failures-00001") == std::string::npos) throw std::runtime_error(error);
  });
  ASSERT_EQ(WaitFor(child), 0);
  EXPECT_FALSE(fs::exists(folder_ / FailuresName(1)));
  EXPECT_FALSE(fs::exists(folder_ / InfoName(1)));
  ASSERT_TRUE(BuildInto(folder_));
  EXPECT_EQ(FilesIn(folder_), Whole());
}

TEST_F(DataTest, AnotherSetIsNotMixedIn) {
  ASSERT_TRUE(BuildInto(folder_));
  BuildOptions options = SmallOptions();
  options.programs.max_elements = 5000;
  EXPECT_NE(
      ErrorOf([&] { BuildInto(folder_, {}, std::move(options)); }).find("programs.max_elements differs"),
      std::string::npos);
}

TEST_F(DataTest, TwoBuildsAtOnceAreRefused) {
  BuildOptions options = SmallOptions();
  const SetFolder first(folder_, Identity(&options), options.shards());
  const pid_t other = InChild([&] {
    const std::string error = ErrorOf([&] { BuildInto(folder_); });
    if (error.find("another build") == std::string::npos) throw std::runtime_error(error);
  });
  EXPECT_EQ(WaitFor(other), 0);
}

TEST_F(DataTest, AShardCutInHalfIsNamedAndBuiltAnew) {
  ASSERT_TRUE(BuildInto(folder_));
  const fs::path shard = folder_ / ShardName(1);
  fs::resize_file(shard, fs::file_size(shard) / 2);
  const Manifest manifest = ReadManifest(folder_);
  const auto faults = VerifyFiles(folder_, manifest);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_NE(faults[0].find("shard-00001.jsonl.zst"), std::string::npos);
  EXPECT_NE(faults[0].find("cut off"), std::string::npos);
  EXPECT_NE(ErrorOf([&] { StatsOf(folder_, manifest); }).find("cut off"), std::string::npos);
  ASSERT_TRUE(BuildInto(folder_));
  EXPECT_EQ(FilesIn(folder_), Whole());
}

TEST_F(DataTest, AChangedByteIsFound) {
  ASSERT_TRUE(BuildInto(folder_));
  std::string bytes = ReadFile(folder_ / ShardName(0));
  bytes[bytes.size() / 2] ^= 1;
  WriteFileAtomic(folder_ / ShardName(0), bytes);
  EXPECT_NE(VerifyFiles(folder_, ReadManifest(folder_)).at(0).find("damaged"), std::string::npos);
}

TEST_F(DataTest, ABrokenManifestOrInfoIsSaid) {
  EXPECT_FALSE(BuildInto(folder_, {.first_shard = 0, .past_shard = 1}));
  EXPECT_NE(ErrorOf([&] { ReadManifest(folder_); }).find("not finished"), std::string::npos);
  WriteFileAtomic(folder_ / InfoName(0), "{\"index\": 0}");
  BuildOptions options = SmallOptions();
  {
    const SetFolder set(folder_, Identity(&options), options.shards());
    EXPECT_FALSE(set.Has(0));
    EXPECT_EQ(set.remarks().size(), 1u);
  }
  ASSERT_TRUE(BuildInto(folder_));
  const std::string manifest = ReadFile(folder_ / kManifestName);
  WriteFileAtomic(folder_ / kManifestName, manifest.substr(0, manifest.size() / 2));
  EXPECT_NE(ErrorOf([&] { ReadManifest(folder_); }).find("no JSON"), std::string::npos);
  EXPECT_THROW(ManifestFrom(R"({"format":"tritogen data 1"})"), FormatError);
}

TEST_F(DataTest, JudgesThatCannotJudgeEndTheBuild) {
  BuildOptions options = SmallOptions();
  FakeTeacher teacher;
  JudgePool pool(
      []() -> JudgeFunction { return [](const JudgeRequest&, const FindVerdict&) { return Judgement(); }; },
      1, 60);
  SetFolder set(folder_, Identity(&options), options.shards());
  const BuildRun run{.past_shard = 1};
  EXPECT_NE(ErrorOf([&] { Build(options, run, &teacher, &pool, &set); }).find("could not be judged"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(folder_ / ShardName(0)));

  JudgePool no_references(
      []() -> JudgeFunction {
        return [](const JudgeRequest&, const FindVerdict&) { return Judgement{.reference_failed = true}; };
      },
      1, 60);
  EXPECT_NE(ErrorOf([&] { Build(options, run, &teacher, &no_references, &set); }).find("could not be judged"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(folder_ / ShardName(0)));
}

// A teacher that fails at one program, as a bug of ours might.
class FailingTeacher : public FakeTeacher {
 public:
  std::vector<Candidate> Propose(const ProposeRequest& request) override {
    if (calls_++ % 3 == 1) throw InternalError("no such case");
    return FakeTeacher::Propose(request);
  }

 private:
  int calls_ = 0;
};

TEST_F(DataTest, ATeacherThatFailsAtAProgramIsCountedAndGoesOn) {
  BuildOptions options = SmallOptions();
  FailingTeacher teacher;
  JudgePool pool = FakePool(1);
  SetFolder set(folder_, Identity(&options), options.shards());
  ASSERT_TRUE(Build(options, {.past_shard = options.shards()}, &teacher, &pool, &set));
  Tally tally;
  for (const auto& [index, info] : set.done()) tally.Add(info.tally);
  EXPECT_GT(tally.dropped["teacher failed"], 0);
  EXPECT_GT(tally.records, 0);
  EXPECT_NE(tally.examples["teacher failed"].find("no such case"), std::string::npos);
}

TEST_F(DataTest, ImpossibleConstraintsAreSaid) {
  BuildOptions options = ReadBuildOptions(
      "[programs]\nsizes = \"1\"\nmax_elements = 1\n[[level]]\nlevel = 1\nprograms = 50\noperators = "
      "\"relu\"\n",
      "x.toml");
  EXPECT_NE(ErrorOf([&] { BuildInto(folder_, {}, std::move(options)); }).find("no new program of level 1"),
            std::string::npos);
}

}  // namespace
}  // namespace tritogen::data
