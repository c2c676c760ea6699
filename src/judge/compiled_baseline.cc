#include "judge/compiled_baseline.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/process.h"
#include "base/utf8.h"

namespace tritogen {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr char kName[] = "torch.compile";
constexpr size_t kMostAnswerBytes = size_t{16} << 20;
constexpr size_t kMostErrorBytes = 500;                           // of stderr, where there is no answer
constexpr size_t kMostReasonBytes = 1000;                         // of a note in the verdict
constexpr Clock::duration kTimeToExit = std::chrono::seconds(1);  // after the end of stdout
constexpr int kMillisecondsBetweenQuestions = 200;

SampledTimes TimesFrom(const json& times) {
  SampledTimes found{{}, times.at("samples_us").get<std::vector<double>>()};
  const auto positive = [](double sample) { return std::isfinite(sample) && sample > 0; };
  if (found.samples.empty() || !std::all_of(found.samples.begin(), found.samples.end(), positive))
    throw FormatError("there are no times in it");
  found.summary = cuda::Summarize(found.samples);
  return found;
}

CompiledTimes::Method MethodFrom(const json& method, const std::string& eager) {
  return {TimesFrom(method.at(eager)), TimesFrom(method.at(kName))};
}

CompiledResult ResultFrom(const std::string& answer) {
  try {
    const json message = json::parse(answer);
    if (message.contains("error")) return NoCompiledTimes{message.at("error")};
    const std::string eager = message.at("eager");
    CompiledTimes times{.eager = eager,
                        .plain = MethodFrom(message.at("plain"), eager),
                        .compile_seconds = message.at("compile_seconds"),
                        .torch = message.at("torch"),
                        .triton = message.at("triton")};
    if (!message.at("graph").is_null()) times.graph = MethodFrom(message.at("graph"), eager);
    if (!message.at("difference").is_null()) times.difference = message.at("difference");
    return times;
  } catch (const std::exception& error) {  // of nlohmann, or TimesFrom
    return NoCompiledTimes{fmt::format("its process answered something else than times: {}", error.what())};
  }
}

std::string LastLine(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  text.remove_prefix(text.rfind('\n') + 1);  // npos + 1: from the start
  return std::string(text.substr(0, kMostErrorBytes));
}

}  // namespace

CompiledBaseline::CompiledBaseline(const CompiledBaselineOptions& options)
    : limit_seconds_(options.limit_seconds) {
  signal(SIGPIPE, SIG_IGN);  // a process that is gone shows when its answer is read
  const std::string file = folder_.path() / "reference.py";
  WriteFileAtomic(file, options.reference.text);
  std::vector<std::string> arguments = {options.python,
                                        options.script,
                                        file,
                                        options.reference.entry,
                                        "--wait",
                                        "--fp32-precision",
                                        std::string(Name(options.fp32_precision)),
                                        "--seed",
                                        std::to_string(options.seed % (uint64_t{1} << 63)),
                                        "--samples",
                                        std::to_string(options.samples),
                                        "--seconds",
                                        fmt::format("{}", options.seconds),
                                        "--cache",
                                        options.cache_folder};
  if (options.reference.is_function) arguments.push_back("--function");
  Start(arguments);
}

CompiledBaseline::~CompiledBaseline() {
  Stop();
}

void CompiledBaseline::Start(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  Pipe input = MakePipe(), output = MakePipe(), error = MakePipe();
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw InternalError(fmt::format("fork: {}", std::strerror(errno)));
  if (pid_ == 0) {
    setpgid(0, 0);  // Ctrl-C is the caller's business, and Stop reaches what the process starts
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    dup2(input.read.get(), 0);
    dup2(output.write.get(), 1);
    dup2(error.write.get(), 2);
    execvp(argv[0], argv.data());
    dprintf(2, "cannot run %s: %s\n", argv[0], std::strerror(errno));
    _exit(127);
  }
  setpgid(pid_, pid_);
  input_ = std::move(input.write);
  output_ = std::move(output.read);
  error_ = std::move(error.read);
  SetNonBlocking(output_.get());
  SetNonBlocking(error_.get());
}

// Gives the status with which the process ended; one that has ended, or is about to, keeps its own.
int CompiledBaseline::Stop() {
  int status = 0;
  if (pid_ < 0) return status;
  const auto deadline = Clock::now() + (output_ended_ ? kTimeToExit : Clock::duration(0));
  siginfo_t ended = {};
  while (waitid(P_PID, pid_, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0 &&
         Clock::now() < deadline) {
    usleep(1000);
  }
  kill(-pid_, SIGKILL);  // the process is still there, or a zombie: the number of the group is still its own
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
  return status;
}

// What the process wrote to its end. Its children may hold stderr open for longer.
std::optional<std::string> CompiledBaseline::ReadAnswer(const std::function<bool()>& give_up,
                                                        NoCompiledTimes* why_not) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(limit_seconds_);
  std::string answer, errors;
  while (true) {
    if (give_up()) {
      why_not->reason = "it was interrupted";
      return std::nullopt;
    }
    if (Clock::now() >= deadline) {
      why_not->reason = fmt::format("it was not done within {:.3g} s (a second run finds more in its cache)",
                                    limit_seconds_);
      return std::nullopt;
    }
    pollfd polls[2] = {{output_.get(), POLLIN, 0}, {error_.get(), POLLIN, 0}};
    poll(polls, 2, kMillisecondsBetweenQuestions);
    if (polls[1].revents != 0 && !ReadAvailable(error_.get(), &errors)) error_.Reset();
    if (errors.size() > kMostAnswerBytes) errors.erase(0, errors.size() - kMostErrorBytes);
    if (polls[0].revents != 0 && !ReadAvailable(output_.get(), &answer)) break;
    if (answer.size() > kMostAnswerBytes) {
      why_not->reason = "its process wrote more than any answer holds";
      return std::nullopt;
    }
  }
  output_ended_ = true;
  if (!answer.empty()) return answer;
  if (error_.valid()) ReadAvailable(error_.get(), &errors);
  why_not->reason = fmt::format("its process ended without an answer: {}: {}", DescribeWaitStatus(Stop()),
                                LastLine(errors));
  return std::nullopt;
}

CompiledResult CompiledBaseline::Run(const std::function<bool()>& give_up) {
  TRITOGEN_CHECK(input_.valid());
  (void)!write(input_.get(), "\n", 1);
  input_.Reset();
  NoCompiledTimes why_not;
  const std::optional<std::string> answer = ReadAnswer(give_up, &why_not);
  Stop();
  return answer ? ResultFrom(*answer) : CompiledResult(why_not);
}

void AddBaseline(const CompiledResult& result, json* verdict) {
  if (!verdict->contains("timing") || !verdict->at("timing").is_object()) return;
  json& timing = verdict->at("timing");
  json& notes = (*verdict)["notes"];
  if (const auto* none = std::get_if<NoCompiledTimes>(&result)) {
    notes.push_back(fmt::format("torch.compile was not timed: {} (--no-compile leaves it out)",
                                PrintableText(none->reason, kMostReasonBytes)));
    return;
  }
  const auto& times = std::get<CompiledTimes>(result);
  const bool by_graph = times.graph && timing.value("method", "") != "replay";
  const CompiledTimes::Method& method = by_graph ? *times.graph : times.plain;
  const cuda::Summary& summary = method.compiled.summary;
  timing["baselines"].push_back(
      {{"name", kName},
       {"median_us", summary.median},
       {"q1_us", summary.lower_quartile},
       {"q3_us", summary.upper_quartile},
       {"samples_us", method.compiled.samples},
       {"graph_median_us", times.graph ? json(times.graph->compiled.summary.median) : json()},
       {"replay_median_us", times.plain.compiled.summary.median},
       {"own_process",
        {{"method", by_graph ? "graph" : "replay"},
         {"eager", times.eager},
         {"eager_median_us", method.eager.summary.median},
         {"compile_seconds", times.compile_seconds},
         {"torch", times.torch},
         {"triton", times.triton}}}});
  timing["speedup"][kName] = summary.median / timing.at("candidate").at("median_us").get<double>();
  if (!times.difference.empty())
    notes.push_back(fmt::format("torch.compile: {}", PrintableText(times.difference, kMostReasonBytes)));
}

}  // namespace tritogen
