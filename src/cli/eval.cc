// eval: how many programs a model, or any proposer, finds verified answers for.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/sha256.h"
#include "base/thread_team.h"
#include "cli/command.h"
#include "cli/eval_output.h"
#include "cli/eval_tasks.h"
#include "cli/exit_code.h"
#include "cli/files.h"
#include "cli/model_session.h"
#include "cli/numbers.h"
#include "cli/parse.h"
#include "cli/progress.h"
#include "cli/remote_options.h"
#include "cli/session.h"
#include "cli/version.h"
#include "eval/evaluate.h"
#include "report/eval_report.h"

namespace tritogen {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr int64_t kTasksOnGpu = 512, kTasksOnCpu = 16;  // asked at once
constexpr double kSharedCacheGib = 8;                   // of keys and values, where judges use the GPU, too

struct EvalOptions {
  SuiteOptions suite;
  ProposerOptions proposers;
  RunnerOptions runner;
  int samples = 8, judges = 0, gpus = 1;
  std::string judge = "cpu", out, html;
  AnswerFiles files;
  double budget_seconds = 60;
  Fp32Precision fp32_precision = Fp32Precision::kIeee;
  bool hybrid = false, repair = false, json = false, allow_weak_jail = false;
};

void AddOptions(CLI::App* app, EvalOptions* o) {
  o->suite.AddTo(app);
  app->add_option("-n,--samples", o->samples, "answers of each proposer to each task")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app->add_flag("--hybrid,!--strict", o->hybrid,
                "library calls are allowed and counted (default: strict, all compute in Triton)");
  AddFp32Precision(app, &o->fp32_precision);
  app->add_option("--device", o->runner.device, "where models run")
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}))
      ->capture_default_str();
  app->add_option("--judge", o->judge, "where answers run: cpu is the tile machine; cuda takes times, too")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  app->add_option("--judges", o->judges, "processes that verify (default: one per core)")
      ->check(CLI::Range(1, 1024));
  AddGpus(app, &o->gpus);
  app->add_option("--budget", o->budget_seconds, "seconds for the verification of one answer")
      ->check(kSeconds)
      ->capture_default_str();
  app->add_option("--dtype", o->runner.dtype, "of a model's weights (auto: as the files have them)")
      ->check(CLI::IsMember({"auto", "float32", "bfloat16", "float16", "int8"}));
  app->add_option("--batch", o->runner.slots, "answers that a model writes at once")
      ->check(CLI::Range(1, 4096));
  AddRankOptions(app, &o->runner.ranks);
  app->add_option("--cache-gib", o->runner.cache_gib, "memory for a model's keys and values")
      ->check(kPositive);
  app->add_flag("--repair", o->repair, "send each verdict that is no pass back once");
  app->add_option("--out", o->out,
                  "folder: results as they come, and the summary; a second run goes on there");
  app->add_option("--failures", o->files.failures,
                  "append wrong answers to this JSONL file, as training on repairs reads them");
  app->add_option("--answers", o->files.answers,
                  "append all answers, right ones too, with their verdicts to this JSONL file");
  app->add_option(
      "--conversations", o->files.conversations,
      "append right answers, and repairs of wrong ones, to this JSONL file, as sft learns from them");
  app->add_option("--html", o->html, "write a report to this file: one self-contained page");
  app->add_flag("--json", o->json, "print the summary as JSON on stdout");
  AddWeakJail(app, &o->allow_weak_jail);
  o->proposers.AddTo(app);
}

// --model alone is the folder of the model that is asked; with a remote proposer it is that one's model.
void NameProposers(EvalOptions* o) {
  const auto remote = [](const std::string& name) { return name.starts_with("remote:"); };
  std::vector<std::string>& names = o->proposers.proposers;
  if (!o->proposers.model.empty() && std::ranges::none_of(names, remote)) {
    std::string folder = std::exchange(o->proposers.model, {});
    names.push_back(folder.find('/') == std::string::npos && folder != "policy" ? "./" + folder : folder);
  }
  if (names.empty()) names.push_back("policy");
}

// A model folder is told by what is in it.
std::string IdentityOf(const std::string& proposer) {
  if (!fs::is_directory(proposer)) return proposer;
  std::string text;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(proposer)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files)
    text += fmt::format("{} {} {}\n", file.filename().string(), fs::file_size(file),
                        fs::last_write_time(file).time_since_epoch().count());
  return fmt::format("{} ({})", proposer, Sha256Hex(text).substr(0, 12));
}

// What decides the results, but for the number of tasks: that may grow.
ordered_json Identity(const EvalOptions& o) {
  ordered_json json = o.suite.ToJson();
  if (o.suite.suite == "synth" && !o.suite.config.empty()) json["config"] = o.suite.config;
  ordered_json proposers = ordered_json::array();
  for (const std::string& name : o.proposers.proposers) proposers.push_back(IdentityOf(name));
  json["proposers"] = proposers;
  json["samples"] = o.samples;
  json["mode"] = o.hybrid ? "hybrid" : "strict";
  json["fp32_precision"] = Name(o.fp32_precision);
  json["judge"] = o.judge;
  json["repair"] = o.repair;
  json["prompt"] = o.proposers.prompt;
  json["temperature"] = o.proposers.temperature ? ordered_json(*o.proposers.temperature) : ordered_json();
  json["parts"] = o.proposers.parts;
  json["unjudged_parts"] = o.proposers.unjudged_parts;
  json["largest_size"] = o.proposers.largest_size;
  json["top_p"] = o.proposers.top_p ? ordered_json(*o.proposers.top_p) : ordered_json();
  json["max_tokens"] = o.proposers.max_tokens ? ordered_json(*o.proposers.max_tokens) : ordered_json();
  return json;
}

std::string Percent(const ordered_json& estimate) {
  if (estimate.at("tasks") == 0) return "-";
  return fmt::format("{:.1f}% ({:.1f}-{:.1f})", 100 * estimate.at("value").get<double>(),
                     100 * estimate.at("low").get<double>(), 100 * estimate.at("high").get<double>());
}

void PrintCell(const std::string& name, const ordered_json& cell) {
  std::string text = fmt::format("  {:<12} {:>6} tasks", name, cell.at("tasks").get<int64_t>());
  for (const auto& [k, estimate] : cell.at("pass").items())
    text += fmt::format("  pass@{} {}", k, Percent(estimate));
  text += fmt::format("  plans {:.2f}", cell.at("plans").at("mean").get<double>());
  if (cell.contains("after_repair")) text += fmt::format("  repaired {}", Percent(cell.at("after_repair")));
  if (cell.contains("fast"))
    text += fmt::format("  fast_1 {}  fast_2 {}  speedup {:.2f} (median; geometric mean {:.2f})",
                        Percent(cell.at("fast").at("1")), Percent(cell.at("fast").at("2")),
                        cell.at("speedup").at("median").get<double>(),
                        cell.at("speedup").at("geometric_mean").get<double>());
  fmt::print("{}\n", text);
}

void PrintSummary(const ordered_json& summary) {
  constexpr size_t kReasons = 12;
  for (const auto& [name, of] : summary.at("proposers").items()) {
    fmt::print("{}\n", name);
    for (const auto& [group, cell] : of.at("groups").items()) PrintCell(group, cell);
    if (of.at("groups").size() > 1) PrintCell("all", of.at("all"));
    std::vector<std::pair<int64_t, std::string>> reasons;
    for (const auto& [reason, count] : of.at("verdicts").items()) {
      if (reason != "passed") reasons.emplace_back(count, reason);
    }
    std::ranges::sort(reasons, std::greater());
    if (reasons.size() > kReasons) reasons.resize(kReasons);
    for (const auto& [count, reason] : reasons) fmt::print("  failed {:>7}  {}\n", count, reason);
  }
  if (summary.at("left_out") > 0)
    fmt::print("{} tasks were left out: their own references cannot be judged\n",
               summary.at("left_out").get<int64_t>());
  for (const auto& remark : summary.at("remarks")) fmt::print("{}\n", remark.get<std::string>());
}

struct Asked {
  std::vector<std::unique_ptr<Proposer>> owned;
  std::vector<Proposer*> all;
};

// Before anything is started: processes of models are forked.
Asked MakeProposers(const EvalOptions& o, const Environment& environment,
                    const std::optional<FoundGpu>& gpu) {
  RunnerOptions runner = o.runner;
  if (gpu && o.judge == "cuda" && runner.cache_gib == 0) runner.cache_gib = kSharedCacheGib;
  Asked asked{.owned = o.proposers.Make({.environment = environment,
                                         .device = gpu ? gpu->name : "",
                                         .runner = runner,
                                         .give_up = Interrupted}),
              .all = {}};
  for (const auto& proposer : asked.owned) asked.all.push_back(proposer.get());
  return asked;
}

class Watch {
 public:
  explicit Watch(int64_t tasks) : progress_("tasks", tasks) {}
  void See(const eval::Outcomes& outcomes) {
    for (const eval::Attempt& attempt : outcomes.attempts) {
      tokens_ += attempt.candidate.tokens.value_or(0);
      samples_ += !attempt.mends;
      passed_ += !attempt.mends && attempt.passed();
    }
  }
  void Show(const eval::EvaluateRun::Counts& counts) {
    const double seconds = Seconds();
    std::string remark =
        fmt::format("{:.1f} answers/s, {} wait for judges", static_cast<double>(counts.judged) / seconds,
                    counts.written - counts.judged);
    if (tokens_ > 0) remark += fmt::format(", {:.0f} tokens/s", static_cast<double>(tokens_) / seconds);
    if (samples_ > 0)
      remark +=
          fmt::format(", pass@1 {:.1f}%", 100 * static_cast<double>(passed_) / static_cast<double>(samples_));
    progress_.Set(counts.tasks, remark);
  }
  void Clear() { progress_.Clear(); }
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  Progress progress_;
  int64_t tokens_ = 0, samples_ = 0, passed_ = 0;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::vector<const eval::Task*> NotDone(const std::vector<eval::Task>& tasks, const EvalOutput& output) {
  std::vector<const eval::Task*> wanted;
  for (const eval::Task& task : tasks) {
    if (!output.done().contains(task.id)) wanted.push_back(&task);
  }
  if (wanted.size() < tasks.size())
    fmt::print(stderr, "tritogen eval: {} of {} tasks are done already\n", tasks.size() - wanted.size(),
               tasks.size());
  return wanted;
}

void Tell(const EvalOptions& o, const ordered_json& summary) {
  if (!o.html.empty()) {
    const std::string name = fmt::format("{} of {}", o.suite.suite, fmt::join(o.proposers.proposers, ", "));
    WriteFileAtomic(o.html, RenderEvalReport(name, summary, Versions()));
  }
  if (o.json) {
    std::cout << summary.dump(2, ' ', false, ordered_json::error_handler_t::replace) << std::endl;
  } else {
    PrintSummary(summary);
  }
}

int Eval(EvalOptions o, const Environment& environment) {
  NameProposers(&o);
  CheckSuite(o.suite);
  for (const std::string& path : {o.html, o.files.failures, o.files.answers, o.files.conversations})
    RequireWritable(path, {o.suite.suite});
  const CommonOptions common{.strict = !o.hybrid,
                             .fp32_precision = o.fp32_precision,
                             .device = o.judge,
                             .seed = o.suite.seed,
                             .budget_seconds = o.budget_seconds,
                             .allow_weak_jail = o.allow_weak_jail,
                             .no_cache = true,
                             .gpus = o.gpus};
  const std::optional<FoundGpu> gpu = common.FindGpu();
  if (o.runner.device == "auto") {
    const bool asked_before = o.judge != "cpu";
    o.runner.device = (asked_before ? gpu : CommonOptions{.device = "auto"}.FindGpu()) ? "cuda" : "cpu";
  }
  CatchInterrupt();
  const Asked asked = MakeProposers(o, environment, gpu);
  ordered_json options = Identity(o);
  EvalOutput output(o.out, options, o.files);
  std::vector<std::string> remarks;
  std::vector<eval::Task> tasks;
  if (o.suite.suite == "synth") tasks = DrawSuite(o.suite, environment);
  if (Interrupted()) return kInterruptedExit;
  const int judges = o.judges > 0 ? o.judges : MachineThreads();
  const Workers workers = StartWorkers(environment, common, gpu, judges);
  JudgePool pool(workers.recorder.get(), judges, workers.gpu, workers.cache);
  AwaitWorkers(workers, &pool);
  if (o.suite.suite != "synth") tasks = RecordSuite(o.suite, common.strict, workers.recorder.get(), &remarks);
  if (Interrupted()) return kInterruptedExit;
  const std::vector<const eval::Task*> wanted = NotDone(tasks, output);
  Watch watch(static_cast<int64_t>(wanted.size()));
  eval::EvaluateRun run{
      .proposers = asked.all,
      .pool = &pool,
      .samples = o.samples,
      .seed = o.suite.seed,
      .verification = common.Verification(gpu.has_value(), /*threads=*/1, /*in_batch=*/true),
      .repair = o.repair ? eval::Repair::kAlways : eval::Repair::kNever,
      .asked_at_once = o.runner.device == "cpu" ? kTasksOnCpu : kTasksOnGpu,
      .stop = Interrupted};
  run.on_outcomes = [&](const eval::Task& task, const eval::Outcomes& outcomes) {
    output.Add(task, outcomes);
    watch.See(outcomes);
  };
  run.progress = [&](const eval::EvaluateRun::Counts& counts) { watch.Show(counts); };
  const bool done = eval::Evaluate(wanted, run, &remarks);
  watch.Clear();
  if (!done) {
    fmt::print(stderr, "interrupted; {}\n",
               o.out.empty() ? "with --out FOLDER a second run goes on where this one stopped"
                             : "run it again to go on");
    return kInterruptedExit;
  }
  ordered_json summary = output.score().ToJson();
  summary["options"] = options;
  summary["options"]["device"] = o.runner.device;
  summary["seconds"] = watch.Seconds();
  summary["remarks"] = remarks;
  output.Finish(summary);
  Tell(o, summary);
  return output.score().tasks() > 0 ? kDoneExit : kFaultExit;
}

}  // namespace

int RunEval(int argc, char** argv, const Environment& environment) {
  CLI::App app(
      "Asks a model, or any proposer, for answers to programs, verifies every one, and reports pass@k, "
      "failures by\nreason, operators and strategies. docs/evaluation.md says more.",
      "./tritogen eval");
  EvalOptions options;
  AddOptions(&app, &options);
  if (auto code = Parse(&app, argc, argv)) return *code;
  return Eval(std::move(options), environment);
}

}  // namespace tritogen
