// convert FILE: the main job. Record the reference, ask the proposers, verify every candidate, print the best
// one as a module, record that module again and write it only when its Plan is the verified one.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <tuple>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/thread_team.h"
#include "cli/baseline.h"
#include "cli/convert_report.h"
#include "cli/entry.h"
#include "cli/exit_code.h"
#include "cli/files.h"
#include "cli/parse.h"
#include "cli/progress.h"
#include "cli/remote_options.h"
#include "cli/session.h"
#include "cli/ship.h"
#include "eval/attempts.h"
#include "judge/judge_pool.h"
#include "program/catalogue.h"
#include "program/literal.h"
#include "program/print.h"
#include "record/split.h"
#include "report/verdict_view.h"
#include "verify/rules.h"
#include "verify/work.h"

namespace tritogen {
namespace {

using nlohmann::json;

constexpr double kCacheGib = 1;  // of a model's keys and values on a GPU, beside what is judged there

struct ConvertOptions {
  CommonOptions common;
  ProposerOptions proposers;
  EntryOptions entry;
  std::string file, out;
  bool show_program = false, no_repair = false;
  int count = 8;
  // Where the module goes.
  std::string Out() const {
    const std::filesystem::path path(file);
    return out.empty() ? (path.parent_path() / (path.stem().string() + "_triton.py")).string() : out;
  }
};

using Proposers = std::vector<std::unique_ptr<Proposer>>;

// Before anything else is started: it takes the key away and makes the processes of models, which load while
// the rest gets ready.
Proposers MakeProposers(const ConvertOptions& options, const Environment& environment,
                        const std::optional<FoundGpu>& gpu) {
  RunnerOptions runner{.device = gpu ? "cuda" : "cpu", .slots = 64};
  if (gpu) runner.cache_gib = kCacheGib;
  return options.proposers.Make(
      {.environment = environment, .device = gpu ? gpu->name : "", .runner = runner, .give_up = Interrupted});
}

// With the canonical program; a remark where the reference has none.
std::optional<LiftedReference> LiftOrRemark(Plan reference, std::vector<std::string>* remarks) {
  try {
    return LiftReference(std::move(reference));
  } catch (const FormatError& error) {
    remarks->push_back(
        fmt::format("no proposer can be asked: the program has no canonical form ({})", error.what()));
    return std::nullopt;
  }
}

// What proposers are asked about: the program in operators of the catalogue; in hybrid mode before that as it
// is, since a library call may be the better answer to what the catalogue does not know, unless the calls
// were on complex numbers, between which there is nothing for kernels to do.
std::vector<LiftedReference> AskedAbout(Recorder* recorder, const ConvertOptions& options,
                                        const std::string& source, const LiftedReference& reference) {
  const LiftedReference parts =
      InKnownOps([&](const RecordRequest& request) { return recorder->Record(request); },
                 options.entry.Request(source), reference);
  if (options.common.strict || HasComplex(*reference.program)) return {parts};
  if (parts.program == reference.program) return {parts};  // with what is unknown in it
  return {reference, parts};
}

std::string UnknownRemark(const std::vector<std::string>& unknown) {
  if (std::ranges::find(unknown, "launch") != unknown.end())  // as lifting calls the step
    return "the program launches Triton kernels of its own, which no proposer rewrites";
  return fmt::format("nobody knows how to say this in operators of the catalogue: {}",
                     fmt::join(unknown, ", "));
}

// What a program asks for that no candidate can do; empty: nothing.
std::string OutOfReach(const LiftedReference& asked) {
  for (const Node& node : asked.program->nodes) {
    if (!node.op.starts_with("aten::scaled_dot_product_attention")) continue;
    const auto call = BindCall(node);
    if (call && AsNumber(call->args["dropout_p"]).value_or(0) > 0)
      return "dropout in attention draws inside of PyTorch's kernel, and no other draws the same: the module "
             "is in training mode; self.eval() in its constructor, or a probability of 0, takes it out";
  }
  return asked.unknown.empty() ? "" : UnknownRemark(asked.unknown);
}

// All of them, judged.
struct Answers {
  std::vector<eval::Attempt> judged;  // none after Ctrl-C
  bool proposers_failed = false;      // some of them
  // The program is not to blame for having no answer.
  bool FailedAltogether() const {
    if (judged.empty()) return proposers_failed;
    return std::ranges::all_of(judged,
                               [](const eval::Attempt& one) { return one.reply.outcome == "infra_error"; });
  }
};

Answers Attempted(const Proposers& proposers, JudgePool* pool, const ConvertOptions& options,
                  eval::Problem problem, std::vector<std::string>* remarks) {
  std::vector<Proposer*> asked;
  for (const auto& proposer : proposers) asked.push_back(proposer.get());
  eval::Attempts attempts(asked, pool,
                          {.repair = options.no_repair ? eval::Repair::kNever : eval::Repair::kWhenNonePassed,
                           .want_plans = true});
  Progress progress("verify", options.count * static_cast<int64_t>(proposers.size()));
  attempts.Start(std::move(problem));
  std::optional<eval::Outcomes> outcomes;
  while (!outcomes && attempts.unfinished() > 0 && !Interrupted()) {
    outcomes = attempts.Next(0.5);
    if (!outcomes) progress.Set(attempts.judged(), fmt::format("{} written", attempts.written()));
  }
  progress.Clear();
  if (Interrupted()) {
    attempts.Cancel();
    return {};
  }
  for (std::string& remark : attempts.TakeRemarks()) remarks->push_back(std::move(remark));
  return {.judged = std::move(outcomes->attempts), .proposers_failed = attempts.failed()};
}

// How long the caller of a module waits for its call: for the GPU or, where there are many small launches,
// for the host. Nothing where no GPU took part.
std::optional<double> CallMicroseconds(const eval::Attempt& attempt) {
  const auto median = MedianMicrosecondsIn(attempt.reply.verdict);
  if (!median) return std::nullopt;
  return std::max(*median, HostMicroseconds(*attempt.reply.plan));
}

// The one whose call is over first comes first; where the host is what takes time, fewest launches. Those
// that were not timed come behind, and without a GPU none is: most work in Triton, then fewest steps, then
// the proposer's own order.
std::vector<const eval::Attempt*> BestFirst(const std::vector<eval::Attempt>& judged) {
  struct Ranked {
    std::tuple<double, double, size_t> rank;
    const eval::Attempt* attempt;
  };
  std::vector<Ranked> passed;
  for (const eval::Attempt& one : judged) {
    if (one.reply.outcome != "passed" || !one.reply.plan) continue;
    const double time = CallMicroseconds(one).value_or(HUGE_VAL);
    passed.push_back({{time, -WorkShareIn(one.reply.verdict), one.reply.plan->run.size()}, &one});
  }
  std::ranges::stable_sort(passed, {}, &Ranked::rank);
  std::vector<const eval::Attempt*> best;
  for (const Ranked& one : passed) best.push_back(one.attempt);
  return best;
}

// Where another answer takes the GPU less time than the one that was chosen.
void RemarkOnChoice(const std::vector<const eval::Attempt*>& passed, const eval::Attempt& chosen,
                    std::vector<std::string>* remarks) {
  const auto time = [](const eval::Attempt& a) { return MedianMicrosecondsIn(a.reply.verdict); };
  const eval::Attempt* quickest = &chosen;
  for (const eval::Attempt* one : passed) {
    if (time(*one) && time(*quickest) && *time(*one) < *time(*quickest)) quickest = one;
  }
  if (quickest == &chosen) return;
  remarks->push_back(fmt::format(
      "{} takes the GPU less time ({:.0f} us), but its launches keep the caller for some {:.0f} us; "
      "those of {} for some {:.0f} us",
      quickest->candidate.strategy, *time(*quickest), HostMicroseconds(*quickest->reply.plan),
      chosen.candidate.strategy, HostMicroseconds(*chosen.reply.plan)));
}

// Where PyTorch's own convolutions, which are products in TF32, are quicker than an answer that may not have
// such.
void RemarkOnTf32(const Plan& reference, const json& verdict, std::vector<std::string>* remarks) {
  const auto speedup = SpeedupIn(verdict, std::string(EagerName(Fp32Precision::kTf32)));
  if (!speedup || *speedup >= 1 || EagerIn(verdict) != EagerName(Fp32Precision::kIeee) ||
      !HasFloat32Factors(reference, Fp32Precision::kPytorch))
    return;
  remarks->push_back(fmt::format(
      "PyTorch takes {:.2f} of this time where TF32 is allowed, and allows it to convolutions and "
      "recurrent layers unless it is told not to: --fp32-precision pytorch lets answers use it "
      "there, too",
      *speedup));
}

// Writes the best that can be printed as a module; those that cannot become remarks.
void ShipBest(Recorder* recorder, const ConvertOptions& options, const std::string& source,
              const Plan& reference, const std::vector<eval::Attempt>& judged, ConvertReport* report) {
  const std::vector<const eval::Attempt*> passed = BestFirst(judged);
  for (const eval::Attempt* best : passed) {
    auto names = [&](const char* key) { return best->reply.verdict.value(key, std::vector<std::string>()); };
    const Verified verified{.plan = &*best->reply.plan,
                            .variant = BestVariantIn(best->reply.verdict),
                            .unchanged_state = names("unchanged_state"),
                            .other_state = names("other_state")};
    auto shipped = Ship(recorder, options.entry.Request(source), reference, verified,
                        ModuleHeader(options.file, best->candidate, best->reply.verdict));
    if (auto* failure = std::get_if<EmitFailure>(&shipped)) {
      report->remarks.push_back(
          fmt::format("{} was not written: {}", best->candidate.strategy, failure->reason));
      continue;
    }
    report->out = options.Out();
    report->chosen = best - judged.data();
    report->module = std::get<std::string>(std::move(shipped));
    RemarkOnChoice(passed, *best, &report->remarks);
    RemarkOnTf32(reference, best->reply.verdict, &report->remarks);
    if (std::string note = NoteOfLayout(reference, *best->reply.plan); !note.empty())
      report->remarks.push_back(std::move(note));
    WriteFileAtomic(report->out, report->module);
    return;
  }
}

int Convert(const ConvertOptions& options, const Environment& environment) {
  const std::string source = ReadSource(options.file);
  RequireWritable(options.Out(), {options.file});
  RequireWritable(options.common.html, {options.file, options.Out()});
  const std::optional<FoundGpu> gpu = options.common.FindGpu();
  const VerifyOptions verification = options.common.Verification(gpu.has_value(), /*threads=*/1);
  CatchInterrupt();
  const SourceFile reference_file{source, options.entry.name(), options.entry.is_function()};
  Baseline baseline(environment, options.common, verification, reference_file);
  const Proposers proposers = MakeProposers(options, environment, gpu);
  const Workers workers = StartWorkers(environment, options.common, gpu);
  JudgePool pool(workers.recorder.get(), MachineThreads(), workers.gpu, workers.cache);
  AwaitWorkers(workers, &pool);
  Recorder* recorder = workers.recorder.get();
  Plan recorded = RecordFile(recorder, options.entry, options.file, source);
  ConvertReport report{.file = options.file, .seed = verification.seed};
  const std::optional<LiftedReference> reference = LiftOrRemark(std::move(recorded), &report.remarks);
  if (options.show_program && reference)
    fmt::print(options.common.json ? stderr : stdout, "{}\n", PrintProgram(*reference->program));
  if (Interrupted()) return kInterruptedExit;
  Answers answers;
  std::vector<LiftedReference> programs;
  if (reference) programs = AskedAbout(recorder, options, source, *reference);
  for (const LiftedReference& asked : programs) {
    Answers more = Attempted(proposers, &pool, options,
                             {.reference = reference_file,
                              .program = asked.program,
                              .plan = asked.plan,
                              .count = options.count,
                              .seed = verification.seed,
                              .verification = verification},
                             &report.remarks);
    std::ranges::move(more.judged, std::back_inserter(answers.judged));
    answers.proposers_failed |= more.proposers_failed;
  }
  pool.Cancel();  // the judges leave the GPU
  std::vector<json*> verdicts;
  for (eval::Attempt& one : answers.judged) verdicts.push_back(&one.reply.verdict);
  if (!Interrupted()) baseline.AddTo(verdicts);
  if (Interrupted()) return kInterruptedExit;

  const std::vector<eval::Attempt>& judged = answers.judged;
  if (judged.empty() && !programs.empty()) {
    if (std::string why = OutOfReach(programs.back()); !why.empty()) report.remarks.push_back(std::move(why));
  }
  for (const eval::Attempt& one : judged) report.rows.push_back({one.candidate, one.reply.verdict});
  if (reference) ShipBest(recorder, options, source, *reference->plan, judged, &report);
  if (!options.common.html.empty()) WriteFileAtomic(options.common.html, report.ToHtml(source));
  if (options.common.json) {
    std::cout << report.ToJson().dump(2, ' ', false, json::error_handler_t::replace) << std::endl;
  } else {
    fmt::print("{}", report.ToText());
  }
  return !report.out.empty() ? kDoneExit : answers.FailedAltogether() ? kFaultExit : kFlawedExit;
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
  options.entry.AddTo(&app, "convert");
  app.add_flag("--show-program", options.show_program,
               "print the canonical program first (on stderr with --json)");
  app.add_option("-n,--candidates", options.count, "at most so many candidates of each proposer")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_flag("--no-repair", options.no_repair,
               "do not send verdicts back to a language model of whose answers none passed");
  options.common.AddTo(&app);
  options.proposers.policy_too = true;
  options.proposers.AddTo(&app);
  if (auto code = Parse(&app, argc, argv)) return *code;
  return Convert(options, environment);
}

}  // namespace tritogen
