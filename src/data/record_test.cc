// Options, records as lines, compression, stages and exports.
#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "data/conversation.h"
#include "data/data_test_util.h"
#include "data/manifest.h"

namespace tritogen::data {
namespace {

TEST(Options, WrongOnesAreSaidWithTheirLine) {
  auto error = [](const std::string& text) { return ErrorOf([&] { ReadBuildOptions(text, "x.toml"); }); };
  EXPECT_NE(error("seed = 1").find("at least one table [[level]]"), std::string::npos);
  const std::string level = "[[level]]\nprograms = 5\n";
  EXPECT_NE(error("[[level]]\nprograms = 0").find("x.toml:2: level.programs: 0 is outside 1"),
            std::string::npos);
  EXPECT_NE(error("[[level]]\nlevel = 99\nprograms = 1").find("level.level: 99 is outside 1 to 64"),
            std::string::npos);
  EXPECT_NE(
      error(level + "operators = \"rellu\"").find("x.toml:3: level.operators: the catalogue has no operator"),
      std::string::npos);
  EXPECT_NE(error(level + "[programs]\nsizes = \"9..2\"").find("x.toml:4: programs.sizes"),
            std::string::npos);
  EXPECT_NE(error(level + "sizes = \"few\"").find("x.toml:3: level.sizes: 'few' is no set of sizes"),
            std::string::npos);
  EXPECT_NE(error(level + "[programs]\nheld_out = \"nope\"").find("programs.held_out"), std::string::npos);
  EXPECT_NE(error(level + "[[stage]]\nname = \"filtre\"").find("did you mean 'filter'"), std::string::npos);
  EXPECT_NE(error(level + "[[stage]]\n").find("stage.name: must be one of"), std::string::npos);
  EXPECT_NE(error(level + "[[stage]]\nname = \"filter\"\nmin_work = 1").find("did you mean 'min_work_share'"),
            std::string::npos);
  EXPECT_NE(error("shards = 3\n" + level).find("unknown key 'shards'"), std::string::npos);
}

TEST(Options, WhereASetLiesIsNoPartOfWhatItIs) {
  auto hash = [](const std::string& text) {
    BuildOptions options = ReadBuildOptions(text, "x.toml");
    return SetHash(Identity(&options));
  };
  const std::string level = "[[level]]\nprograms = 5\n";
  EXPECT_EQ(hash("out = \"a\"\n" + level), hash("out = \"b\"\n" + level));
  EXPECT_EQ(hash(level), hash(level + "level = 1\n"));
  EXPECT_NE(hash(level), hash("seed = 2\n" + level));
  EXPECT_NE(hash(level), hash(level + "[[stage]]\nname = \"dedup\"\n"));
}

Record ARecord() {
  return {.draw = 12,
          .seed = 7,
          .program = "def program(x):\n",
          .reference = "class Model\n",
          .fingerprint = "aa",
          .split = "train",
          .level = 2,
          .ops = {"relu", "add"},
          .inputs = {"float32[2, 3]"},
          .outputs = {"float32[2, 3]"},
          .flops = 12.5,
          .answer = 1,
          .teacher = "teacher",
          .strategy = "rows",
          .thoughts = "hm",
          .plan = "Kernel 1\n",
          .source = "x = \"\u00fc\"\n",
          .verdict = "passed",
          .work_flops = 1,
          .plan_hash = "ff",
          .labels = {{"difficulty", 3}}};
}

// Lists take the place of those of the file that this one builds on, whatever their stages are.
TEST(Options, StagesOfAnotherFileAreReplaced) {
  const TempDir dir;
  WriteFileAtomic(dir.path() / "base.toml",
                  "[[level]]\nlevel = 1\nprograms = 1\n[[stage]]\nname = \"filter\"\nmax_plan_bytes = 5\n"
                  "[[stage]]\nname = \"dedup\"\n");
  const std::string file = dir.path() / "x.toml";
  const auto names = [&](const std::string& text) {
    std::vector<std::string> found;
    for (const auto& stage : ReadBuildOptions("like = \"base.toml\"\n" + text, file).stages)
      found.emplace_back(stage->name());
    return found;
  };
  EXPECT_EQ(names(""), (std::vector<std::string>{"filter", "dedup"}));
  EXPECT_EQ(names("[[stage]]\nname = \"dedup\"\nby = \"source\"\n"), std::vector<std::string>{"dedup"});
  EXPECT_EQ(names("[[stage]]\nname = \"explain\"\n[[stage]]\nname = \"filter\"\n"),
            (std::vector<std::string>{"explain", "filter"}));
}

TEST(RecordLines, ComeBackAsTheyWere) {
  const std::string line = ToLine(ARecord());
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(ToLine(FromLine(line)), line);
  EXPECT_EQ(FromLine(line).id(), "12-1");
}

TEST(RecordLines, OthersAreRefused) {
  const std::string line = ToLine(ARecord());
  EXPECT_THROW(FromLine(""), FormatError);
  EXPECT_THROW(FromLine("[]"), FormatError);
  EXPECT_THROW(FromLine(line.substr(0, line.size() / 2)), FormatError);
  const auto whole = nlohmann::json::parse(line);
  for (const auto& [key, value] : whole.items()) {
    auto without = whole;
    without.erase(key);
    EXPECT_THROW(FromLine(without.dump()), FormatError) << key;
    auto other = whole;
    other[key] = nlohmann::json::array({nullptr});
    EXPECT_THROW(FromLine(other.dump()), FormatError) << key;
  }
}

TEST(Zstd, OnlyWholeFramesAreRead) {
  const std::string plain(100'000, 'x'), packed = Compress(plain);
  EXPECT_EQ(Decompress(packed, 100'000), plain);
  EXPECT_EQ(Decompress(Compress(""), 10), "");
  EXPECT_THROW(Decompress(packed, 99'999), FormatError);
  EXPECT_THROW(Decompress(packed.substr(0, packed.size() - 1), 100'000), FormatError);
  EXPECT_THROW(Decompress(packed + "x", 100'000), FormatError);
  EXPECT_THROW(Decompress("", 100'000), FormatError);
  EXPECT_THROW(Decompress("hello", 100'000), FormatError);
}

std::vector<Record> RunStage(std::string_view name, const std::string& options, std::vector<Record> records) {
  BuildOptions built = ReadBuildOptions(
      "[[level]]\nprograms = 5\n[[stage]]\nname = \"" + std::string(name) + "\"\n" + options, "x.toml");
  built.stages.at(0)->Run(&records, {});
  return records;
}

TEST(Stages, FilterSaysWhy) {
  Record record = ARecord();
  record.work_bytes = 0.5;
  record.full_verdict = {{"outputs", {{{"error", 0.5}, {"budget", 1.0}}}}};
  auto why = [&](const std::string& options) { return RunStage("filter", options, {record})[0].dropped; };
  EXPECT_EQ(why(""), "");
  EXPECT_EQ(why("min_work_share = 0.6"), "work share below 0.6");
  EXPECT_EQ(why("max_error_share = 0.4"), "error above 0.4 of its budget");
  EXPECT_EQ(why("max_source_bytes = 3"), "source longer than 3 bytes");
  record.verdict = "wrong_values";
  EXPECT_EQ(why("max_source_bytes = 3"), "") << "failures are dropped for what they are";
}

TEST(Stages, DedupKeepsTheFirstOfEachProgram) {
  Record first = ARecord(), same = ARecord(), other = ARecord();
  other.fingerprint = "bb";
  const auto records = RunStage("dedup", "", {first, same, other});
  EXPECT_EQ(records[0].dropped, "");
  EXPECT_EQ(records[1].dropped, "duplicate plan");
  EXPECT_EQ(records[2].dropped, "");
}

TEST(Conversations, HaveWhatFrameworksRead) {
  const auto talk = Conversation(ARecord());
  ASSERT_EQ(talk["messages"].size(), 3u);
  EXPECT_EQ(talk["messages"][2]["role"], "assistant");
  EXPECT_NE(talk["messages"][1]["content"].get<std::string>().find("class Model"), std::string::npos);
  EXPECT_TRUE(talk["messages"][2]["content"].get<std::string>().starts_with("<think>\nhm\n</think>"));
  const auto row = VerlRow(ARecord(), 4);
  EXPECT_EQ(row["prompt"].size(), 2u);
  EXPECT_EQ(row["reward_model"]["ground_truth"], "class Model\n");
  EXPECT_EQ(row["extra_info"]["index"], 4);
}

}  // namespace
}  // namespace tritogen::data
