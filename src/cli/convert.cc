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
#include "cli/session.h"
#include "cli/ship.h"
#include "judge/judge_pool.h"
#include "plan/lift.h"
#include "program/print.h"
#include "propose/teacher_proposer.h"
#include "report/verdict_view.h"

namespace tritogen {
namespace {

using nlohmann::json;

struct ConvertOptions {
  CommonOptions common;
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

std::vector<Judged> JudgeAll(JudgePool* pool, Baseline* baseline, const ConvertOptions& options,
                             const VerifyOptions& verification, const std::string& source,
                             std::vector<Candidate> candidates) {
  for (size_t i = 0; i < candidates.size(); ++i) {
    const SourceFile candidate{candidates[i].source, candidates[i].entry, false};
    pool->Submit(std::to_string(i),
                 {{source, options.entry(), options.is_function()}, candidate, verification}, true);
  }
  std::vector<Judged> judged(candidates.size());
  Progress progress("verify", static_cast<int64_t>(candidates.size()));
  int64_t done = 0;
  while (pool->unfinished() > 0 && !Interrupted()) {
    auto reply = pool->Next(0.5);
    if (!reply) continue;
    const size_t index = std::stoul(reply->id);
    judged[index] = {std::move(candidates[index]), std::move(*reply)};
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
  const Workers workers = StartWorkers(environment, options.common, gpu);
  Recorder* recorder = workers.recorder.get();
  const Plan reference = RecordReference(recorder, options, source);
  const Program program = Lift(reference);
  if (options.show_program) fmt::print("{}\n", PrintProgram(program));

  TeacherProposer teacher;
  std::vector<Candidate> candidates = teacher.Propose({.reference = &reference,
                                                       .program = &program,
                                                       .reference_source = source,
                                                       .entry = options.entry(),
                                                       .is_function = options.is_function(),
                                                       .strict = options.common.strict,
                                                       .seed = verification.seed,
                                                       .count = options.count});
  Baseline baseline(environment, options.common, verification,
                    {source, options.entry(), options.is_function()});
  JudgePool pool(recorder, Cores(), workers.gpu, workers.cache);
  const std::vector<Judged> judged =
      JudgeAll(&pool, &baseline, options, verification, source, std::move(candidates));
  if (Interrupted()) return kInterruptedExit;

  ConvertReport report{.file = options.file, .seed = verification.seed};
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
  const bool infrastructure =
      !judged.empty() && std::all_of(judged.begin(), judged.end(),
                                     [](const Judged& one) { return one.reply.outcome == "infra_error"; });
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
  app.add_option("--candidates", options.count, "at most so many candidates")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  options.common.AddTo(&app);
  if (auto code = Parse(&app, argc, argv)) return *code;
  return Convert(options, environment);
}

}  // namespace tritogen
