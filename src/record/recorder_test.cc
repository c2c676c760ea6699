#include "record/recorder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

#include "base/atomic_file.h"
#include "base/error.h"
#include "record/jail_probe.h"

namespace tritogen {
namespace {

namespace fs = std::filesystem;
const fs::path kWorker = fs::path(TRITOGEN_SOURCE_DIR) / "worker";

RecorderOptions Options() {
  const char* python = std::getenv("TRITOGEN_PYTHON");
  RecorderOptions options;
  options.python = python != nullptr ? python : TRITOGEN_SOURCE_DIR "/.venv/bin/python";
  options.worker_folder = kWorker;
  options.wall_seconds = 20;
  options.recorder_module = "tests.run_source";
  return options;
}

// One zygote for all tests: it takes seconds to warm up.
Recorder& Shared() {
  static Recorder recorder(Options());
  return recorder;
}

RecordFailure Fail(Recorder& recorder, const std::string& source, double wall_seconds = 0) {
  RecordRequest request;
  request.source = source;
  request.wall_seconds = wall_seconds;
  auto result = recorder.Record(request);
  if (auto* failure = std::get_if<RecordFailure>(&result)) return *failure;
  return {RecordFailure::Kind::kInfraError, "", "a Plan came out", 0, ""};
}

std::string KindName(RecordFailure::Kind kind) {
  constexpr const char* kNames[] = {"compile_error", "runtime_error", "rejected",
                                    "timeout",       "killed",        "infra_error"};
  return kNames[static_cast<int>(kind)];
}

// "rejected exit: exit status 0": kind, rule if there is one, message.
std::string Describe(const RecordFailure& failure) {
  return KindName(failure.kind) + " " + (failure.rule.empty() ? "" : failure.rule + ": ") + failure.message;
}

// Value of a "# name: value" line of an attack, empty when there is none.
std::string Annotation(const std::string& source, const std::string& name) {
  const std::string prefix = "# " + name + ": ";
  std::istringstream lines(source);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(prefix)) return line.substr(prefix.size());
  }
  return "";
}

std::vector<std::string> Attacks() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kWorker / "tests" / "hostile")) {
    if (entry.path().extension() == ".py") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class HostileTest : public testing::TestWithParam<std::string> {};

// Each file says how it must end: "# expect: KIND words of the rule and message".
TEST_P(HostileTest, EndsAsItSays) {
  const std::string source = ReadFile(kWorker / "tests" / "hostile" / (GetParam() + ".py"));
  const std::string expected = Annotation(source, "expect"), wall = Annotation(source, "wall");
  const RecordFailure failure = Fail(Shared(), source, wall.empty() ? 0 : std::stod(wall));
  const size_t space = expected.find(' ');
  EXPECT_EQ(KindName(failure.kind), expected.substr(0, space)) << Describe(failure) << "\n" << failure.trace;
  if (space != std::string::npos) {
    EXPECT_NE(Describe(failure).find(expected.substr(space + 1)), std::string::npos)
        << Describe(failure) << "\nexpected: " << expected << "\n"
        << failure.trace;
  }
  EXPECT_EQ(Describe(Fail(Shared(), "result = 'alive'")), "runtime_error alive")
      << "the zygote did not survive";
}

INSTANTIATE_TEST_SUITE_P(, HostileTest, testing::ValuesIn(Attacks()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tritogen
