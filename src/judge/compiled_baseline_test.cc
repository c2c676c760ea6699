#include "judge/compiled_baseline.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/atomic_file.h"
#include "base/error.h"

namespace tritogen {
namespace {

using nlohmann::json;

// What worker/compiled_baseline.py answers.
json Answer() {
  auto times = [](std::vector<double> samples) { return json{{"samples_us", std::move(samples)}}; };
  return {{"graph", {{"eager fp32", times({20, 22, 24})}, {"torch.compile", times({9, 10, 12})}}},
          {"plain", {{"eager fp32", times({30})}, {"torch.compile", times({25})}}},
          {"eager", "eager fp32"},
          {"compile_seconds", 3.5},
          {"difference", nullptr},
          {"torch", "2.11.0"},
          {"triton", "3.6.0"}};
}

json TimedVerdict(const std::string& method = "graph") {
  return {{"verdict", "passed"},
          {"timing",
           {{"method", method},
            {"candidate", {{"median_us", 5.0}}},
            {"baselines", json::array({{{"name", "eager fp32"}, {"median_us", 22.5}}})},
            {"speedup", {{"eager fp32", 4.5}}}}},
          {"notes", json::array()}};
}

bool Never() {
  return false;
}

// A shell script in the place of the Python one.
class Script {
 public:
  explicit Script(const std::string& text) { WriteFileAtomic(folder_.path() / "script", text); }

  CompiledBaselineOptions options(double limit_seconds = 30) const {
    return {.python = "/bin/sh",
            .script = folder_.path() / "script",
            .cache_folder = folder_.path() / "cache",
            .reference = {.text = "def f(x): pass\n", .entry = "f", .is_function = true},
            .seed = 7,
            .limit_seconds = limit_seconds};
  }
  CompiledResult Run(double limit_seconds = 30, const std::function<bool()>& give_up = Never) const {
    CompiledBaseline baseline(options(limit_seconds));
    return baseline.Run(give_up);
  }
  std::string ReasonOf(double limit_seconds = 30, const std::function<bool()>& give_up = Never) const {
    const CompiledResult result = Run(limit_seconds, give_up);
    const auto* none = std::get_if<NoCompiledTimes>(&result);
    return none == nullptr ? "" : none->reason;
  }
  std::filesystem::path folder() const { return folder_.path(); }

 private:
  TempDir folder_;
};

std::string Echo(const json& answer) {
  return "read go; cat <<'END'\n" + answer.dump() + "\nEND\n";
}

bool Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 500 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return condition();
}

TEST(CompiledBaseline, TimesOfBothMethodsAreRead) {
  const CompiledResult result = Script(Echo(Answer())).Run();
  const auto& times = std::get<CompiledTimes>(result);
  EXPECT_EQ(times.graph->compiled.summary.median, 10);
  EXPECT_EQ(times.graph->eager.samples, (std::vector<double>{20, 22, 24}));
  EXPECT_EQ(times.plain.compiled.summary.median, 25);
  EXPECT_EQ(times.compile_seconds, 3.5);
  EXPECT_EQ(times.difference, "");
}

TEST(CompiledBaseline, TheProcessGetsFileEntryAndOptionsAndWaits) {
  const Script script(
      "echo \"$@\" > \"$0.arguments\"; cat \"$1\" > \"$0.file\"; read go; touch \"$0.began\"");
  CompiledBaseline baseline(script.options());
  ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(script.folder() / "script.file"); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(std::filesystem::exists(script.folder() / "script.began"));
  baseline.Run(Never);
  EXPECT_TRUE(std::filesystem::exists(script.folder() / "script.began"));
  EXPECT_EQ(ReadFile(script.folder() / "script.file"), "def f(x): pass\n");
  const std::string arguments = ReadFile(script.folder() / "script.arguments");
  for (const char* expected : {"/reference.py f --wait", "--seed 7", "--samples 100", "--function"})
    EXPECT_NE(arguments.find(expected), std::string::npos) << arguments;
}

TEST(CompiledBaseline, WhatTheProcessSaysIsTheReason) {
  EXPECT_EQ(Script(Echo({{"error", "could not compile it: no luck"}})).ReasonOf(),
            "could not compile it: no luck");
}

TEST(CompiledBaseline, AnEndWithoutAnAnswerIsAReason) {
  EXPECT_NE(Script("read go; echo 'some trace' >&2; echo 'the last line' >&2; exit 5")
                .ReasonOf()
                .find("exit status 5: the last line"),
            std::string::npos);
  EXPECT_NE(Script("read go; kill -SEGV $$").ReasonOf().find("signal 11"), std::string::npos);
  Script script("");
  CompiledBaselineOptions options = script.options();
  options.python = "/no/such/interpreter";
  const CompiledResult result = CompiledBaseline(options).Run(Never);
  EXPECT_NE(std::get<NoCompiledTimes>(result).reason.find("cannot run /no/such/interpreter"),
            std::string::npos);
}

TEST(CompiledBaseline, AnythingElseThanTimesIsAReason) {
  json negative = Answer(), empty = Answer(), no_graph_key = Answer(), number = Answer();
  negative["plain"]["torch.compile"]["samples_us"] = {1.0, -1.0};
  empty["graph"]["eager fp32"]["samples_us"] = json::array();
  no_graph_key.erase("graph");
  number["torch"] = 2;
  for (const json& wrong : {negative, empty, no_graph_key, number, json(nullptr), json::array({1})})
    EXPECT_NE(Script(Echo(wrong)).ReasonOf().find("something else than times"), std::string::npos) << wrong;
  EXPECT_NE(Script("read go; echo '{\"plain\": NaN'").ReasonOf().find("something else"), std::string::npos);
  EXPECT_NE(Script("read go; yes").ReasonOf().find("more than any answer holds"), std::string::npos);
}

bool Runs(int pid) {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  std::string number, name, state;
  return stat >> number >> name >> state && state != "Z";
}

bool Written(const std::filesystem::path& pids) {
  return std::filesystem::exists(pids) && ReadFile(pids).ends_with('\n');
}

// The process and what it started are gone.
void ExpectNobodyLeft(const std::filesystem::path& pids) {
  std::stringstream numbers(ReadFile(pids));
  int count = 0;
  for (int pid; numbers >> pid; ++count) EXPECT_TRUE(Eventually([&] { return !Runs(pid); })) << pid;
  EXPECT_EQ(count, 2);
}

constexpr char kHang[] = "sleep 1000 & echo $! $$ > \"$0.pids\"; read go; wait";

TEST(CompiledBaseline, ALimitOfTimeEndsItAndItsChildren) {
  const Script script(kHang);
  EXPECT_NE(script.ReasonOf(0.5).find("not done within 0.5 s"), std::string::npos);
  ExpectNobodyLeft(script.folder() / "script.pids");
}

TEST(CompiledBaseline, GivingUpEndsItAndItsChildren) {
  const Script script(kHang);
  const auto pids = script.folder() / "script.pids";
  EXPECT_EQ(script.ReasonOf(30, [&] { return Written(pids); }), "it was interrupted");
  ExpectNobodyLeft(pids);
}

TEST(CompiledBaseline, ItEndsWithItsOwnerAndWithoutHavingRun) {
  const Script script(kHang);
  const auto pids = script.folder() / "script.pids";
  {
    const CompiledBaseline baseline(script.options());
    ASSERT_TRUE(Eventually([&] { return Written(pids); }));
  }
  ExpectNobodyLeft(pids);
}

CompiledTimes Times() {
  CompiledTimes times{
      .graph = CompiledTimes::Method{}, .compile_seconds = 3.5, .torch = "2.11.0", .triton = "3.6.0"};
  times.graph->compiled = {cuda::Summarize(std::vector<double>{10}), {10}};
  times.graph->eager = {cuda::Summarize(std::vector<double>{22}), {22}};
  times.plain.compiled = {cuda::Summarize(std::vector<double>{25}), {25}};
  times.plain.eager = {cuda::Summarize(std::vector<double>{30}), {30}};
  return times;
}

TEST(AddBaseline, TimesBecomeABaselineWithItsOwnEagerBeside) {
  json verdict = TimedVerdict();
  AddBaseline(Times(), &verdict);
  const json& baseline = verdict["timing"]["baselines"][1];
  EXPECT_EQ(baseline["name"], "torch.compile");
  EXPECT_EQ(baseline["median_us"], 10);
  EXPECT_EQ(baseline["graph_median_us"], 10);
  EXPECT_EQ(baseline["replay_median_us"], 25);
  EXPECT_EQ(baseline["own_process"]["eager_median_us"], 22);
  EXPECT_EQ(baseline["own_process"]["method"], "graph");
  EXPECT_EQ(verdict["timing"]["speedup"]["torch.compile"], 2);
  EXPECT_TRUE(verdict["notes"].empty());
}

TEST(AddBaseline, ACandidateWithoutAGraphIsComparedByPlainCalls) {
  json verdict = TimedVerdict("replay");
  AddBaseline(Times(), &verdict);
  EXPECT_EQ(verdict["timing"]["baselines"][1]["median_us"], 25);
  EXPECT_EQ(verdict["timing"]["baselines"][1]["own_process"]["eager_median_us"], 30);
  EXPECT_EQ(verdict["timing"]["speedup"]["torch.compile"], 5);
}

TEST(AddBaseline, ADifferenceAndAFailureAreNotes) {
  CompiledTimes times = Times();
  times.difference = "output 0 is off by 3 where the largest value is 4";
  json verdict = TimedVerdict();
  AddBaseline(times, &verdict);
  EXPECT_EQ(verdict["notes"],
            json::array({"torch.compile: output 0 is off by 3 where the largest value is 4"}));

  json other = TimedVerdict(), expected = other;
  AddBaseline(NoCompiledTimes{"could not compile it: \x1b[31m"}, &other);
  expected["notes"] = {
      "torch.compile was not timed: could not compile it: ?[31m (--no-compile leaves it out)"};
  EXPECT_EQ(other, expected);
}

TEST(AddBaseline, AVerdictWithoutTimesStaysAsItIs) {
  json verdict = {{"verdict", "wrong_values"}, {"timing", nullptr}, {"notes", json::array()}};
  const json before = verdict;
  AddBaseline(Times(), &verdict);
  AddBaseline(NoCompiledTimes{"no luck"}, &verdict);
  EXPECT_EQ(verdict, before);
}

}  // namespace
}  // namespace tritogen
