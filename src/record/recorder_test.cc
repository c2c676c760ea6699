#include "record/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/temp_dir.h"

namespace tritogen {
namespace {

namespace fs = std::filesystem;
const fs::path kWorker = fs::path(TRITOGEN_SOURCE_DIR) / "worker";

RecorderOptions Options() {
  const char* python = std::getenv("TRITOGEN_PYTHON");
  RecorderOptions options;
  options.python = python != nullptr ? python : TRITOGEN_SOURCE_DIR "/.venv/bin/python";
  options.worker_folder = kWorker;
  options.wall_seconds = 60;
  options.cpu_seconds = 2;
  options.memory_bytes = int64_t{1} << 29;
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

// "rejected exit: message": kind, rule if there is one, message.
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

// Each file says how it must end: "# expect: KIND", "# rule: NAME" where it is rejected, "# says: words of
// the message".
TEST_P(HostileTest, EndsAsItSays) {
  const std::string source = ReadFile(kWorker / "tests" / "hostile" / (GetParam() + ".py"));
  const std::string wall = Annotation(source, "wall");
  const RecordFailure failure = Fail(Shared(), source, wall.empty() ? 0 : std::stod(wall));
  EXPECT_EQ(KindName(failure.kind), Annotation(source, "expect")) << Describe(failure) << failure.trace;
  EXPECT_EQ(failure.rule, Annotation(source, "rule")) << Describe(failure);
  EXPECT_THAT(failure.message, testing::HasSubstr(Annotation(source, "says")));
  EXPECT_EQ(Fail(Shared(), "result = 'alive'").message, "alive") << "the zygote did not survive";
}

INSTANTIATE_TEST_SUITE_P(, HostileTest, testing::ValuesIn(Attacks()),
                         [](const auto& info) { return info.param; });

TEST(RecorderTest, ManyAtOnceGetTheirOwnAnswers) {
  std::vector<std::string> answers(24);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 6; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = thread; i < 24; i += 6) answers[i] = Fail(Shared(), fmt::format("result = {}", i)).message;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 24; ++i) EXPECT_EQ(answers[i], std::to_string(i));
}

TEST(RecorderTest, CandidatesSeeTheReferencesShapesOnly) {
  Plan reference;
  reference.storages = {48};
  reference.tensors = {{0, Dtype::kFloat32, {3, 4}, {4, 1}, 0, true}};
  reference.inputs = {Value{TensorRef{0}}, Value{2.5},
                      Value{Value::List{Value{std::string("sum")}, Value{}}}};
  RecordRequest request;
  request.source = "result = sorted(request.items())";
  request.entry = "ModelNew";
  request.reference = &reference;
  auto result = Shared().Record(request);
  ASSERT_TRUE(std::holds_alternative<RecordFailure>(result));
  EXPECT_EQ(std::get<RecordFailure>(result).message,
            "[('capability', [9, 0]), ('entry', 'ModelNew'), ('init_inputs', []), ('inputs', [{'tensor': "
            "['float32', [3, 4], "
            "[4, 1]]}, 2.5, ['sum', None]]), ('kind', 'class'), ('role', 'candidate'), ('source', 'result = "
            "sorted(request.items())')]");
}

TEST(RecorderTest, ProgramsAreToldWhichGpuTheyAreFor) {
  RecorderOptions options = Options();
  options.capability = 120;
  Recorder recorder(options);
  EXPECT_EQ(Fail(recorder, "result = request['capability']").message, "[12, 0]");
}

TEST(RecorderTest, LastWordsAreKept) {
  EXPECT_THAT(Fail(Shared(), "import os\nos.write(2, b'last words')\nos._exit(3)").trace,
              testing::HasSubstr("last words"));
}

TEST(RecorderTest, OneChildSeesNothingOfAnother) {
  EXPECT_EQ(Fail(Shared(), "open('/tmp/note', 'w').write('x')\nimport torch\ntorch.note = 1").message,
            "done");
  EXPECT_EQ(Fail(Shared(), "import os, torch\nresult = os.listdir('/tmp'), hasattr(torch, 'note')").message,
            "([], False)");
}

std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::vector<pid_t> children;
  for (const auto& task : fs::directory_iterator(fmt::format("/proc/{}/task", pid))) {
    std::istringstream list(ReadFile(task.path() / "children"));
    for (pid_t child; list >> child;) children.push_back(child);
  }
  return children;
}

bool IsGone(pid_t pid) {
  std::error_code error;
  if (!fs::exists(fmt::format("/proc/{}", pid), error)) return true;
  try {
    return ReadFile(fmt::format("/proc/{}/stat", pid)).find(") Z ") !=
           std::string::npos;  // dead, not yet waited for
  } catch (const UserError&) {
    return true;
  }
}

bool BecomesTrue(const std::function<bool()>& condition) {
  for (int i = 0; i < 1200; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

TEST(RecorderTest, ADeadZygoteIsReplacedAndItsProgramsRunAgain) {
  ASSERT_EQ(Fail(Shared(), "result = 1").message, "1");
  std::string answer;
  std::thread recording(
      [&] { answer = Fail(Shared(), "import time; time.sleep(0.5); result = 'after all'").message; });
  const pid_t zygote = ChildrenOf(getpid()).at(0);
  EXPECT_TRUE(BecomesTrue([&] { return !ChildrenOf(zygote).empty(); }));
  kill(zygote, SIGKILL);
  recording.join();
  EXPECT_EQ(answer, "after all");
}

// Runs `body` in a process of its own, so that it can be killed or lose rights. Gives its exit status.
int InChildProcess(const std::function<void()>& body) {
  const pid_t pid = fork();
  if (pid == 0) {
    try {
      body();
      _exit(0);
    } catch (const std::exception& error) {
      fprintf(stderr, "%s\n", error.what());
      _exit(1);
    }
  }
  int status = -1;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// As one does that waits in vain and may send no signals.
TEST(RecorderTest, AForkedProcessThatHangsUpEndsTheZygote) {
  Recorder recorder(Options());
  const pid_t zygote = ChildrenOf(getpid()).back();
  kill(zygote, SIGSTOP);
  const int control = recorder.fds().at(0);
  EXPECT_EQ(InChildProcess([&] { _exit(shutdown(control, SHUT_RDWR) == 0 ? 42 : 43); }), 42);
  EXPECT_TRUE(BecomesTrue([&] { return IsGone(zygote); }));
  recorder.Await();
  EXPECT_EQ(Fail(recorder, "result = 'another'").message, "another");
}

// Its keeper may be about to take note of the death: what it changes is not seen half.
TEST(RecorderTest, AForkedProcessGetsTheWorkerAsItIsWhileItIsHeld) {
  Recorder recorder(Options());
  const pid_t zygote = ChildrenOf(getpid()).back();
  HeldLocks held;
  EXPECT_FALSE(recorder.fds(&held).empty());
  EXPECT_EQ(InChildProcess([&] {
              held.clear();
              _exit(Fail(recorder, "result = 'shared'").message == "shared" ? 42 : 43);
            }),
            42);
  kill(zygote, SIGKILL);
  EXPECT_TRUE(BecomesTrue([&] { return IsGone(zygote); }));
  EXPECT_EQ(InChildProcess([&] {
              held.clear();
              _exit(recorder.Lost() ? 42 : 43);
            }),
            42);
  held.clear();
  EXPECT_EQ(Fail(recorder, "result = 'another'").message, "another");
}

// In turn; where one dies, the others' programs are not disturbed.
TEST(RecorderTest, SeveralWorkersShareWhatThereIsToRecord) {
  RecorderOptions options = Options();
  options.workers = 2;
  const size_t before = ChildrenOf(getpid()).size();
  Recorder recorder(options);
  const std::vector<pid_t> children = ChildrenOf(getpid());
  ASSERT_EQ(children.size(), before + 2);
  std::vector<std::string> answers(2);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      const std::string source = fmt::format("import time; time.sleep(1); result = {}", i);
      answers[i] = Fail(recorder, source).message;
    });
  }
  for (size_t i = before; i < children.size(); ++i)
    EXPECT_TRUE(BecomesTrue([&] { return !ChildrenOf(children[i]).empty(); })) << "one has nothing to do";
  kill(children.back(), SIGKILL);
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(answers[i], std::to_string(i));
  recorder.Await();
  EXPECT_FALSE(recorder.Lost());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Fail(recorder, "result = 'alive'").message, "alive");
}

// A judge, say: it shares the zygote, but cannot start another.
TEST(RecorderTest, AForkedProcessSaysAtOnceThatTheZygoteIsGone) {
  Recorder recorder(Options());
  const pid_t zygote = ChildrenOf(getpid()).back();
  EXPECT_EQ(InChildProcess([&] {
              const bool shared = Fail(recorder, "result = 1").message == "1" && !recorder.Lost();
              kill(zygote, SIGKILL);
              const bool told = Fail(recorder, "result = 2").kind == RecordFailure::Kind::kInfraError;
              _exit(shared && told && recorder.Lost() ? 42 : 43);
            }),
            42);
  recorder.Await();
  EXPECT_FALSE(recorder.Lost());
  EXPECT_EQ(InChildProcess([&] { _exit(Fail(recorder, "result = 3").message == "3" ? 42 : 43); }), 42);
}

TEST(RecorderTest, NothingSurvivesACallerThatIsKilled) {
  Pipe warm = MakePipe();
  const pid_t caller = fork();
  if (caller == 0) {
    Recorder recorder(Options());
    warm.write.Reset();
    Fail(recorder, "while True: pass");
    _exit(0);
  }
  warm.write.Reset();
  char nothing;
  ASSERT_EQ(read(warm.read.get(), &nothing, 1), 0) << "waits for the end of the pipe";
  const std::vector<pid_t> zygotes = ChildrenOf(caller);
  ASSERT_EQ(zygotes.size(), 1);
  std::vector<pid_t> children;
  EXPECT_TRUE(BecomesTrue([&] { return !(children = ChildrenOf(zygotes[0])).empty(); }));
  kill(caller, SIGKILL);
  waitpid(caller, nullptr, 0);
  for (pid_t pid : zygotes) EXPECT_TRUE(BecomesTrue([&] { return IsGone(pid); }));
  for (pid_t pid : children) EXPECT_TRUE(BecomesTrue([&] { return IsGone(pid); }));
}

void ForbidNamespaces() {
  const std::string map = fmt::format("0 {} 1", geteuid());
  TRITOGEN_CHECK(unshare(CLONE_NEWUSER) == 0);
  std::ofstream("/proc/self/uid_map") << map;
  std::ofstream("/proc/sys/user/max_user_namespaces") << "0";
}

TEST(RecorderTest, WithoutNamespacesItRefusesUnlessToldOtherwise) {
  EXPECT_EQ(InChildProcess([] {
              ForbidNamespaces();
              try {
                Recorder recorder(Options());
              } catch (const UserError& error) {
                _exit(std::string(error.what()).find("--allow-weak-jail") != std::string::npos ? 42 : 43);
              }
            }),
            42);
}

TEST(RecorderTest, AWeakJailStillForbidsAndLeavesNothingBehind) {
  const TempDir folder;
  const std::string source = ReadFile(kWorker / "tests" / "hostile" / "fork_bomb.py");
  EXPECT_EQ(InChildProcess([&] {
              ForbidNamespaces();
              setenv("TMPDIR", folder.path().c_str(), 1);
              RecorderOptions options = Options();
              options.allow_weak_jail = true;
              Recorder recorder(options);
              TRITOGEN_CHECK(!recorder.missing_features().empty());
              TRITOGEN_CHECK(Fail(recorder, source).message.starts_with("PermissionError"));
              const std::string write = "open('mine', 'w').write('x')\nopen('/var/tmp/tritogen-attack', 'w')";
              TRITOGEN_CHECK(Fail(recorder, write).message.starts_with("PermissionError"));
              TRITOGEN_CHECK(Fail(recorder, "while True: pass", 0.3).kind == RecordFailure::Kind::kTimeout);
            }),
            0);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(RecorderTest, AnInterpreterWithoutTorchIsNamed) {
  const TempDir folder;
  const std::string python = folder.path() / "python";
  WriteFileAtomic(python, "#!/bin/sh\nexec " + Options().python + " -I -S \"$@\"\n");
  fs::permissions(python, fs::perms::owner_all);
  RecorderOptions options = Options();
  options.python = python;
  EXPECT_THAT([&] { Recorder recorder(options); },
              testing::ThrowsMessage<UserError>(testing::HasSubstr("has no torch")));
  options.python = folder.path() / "missing";
  EXPECT_THAT([&] { Recorder recorder(options); },
              testing::ThrowsMessage<UserError>(testing::HasSubstr("cannot run")));
}

TEST(RecorderTest, OneThatDoesNotWaitSaysLaterWhyItCannotStart) {
  RecorderOptions options = Options();
  options.waits = false;
  Recorder recorder(options);
  recorder.Require();
  EXPECT_FALSE(recorder.fds().empty());
  options.recorder_module = "no_such_module";
  Recorder broken(options);
  EXPECT_THAT([&] { broken.Require(); },
              testing::ThrowsMessage<UserError>(testing::HasSubstr("no_such_module")));
}

}  // namespace
}  // namespace tritogen
