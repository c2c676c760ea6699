// Sets, finished or not, and files of anybody's conversations become the corpus that the options say.
#include "train/read_corpus.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/temp_dir.h"
#include "base/text.h"
#include "text/answer.h"
#include "train/corpus_test_util.h"

namespace tritogen::train {
namespace {

namespace fs = std::filesystem;
using data::ErrorOf;
using data::Record;

class ReadCorpusTest : public testing::Test {
 protected:
  CorpusRead Read(const CorpusOptions& options, int64_t longest = 1000, int threads = 2) {
    auto read = ReadCorpus(options, format_, longest, threads);
    EXPECT_TRUE(read);
    return std::move(*read);
  }
  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  std::string path(const std::string& name) const { return (temp_.path() / name).string(); }
  // The whole text of an example.
  std::string Text(const Corpus& corpus, int64_t index) const {
    return format_.tokenizer.Decode(corpus.at(index).tokens);
  }
  // Two shards of four programs with two answers, one program on the test side, two failures.
  CorpusOptions SmallSet(double repair_share = 0) {
    for (int64_t shard = 0; shard < 2; ++shard) {
      std::vector<Record> records, failures;
      for (int64_t draw = 8 * shard; draw < 8 * shard + 4; ++draw) {
        for (int answer : {0, 1}) records.push_back(SmallRecord(draw, answer, draw == 2 ? "test" : "train"));
      }
      if (shard == 1) {
        for (int64_t draw : {8, 9, 12}) {  // to the last one there is no right answer
          failures.push_back(SmallRecord(draw, 2));
          failures.back().verdict = draw == 9 ? "timeout" : "wrong_values";
          failures.back().reason = "output 0 is wrong";
        }
      }
      WriteShard(path("set"), shard, records, failures);
    }
    return {.data = {path("set")}, .repair_share = repair_share, .hybrid_share = 0};
  }

  TempDir temp_;
  ChatFormat format_ = SmallFormat();
};

TEST_F(ReadCorpusTest, ASetThatIsNotFinished) {
  const CorpusRead read = Read(SmallSet());
  EXPECT_EQ(read.corpus.size(), 14);
  EXPECT_EQ(read.counts.lines, 16);
  EXPECT_EQ(read.counts.other_split, 2);
  EXPECT_EQ(read.counts.ToText(1000), "14 examples of 16 lines; 2 of the other split");
  const Record first = SmallRecord(0);
  EXPECT_EQ(Text(read.corpus, 0), "<|user|>cuda, float32, strict\n" + std::string(Trimmed(first.program)) +
                                      "<|assistant|>" + FormatAnswer("", first.plan, first.source) +
                                      "<|end|>");
  CorpusOptions test = SmallSet();
  test.split = "test";
  EXPECT_EQ(Read(test).corpus.size(), 2);
  CorpusOptions one = SmallSet();
  one.data = {path("set/shard-00001.jsonl.zst")};
  EXPECT_EQ(Read(one).corpus.size(), 8);
}

TEST_F(ReadCorpusTest, ThreadsDoNotShow) {
  const CorpusOptions options = SmallSet(0.1);
  const std::string hash = Read(options, 1000, 1).corpus.sha256();
  for (int threads : {2, 3, 5}) EXPECT_EQ(Read(options, 1000, threads).corpus.sha256(), hash);
}

TEST_F(ReadCorpusTest, FailuresBecomeRepairs) {
  const CorpusRead read = Read(SmallSet(0.5));
  EXPECT_EQ(read.counts.repairs, 1);
  EXPECT_EQ(read.corpus.size(), 15);
  const std::string text = Text(read.corpus, 14);
  const Record wrong = SmallRecord(8, 2), right = SmallRecord(8, 0);
  EXPECT_NE(text.find(FormatAnswer("", wrong.plan, wrong.source) +
                      "<|end|><|user|>wrong_values: output 0 is wrong"
                      "<|assistant|>" +
                      FormatAnswer("", right.plan, right.source)),
            std::string::npos)
      << text;
  EXPECT_EQ(Read(SmallSet(0.01)).counts.repairs, 0);  // their share is kept to
}

TEST_F(ReadCorpusTest, WrongAnswersFindTheRightOneByTheirProgram) {
  CorpusOptions options = SmallSet(0.5);
  nlohmann::json wrong = {
      {"program", SmallRecord(1).program},
      {"reference", ""},
      {"answer", "I cannot."},
      {"verdict", {{"verdict", "no_answer"}, {"rule", "no_code"}, {"reason", "the answer has no code"}}},
      {"sample", 3}};
  std::string lines = wrong.dump() + "\n\n";
  wrong["verdict"] = {{"verdict", "passed"}, {"rule", nullptr}, {"reason", ""}};
  lines += wrong.dump() + "\n";
  wrong["verdict"]["verdict"] = "infra_error";
  lines += wrong.dump() + "\n";
  wrong["verdict"]["verdict"] = "wrong_shape";
  wrong["program"] = "def program(): unknown";
  lines += wrong.dump() + "\n";
  options.wrong = {Write("wrong.jsonl", lines)};
  const CorpusRead read = Read(options);
  EXPECT_EQ(read.counts.repairs, 2);  // and the set's own
  EXPECT_EQ(read.counts.unpaired, 1);
  EXPECT_NE(read.counts.ToText(100).find("; 1 wrong answers are to programs that have no right one here"),
            std::string::npos);
  EXPECT_NE(Text(read.corpus, 14)
                .find("I cannot.<|end|><|user|>no_answer (no_code): the answer has no code<|assistant|>1."),
            std::string::npos);
  options.wrong = {Write("broken.jsonl", wrong.dump() + "\n{\"program\": 3}\n")};
  EXPECT_NE(ErrorOf([&] { Read(options); }).find("broken.jsonl, line 2"), std::string::npos);
}

TEST_F(ReadCorpusTest, AShareIsAskedForInHybridMode) {
  CorpusOptions options = SmallSet();
  const auto hybrid = [&](double share) {
    options.hybrid_share = share;
    const CorpusRead read = Read(options);
    int count = 0;
    for (int64_t i = 0; i < read.corpus.size(); ++i)
      count += Text(read.corpus, i).find(", hybrid\n") != std::string::npos;
    return count;
  };
  EXPECT_EQ(hybrid(0), 0);
  EXPECT_EQ(hybrid(1), 14);
  const int some = hybrid(0.5);
  EXPECT_TRUE(some > 2 && some < 12) << some;
  Record library = SmallRecord(0);
  library.work_flops = 0.5;
  options.data = {Write("library.jsonl", LinesOf({library}))};
  EXPECT_EQ(hybrid(0), 1);
}

TEST_F(ReadCorpusTest, AnybodysConversations) {
  const std::string talk =
      R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]})";
  const std::string test =
      R"({"split": "test", "messages": [{"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}]})";
  const CorpusRead read =
      Read({.data = {Write("talk.jsonl", talk + "\n\n" + test + "\n" + ToLine(SmallRecord(0)))}});
  EXPECT_EQ(read.corpus.size(), 2);
  EXPECT_EQ(read.counts.other_split, 1);
  EXPECT_EQ(Text(read.corpus, 0), "<|user|>a<|assistant|>b<|end|>");
  EXPECT_EQ(read.corpus.at(0).code, 5);  // there is none
}

TEST_F(ReadCorpusTest, OfWhatIsKnownAShareIsKept) {
  std::string lines;
  for (int i = 0; i < 100; ++i) {
    const char* passed = i % 2 == 0 ? "1.0" : "0.75";
    lines += R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": ")" +
             std::to_string(i) + R"("}], "answers_passed": )" + passed + "}\n";
  }
  CorpusOptions options{.data = {Write("own.jsonl", lines)}};
  EXPECT_EQ(Read(options).corpus.size(), 100);
  options.known_share = 0;
  const CorpusRead hard = Read(options);
  EXPECT_EQ(hard.corpus.size(), 50);
  EXPECT_EQ(hard.counts.known, 50);
  EXPECT_NE(hard.counts.ToText(100).find("; 50 to programs that were always answered right"),
            std::string::npos);
  options.known_share = 0.3;
  const int64_t some = Read(options).corpus.size();
  EXPECT_TRUE(some > 52 && some < 80) << some;
  EXPECT_EQ(Read(options).corpus.sha256(), Read(options).corpus.sha256());
  options.data = {Write("odd.jsonl", R"({"messages": [], "answers_passed": "all"})")};
  EXPECT_NE(ErrorOf([&] { Read(options); }).find("odd.jsonl, line 1: answers_passed"), std::string::npos);
}

TEST_F(ReadCorpusTest, WhatIsTooLongIsLeftOutAndASampleIsDrawn) {
  const int64_t size = Read(SmallSet()).corpus.at(0).tokens.size();
  std::vector<Record> records{SmallRecord(0), SmallRecord(0, 1)};
  records[1].plan += std::string(500, 'x') + " y z";
  CorpusOptions options{.data = {Write("two.jsonl", LinesOf(records))}, .hybrid_share = 0};
  const CorpusRead read = Read(options, size);
  EXPECT_EQ(read.counts.too_long, 1);
  EXPECT_EQ(read.corpus.size(), 1);
  EXPECT_NE(ErrorOf([&] { Read(options, 5); }).find("no example is left"), std::string::npos);
  options = SmallSet();
  options.most = 5;
  const CorpusRead some = Read(options);
  EXPECT_EQ(some.corpus.size(), 5);
  std::set<std::string> texts;
  for (int64_t i = 0; i < 5; ++i) texts.insert(Text(some.corpus, i));
  EXPECT_EQ(texts.size(), 5u);
  options.seed = 2;
  EXPECT_NE(Read(options).corpus.sha256(), some.corpus.sha256());
}

TEST_F(ReadCorpusTest, BrokenDataIsNamed) {
  const auto error = [&](const std::vector<std::string>& data) {
    return ErrorOf([&] { Read({.data = data}); });
  };
  EXPECT_NE(error({}).find("there is no data"), std::string::npos);
  EXPECT_NE(error({path("nowhere")}).find("nowhere"), std::string::npos);
  EXPECT_NE(error({Write("empty.jsonl", "\n\n")}).find("empty.jsonl is empty"), std::string::npos);
  EXPECT_NE(error({"sets/not_built"}).find("data build"), std::string::npos);
  const std::string good = ToLine(SmallRecord(0)) + "\n";
  for (const char* bad : {"{", "3", "{}", R"({"messages": null})",
                          R"({"messages": [{"role": "user", "content": "a"}]})", "\xff"}) {
    const std::string said = error({Write("bad.jsonl", good + "\n" + bad + "\n")});
    EXPECT_NE(said.find("bad.jsonl, line 3"), std::string::npos) << said;
  }
  Record odd = SmallRecord(0);
  odd.program = "def program(x): what";
  EXPECT_NE(error({Write("odd.jsonl", LinesOf({odd}))}).find("odd.jsonl, line 1"), std::string::npos);
  EXPECT_NE(error({Write("bad.jsonl.zst", "no zstd")}).find("bad.jsonl.zst"), std::string::npos);
  fs::create_directories(path("none"));
  EXPECT_NE(error({path("none")}).find("no data set"), std::string::npos);
  const CorpusOptions set = SmallSet();
  fs::resize_file(path("set/shard-00001.jsonl.zst"), 20);
  EXPECT_NE(error(set.data).find("cut off"), std::string::npos);
  fs::remove(path("set/shard-00001.jsonl.zst"));
  EXPECT_NE(error(set.data).find("shard-00001"), std::string::npos);
  Write("set/shard-00000.json", "{}");
  EXPECT_NE(error(set.data).find("shard-00000.json"), std::string::npos);
  EXPECT_NE(
      ErrorOf([&] { Read({.data = {Write("one.jsonl", good)}, .prompt = "drtriton"}); }).find("drtriton"),
      std::string::npos);
}

TEST_F(ReadCorpusTest, StopsWhenAskedAndSaysHowFarItIs) {
  std::vector<int64_t> done;
  ReadHooks hooks{.progress = [&](int64_t bytes, int64_t total) {
    EXPECT_LE(bytes, total);
    done.push_back(bytes);
  }};
  ASSERT_TRUE(ReadCorpus(SmallSet(), format_, 1000, 2, hooks));
  ASSERT_GE(done.size(), 2u);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()) && done.back() > done.front());
  hooks.stop = [] { return true; };
  EXPECT_FALSE(ReadCorpus(SmallSet(), format_, 1000, 2, hooks));
}

}  // namespace
}  // namespace tritogen::train
