// convert FILE: the main job. Record the reference, ask the proposers, verify every candidate, print the best
// one as a module, record that module again and write it only when its Plan is the verified one.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>

#include "base/atomic_file.h"
#include "base/error.h"
#include "cli/baseline.h"
#include "cli/convert_report.h"
#include "cli/files.h"
#include "cli/progress.h"
#include "cli/remote_options.h"
#include "cli/session.h"
#include "cli/ship.h"
#include "judge/judge_pool.h"
#include "plan/lift.h"
#include "program/print.h"
#include "report/verdict_view.h"

namespace tritogen {
namespace {

using nlohmann::json;

struct ConvertOptions {
  CommonOptions common;
  ProposerOptions proposers;
  std::string file, out, class_name = "Model", function;
  bool show_program = false;
  int count = 8;
  bool is_function() const { return !function.empty(); }
  const std::string& entry() const { return is_function() ? function : class_name; }
};

// A candidate with what became of it.
struct Judged {
  Candidate candidate;
  JudgeReply reply;
};

RecordRequest ReferenceRequest(const ConvertOptions& options, const std::string& source) {
  return {.role = Role::kReference,
          .source = source,
          .entry = options.entry(),
          .is_function = options.is_function()};
}

Plan RecordReference(Recorder* recorder, const ConvertOptions& options, const std::string& source) {
  auto recorded = recorder->Record(ReferenceRequest(options, source));
  if (auto* plan = std::get_if<Plan>(&recorded)) return std::move(*plan);
  const auto& failure = std::get<RecordFailure>(recorded);
  const std::string where = failure.line ? fmt::format(":{}", failure.line) : "";
  const std::string what = fmt::format("{}{}: {}", options.file, where, failure.message);
  if (failure.kind == RecordFailure::Kind::kInfraError) throw InternalError(what);
  throw UserError(what);
}

// What became of a candidate without a source: a verdict of its own.
JudgeReply NoAnswerReply(const Candidate& candidate) {
  const size_t colon = candidate.no_answer.find(": ");
  return {.verdict = {{"verdict", "no_answer"},
                      {"rule", candidate.no_answer.substr(0, colon)},
                      {"reason", candidate.no_answer.substr(colon + 2)}},
          .outcome = "no_answer"};
}

std::vector<Judged> JudgeAll(JudgePool* pool, Baseline* baseline, const ConvertOptions& options,
                             const VerifyOptions& verification, const std::string& source,
                             std::vector<Candidate> candidates) {
  std::vector<Judged> judged(candidates.size());
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i].no_answer.empty()) {
      judged[i].reply = NoAnswerReply(candidates[i]);
    } else {
      const SourceFile candidate{candidates[i].source, candidates[i].entry, false};
      pool->Submit(std::to_string(i),
                   {{source, options.entry(), options.is_function()}, candidate, verification}, true);
    }
    judged[i].candidate = std::move(candidates[i]);
  }
  Progress progress("verify", pool->unfinished());
  int64_t done = 0;
  while (pool->unfinished() > 0 && !Interrupted()) {
    auto reply = pool->Next(0.5);
    if (!reply) continue;
    judged[std::stoul(reply->id)].reply = std::move(*reply);
    progress.Set(++done);
  }
  progress.Clear();
  pool->Cancel();  // the judges leave the GPU
  std::vector<json*> verdicts;
  for (Judged& one : judged) verdicts.push_back(&one.reply.verdict);
  if (!Interrupted()) baseline->AddTo(verdicts);
  return judged;
}

// The fastest first. Without a GPU there is no time to choose by: most work in Triton, then fewest steps,
// then the proposer's own order.
std::vector<const Judged*> BestFirst(const std::vector<Judged>& judged) {
  std::vector<const Judged*> passed;
  for (const Judged& one : judged) {
    if (one.reply.outcome == "passed" && one.reply.plan) passed.push_back(&one);
  }
  std::stable_sort(passed.begin(), passed.end(), [](const Judged* a, const Judged* b) {
    const auto time_a = MedianMicrosecondsIn(a->reply.verdict),
               time_b = MedianMicrosecondsIn(b->reply.verdict);
    if (time_a && time_b) return *time_a < *time_b;
    const double share_a = WorkShareIn(a->reply.verdict), share_b = WorkShareIn(b->reply.verdict);
    if (share_a != share_b) return share_a > share_b;
    return a->reply.plan->run.size() < b->reply.plan->run.size();
  });
  return passed;
}

using Proposers = std::vector<std::unique_ptr<Proposer>>;

Proposers MakeProposers(const ConvertOptions& options, const Environment& environment,
                        const std::optional<FoundGpu>& gpu) {
  const auto bar = std::make_shared<std::optional<Progress>>();  // while a remote model is asked
  return options.proposers.Make({.python = environment.python,
                                 .worker_folder = environment.root + "/worker",
                                 .device = gpu ? gpu->name : "",
                                 .give_up = Interrupted,
                                 .progress = [bar](int64_t done, int64_t total) {
                                   if (!*bar) bar->emplace("ask the model", total);
                                   (*bar)->Set(done);
                                   if (done == total) bar->reset();
                                 }});
}

std::vector<Candidate> AskAll(const Proposers& proposers, const ProposeRequest& request,
                              std::vector<std::string>* remarks) {
  std::vector<Candidate> candidates;
  for (const auto& proposer : proposers) {
    if (Interrupted()) break;
    for (Candidate& candidate : proposer->Propose(request)) candidates.push_back(std::move(candidate));
    for (std::string& remark : proposer->TakeRemarks()) remarks->push_back(std::move(remark));
  }
  return candidates;
}

std::string DefaultOut(const std::string& file) {
  const std::filesystem::path path(file);
  return (path.parent_path() / (path.stem().string() + "_triton.py")).string();
}

int Convert(const ConvertOptions& options, const Environment& environment) {
  const std::string source = ReadSource(options.file);
  const std::string out = options.out.empty() ? DefaultOut(options.file) : options.out;
  for (const std::string& path : {out, options.common.html}) RequireWritable(path);
  const std::optional<FoundGpu> gpu = options.common.FindGpu();
  const VerifyOptions verification = options.common.Verification(gpu.has_value(), /*threads=*/1);
  CatchInterrupt();
  const Proposers proposers =
      MakeProposers(options, environment, gpu);  // before anything is started: it takes the key away
  const Workers workers = StartWorkers(environment, options.common, gpu);
  Recorder* recorder = workers.recorder.get();
  const Plan reference = RecordReference(recorder, options, source);
  const Program program = Lift(reference);
  if (options.show_program) fmt::print("{}\n", PrintProgram(program));

  ConvertReport report{.file = options.file, .seed = verification.seed};
  std::vector<Candidate> candidates = AskAll(proposers,
                                             {.reference = &reference,
                                              .program = &program,
                                              .reference_source = source,
                                              .entry = options.entry(),
                                              .is_function = options.is_function(),
                                              .strict = options.common.strict,
                                              .seed = verification.seed,
                                              .count = options.count},
                                             &report.remarks);
  if (Interrupted()) return kInterruptedExit;
  Baseline baseline(environment, options.common, verification,
                    {source, options.entry(), options.is_function()});
  JudgePool pool(recorder, Cores(), workers.gpu, workers.cache);
  const std::vector<Judged> judged =
      JudgeAll(&pool, &baseline, options, verification, source, std::move(candidates));
  if (Interrupted()) return kInterruptedExit;

  for (const Judged& one : judged) report.rows.push_back({one.candidate, one.reply.verdict});
  for (const Judged* best : BestFirst(judged)) {
    auto shipped = Ship(recorder, ReferenceRequest(options, source), reference, *best->reply.plan,
                        BestVariantIn(best->reply.verdict),
                        ModuleHeader(options.file, best->candidate, best->reply.verdict));
    if (auto* failure = std::get_if<EmitFailure>(&shipped)) {
      report.remarks.push_back(
          fmt::format("{} was not written: {}", best->candidate.strategy, failure->reason));
      continue;
    }
    report.out = out;
    report.chosen = best - judged.data();
    report.module = std::get<std::string>(std::move(shipped));
    WriteFileAtomic(report.out, report.module);
    break;
  }
  if (!options.common.html.empty()) WriteFileAtomic(options.common.html, report.ToHtml(source));
  if (options.common.json) {
    std::cout << report.ToJson().dump(2, ' ', false, json::error_handler_t::replace) << std::endl;
  } else {
    fmt::print("{}", report.ToText());
  }
  const bool infrastructure = (!judged.empty() || !report.remarks.empty()) &&
                              std::all_of(judged.begin(), judged.end(), [](const Judged& one) {
                                return one.reply.outcome == "infra_error";
                              });
  return !report.out.empty() ? 0 : infrastructure ? 3 : 1;
}

}  // namespace

int RunConvert(int argc, char** argv, const Environment& environment) {
  CLI::App app(
      "Turns a PyTorch file into a verified module with Triton kernels. Exit code 0: a verified module was\n"
      "written, 1: no candidate passed, 2: wrong use or a file that does not run, 3: the infrastructure "
      "failed.",
      "./tritogen convert");
  ConvertOptions options;
  app.add_option("FILE", options.file,
                 "PyTorch file with Model, get_inputs and get_init_inputs, or a function and get_inputs")
      ->required();
  app.add_option("-o,--out", options.out, "where the module goes (default: FILE with _triton.py at its end)");
  auto* class_option =
      app.add_option("--class", options.class_name, "class to convert")->capture_default_str();
  app.add_option("--function", options.function, "convert a plain function instead of a class")
      ->excludes(class_option);
  app.add_flag("--show-program", options.show_program, "print the canonical program first");
  app.add_option("--candidates", options.count, "at most so many candidates of each proposer")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  options.common.AddTo(&app);
  options.proposers.AddTo(&app);
  if (auto code = Parse(&app, argc, argv)) return *code;
  return Convert(options, environment);
}

}  // namespace tritogen
