#include "cli/batch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/temp_dir.h"
#include "cli/batch_file.h"
#include "cli/batch_stream.h"

namespace tritogen {
namespace {

using nlohmann::json;

// A judge that passes what says "good", and tells what it was given.
Judgement Look(const JudgeRequest& request, const FindVerdict&) {
  Verdict verdict{.outcome = Outcome::kWrongValues};
  const bool slow = request.candidate.text.starts_with("slow");
  if (slow) usleep(500000);
  if (slow || request.candidate.text.starts_with("good")) verdict.outcome = Outcome::kPassed;
  verdict.reason = request.reference.entry + "|" + request.reference.text + "|" + request.candidate.entry +
                   "|" + request.candidate.text;
  return {.verdict = verdict};
}

class BatchTest : public testing::Test {
 protected:
  std::filesystem::path File(const char* name) const { return folder_.path() / name; }
  BatchOptions Options() const {
    return {.file = File("batch.jsonl"),
            .out = File("out.jsonl"),
            .class_reference = "Model",
            .class_candidate = "ModelNew"};
  }
  void Write(const std::string& lines) { WriteFileAtomic(File("batch.jsonl"), lines); }
  // Judges what the batch file holds; the lines of the output by id, in which each id stands once.
  std::map<std::string, json> Run(int* exit_code = nullptr) {
    const BatchOptions options = Options();
    JudgePool pool([] { return Look; }, 2);
    const int code = JudgeBatch(ReadBatch(options.file), options, {.budget_seconds = 60}, &pool);
    if (exit_code != nullptr) *exit_code = code;
    return Output();
  }
  std::map<std::string, json> Output() const {
    std::map<std::string, json> lines;
    std::ifstream in(File("out.jsonl"));
    for (std::string text; std::getline(in, text);) {
      json object = json::parse(text);
      const std::string id = object["id"];
      EXPECT_TRUE(lines.emplace(id, std::move(object)).second) << id << " twice";
    }
    return lines;
  }
  std::string Refusal() const {
    try {
      ReadBatch(File("batch.jsonl"));
      return "";
    } catch (const UserError& error) {
      return error.what();
    }
  }

 private:
  TempDir folder_;
};

std::string Entry(const std::string& id, const std::string& candidate) {
  return json({{"id", id}, {"reference", "ref\n"}, {"candidate", candidate}}).dump() + "\n";
}

TEST_F(BatchTest, JudgesEveryLineOnce) {
  Write(Entry("a", "good\n") + "\n  \n" + Entry("b", "bad\n") + Entry("c", "good\n"));
  int code = -1;
  const auto verdicts = Run(&code);
  EXPECT_EQ(code, 0);
  ASSERT_EQ(verdicts.size(), 3u);
  EXPECT_EQ(verdicts.at("a")["verdict"], "passed");
  EXPECT_EQ(verdicts.at("b")["verdict"], "wrong_values");
  EXPECT_EQ(verdicts.at("a")["reason"], "Model|ref\n|ModelNew|good\n");
}

TEST_F(BatchTest, BadLinesAreVerdictsOfTheirOwn) {
  Write("no json\n[1]\n" + Entry("fine", "good\n") + R"({"id": "lacks", "reference": "r\n"})" + "\n" +
        R"({"id": "typed", "reference": "r\n", "candidate": 3})" + "\n" +
        R"({"id": "gone", "reference": "r\n", "candidate": "no_such_file.py"})" + "\n" +
        json({{"id", "long"}, {"reference", "r\n"}, {"candidate", std::string(100000, 'x')}}).dump() + "\n" +
        R"({"id": 7, "reference": "r\n", "candidate": "good\n"})" + "\n");
  auto verdicts = Run();
  ASSERT_EQ(verdicts.size(), 8u);
  EXPECT_EQ(verdicts.at("fine")["verdict"], "passed");
  EXPECT_EQ(verdicts.at("7")["verdict"], "passed");
  for (const auto& [id, word] : {std::pair("line 1", "JSON object"),
                                 {"line 2", "JSON object"},
                                 {"lacks", "'candidate'"},
                                 {"typed", "'candidate'"},
                                 {"gone", "no_such_file.py"},
                                 {"long", "xxx"}}) {
    EXPECT_EQ(verdicts.at(id)["verdict"], "infra_error") << id;
    EXPECT_EQ(verdicts.at(id)["rule"], "batch_line") << id;
    EXPECT_NE(verdicts.at(id)["reason"].get<std::string>().find(word), std::string::npos) << verdicts.at(id);
  }
}

TEST_F(BatchTest, SourcesArePathsBesideTheBatchFileOrText) {
  WriteFileAtomic(File("candidate.py"), "good from a file");
  Write(
      Entry("beside", "candidate.py") + Entry("absolute", File("candidate.py").string()) +
      R"({"id": "classes", "reference": "r\n", "candidate": "c\n", "class_reference": "R", "class_candidate": "C"})" +
      "\n");
  auto verdicts = Run();
  EXPECT_EQ(verdicts.at("beside")["reason"], "Model|ref\n|ModelNew|good from a file");
  EXPECT_EQ(verdicts.at("absolute")["reason"], verdicts.at("beside")["reason"]);
  EXPECT_EQ(verdicts.at("classes")["reason"], "R|r\n|C|c\n");
}

TEST_F(BatchTest, GoesOnAfterAnInterruptionInTheMiddleOfALine) {
  Write(Entry("a", "good\n") + Entry("b", "bad\n") + Entry("c", "good\n"));
  const std::string kept = "{\"id\":\"a\",\"verdict\":\"kept from the first run\"}\n";
  std::ofstream(File("out.jsonl")) << kept << "{\"id\":\"b\",\"verd";
  auto verdicts = Run();
  ASSERT_EQ(verdicts.size(), 3u);
  EXPECT_EQ(verdicts.at("a")["verdict"], "kept from the first run");
  EXPECT_EQ(verdicts.at("b")["verdict"], "wrong_values");
  const std::string all = ReadFile(File("out.jsonl"));
  EXPECT_TRUE(all.starts_with(kept));
  Run();
  EXPECT_EQ(ReadFile(File("out.jsonl")), all) << "a third run has nothing to do";
}

TEST_F(BatchTest, RefusesAFileThatCannotBeUsed) {
  EXPECT_NE(Refusal().find("batch.jsonl"), std::string::npos) << "missing";
  Write("");
  EXPECT_NE(Refusal().find("no candidate"), std::string::npos);
  Write("\n \n");
  EXPECT_NE(Refusal().find("no candidate"), std::string::npos);
  Write(Entry("a", "good\n") + "\n" + Entry("b", "good\n") + Entry("a", "bad\n"));
  EXPECT_NE(Refusal().find("lines 1 and 4 have the same id 'a'"), std::string::npos) << Refusal();
}

TEST_F(BatchTest, SkipsAByteOrderMark) {
  const std::string mark = "\xEF\xBB\xBF";
  Write(mark + Entry("a", "good\n") + mark + "\n" + Entry("b", "bad\n"));
  auto verdicts = Run();
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts.at("a")["verdict"], "passed");
}

TEST_F(BatchTest, RefusesAnOutputThatCannotBeWritten) {
  Write(Entry("a", "good\n"));
  BatchOptions options = Options();
  options.out = File("no_such_folder/out.jsonl");
  JudgePool pool([] { return Look; }, 1);
  EXPECT_THROW(JudgeBatch(ReadBatch(options.file), options, {}, &pool), UserError);
}

// Lines that come in pieces, answered before the next one is sent.
TEST_F(BatchTest, AStreamIsAnsweredAsItComes) {
  Pipe in = MakePipe(), out = MakePipe();
  const pid_t child = fork();
  if (child == 0) {
    in.write.Reset();
    dup2(out.write.get(), STDOUT_FILENO);
    BatchOptions options = Options();
    options.out.clear();
    JudgePool pool([] { return Look; }, 2);
    _exit(JudgeStream(in.read.get(), options, {.budget_seconds = 60}, &pool));
  }
  in.read.Reset(), out.write.Reset();
  const auto send = [&](const std::string& text) {
    ASSERT_EQ(write(in.write.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  };
  const auto receive = [&] {
    std::string line;
    for (char c; read(out.read.get(), &c, 1) == 1 && c != '\n';) line += c;
    return json::parse(line);
  };
  for (int round = 0; round < 2; ++round) {  // the same id again
    const std::string entry = Entry("a", round == 0 ? "good\n" : "bad\n");
    send(entry.substr(0, 10));
    usleep(50000);
    send(entry.substr(10));
    const json verdict = receive();
    EXPECT_EQ(verdict["id"], "a");
    EXPECT_EQ(verdict["verdict"], round == 0 ? "passed" : "wrong_values");
  }
  send("\nno json\n");
  EXPECT_EQ(receive()["id"], "line 4");
  send("\xEF\xBB\xBF" + Entry("twice", "slow\n") + Entry("twice", "good\n"));
  const json second = receive(), first = receive();  // a verdict that could be the other one's has another id
  EXPECT_EQ(second["id"], "line 6");
  EXPECT_NE(second["reason"].get<std::string>().find("has the id 'twice' of another candidate"),
            std::string::npos);
  EXPECT_EQ(first["id"], "twice");
  EXPECT_EQ(first["verdict"], "passed");
  std::string last = Entry("last", "good\n");
  last.pop_back();  // no line break at the end
  send(Entry("b", "bad\n") + last);
  in.write.Reset();
  std::set<std::string> rest;
  for (int i = 0; i < 2; ++i) rest.insert(receive()["id"].get<std::string>());
  EXPECT_EQ(rest, (std::set<std::string>{"b", "last"}));
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// A model that answers with the name of a file that passes must not be given that file.
TEST_F(BatchTest, ACandidateOfAStreamIsNoPath) {
  std::ofstream(File("good.py")) << "good\n";
  BatchOptions options = Options();
  const BatchLine line = ParseBatchLine(
      json({{"id", "a"}, {"reference", File("good.py")}, {"candidate", File("good.py")}}).dump(), 1);
  EXPECT_EQ(RequestOf(line, options, {}).candidate.text, "good\n");
  options.file = "-";
  const JudgeRequest request = RequestOf(line, options, {});
  EXPECT_EQ(request.reference.text, "good\n");
  EXPECT_EQ(request.candidate.text, File("good.py"));
}

TEST_F(BatchTest, AnEmptyAnswerIsACandidate) {
  const BatchLine line = ParseBatchLine(R"({"id": "a", "reference": "x\n", "candidate": ""})", 1);
  EXPECT_EQ(RequestOf(line, Options(), {}).candidate.text, "");
}

TEST_F(BatchTest, AStreamGoesOnWithAnOutput) {
  std::ofstream(File("out.jsonl")) << "{\"id\":\"a\",\"verdict\":\"kept\"}\n";
  const std::string lines = Entry("a", "good\n") + Entry("b", "bad\n");
  Pipe in = MakePipe();
  ASSERT_EQ(write(in.write.get(), lines.data(), lines.size()), static_cast<ssize_t>(lines.size()));
  in.write.Reset();
  JudgePool pool([] { return Look; }, 1);
  EXPECT_EQ(JudgeStream(in.read.get(), Options(), {.budget_seconds = 60}, &pool), 0);
  const auto verdicts = Output();
  EXPECT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts.at("a")["verdict"], "kept");
}

// It ends with the one who reads: nobody would hear of what is judged.
TEST_F(BatchTest, AStreamThatNobodyReadsEnds) {
  BatchOptions options = Options();
  options.out = "/dev/full";
  Pipe in = MakePipe();
  const std::string lines = Entry("a", "good\n") + Entry("b", "good\n");
  ASSERT_EQ(write(in.write.get(), lines.data(), lines.size()), static_cast<ssize_t>(lines.size()));
  JudgePool pool([] { return Look; }, 1);
  EXPECT_THROW(JudgeStream(in.read.get(), options, {.budget_seconds = 60}, &pool), UserError);
}

TEST_F(BatchTest, PrintsWhereThereIsNoOutputFile) {
  Write(Entry("a", "good\n"));
  BatchOptions options = Options();
  options.out.clear();
  JudgePool pool([] { return Look; }, 1);
  testing::internal::CaptureStdout();
  EXPECT_EQ(JudgeBatch(ReadBatch(options.file), options, {.budget_seconds = 60}, &pool), 0);
  EXPECT_EQ(json::parse(testing::internal::GetCapturedStdout())["verdict"], "passed");
}

TEST(FinishedIds, AreThoseOfWholeLinesAndAFileOfSomebodyElseIsLeftAlone) {
  const TempDir folder;
  const std::string path = folder.path() / "out.jsonl", line = "{\"id\":\"a\",\"verdict\":\"passed\"}\n";
  EXPECT_TRUE(FinishedIds(path).empty());
  WriteFileAtomic(path, line + "{\"id\":\"b\",\"ver");
  EXPECT_EQ(FinishedIds(path), std::set<std::string>{"a"});
  EXPECT_EQ(ReadFile(path), line) << "what a kill left of the last line is gone";
  for (const std::string other :
       {"import torch", "import torch\n", "{\"a\": 1}", "{\n  \"a\": 1\n}", "[1]\n"}) {
    WriteFileAtomic(path, line + other);
    EXPECT_THROW(FinishedIds(path), UserError) << other;
    EXPECT_EQ(ReadFile(path), line + other);
  }
}

}  // namespace
}  // namespace tritogen
