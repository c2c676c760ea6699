// verify REFERENCE CANDIDATE: judges one candidate; verify --batch FILE.jsonl: judges many.
#include <fmt/format.h>

#include <filesystem>
#include <iostream>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/thread_team.h"
#include "cli/baseline.h"
#include "cli/batch.h"
#include "cli/exit_code.h"
#include "cli/files.h"
#include "cli/parse.h"
#include "cli/version.h"
#include "judge/judge_pool.h"
#include "report/report.h"
#include "report/verdict_view.h"

namespace tritogen {
namespace {

using nlohmann::json;

// "; eager fp32 1.81 times that, torch.compile 1.05 times".
std::string SpeedupsText(const json& verdict) {
  std::string text;
  for (const auto& [name, speedup] : verdict.at("timing").at("speedup").items()) {
    text += fmt::format("{} {} {:.2f} times{}", text.empty() ? ";" : ",", name, speedup.get<double>(),
                        text.empty() ? " that" : "");
  }
  return text;
}

void PrintVerdict(const json& verdict) {
  const std::string rule = TextIn(verdict, "rule");
  fmt::print("{}{}: {}\n", TextIn(verdict, "verdict"), rule.empty() ? "" : fmt::format(" ({})", rule),
             TextIn(verdict, "reason"));
  if (const json worst = WorstOutputIn(verdict); !worst.empty()) {
    fmt::print("  error       {} against fp64, the eager program's own {}, allowed {}\n",
               NumberIn(worst, "error"), NumberIn(worst, "eager_error"), NumberIn(worst, "budget"));
  }
  if (!verdict.at("plan_hash").is_null()) {
    fmt::print("  work share  {:.0f}% of the reference's work runs in Triton\n", 100 * WorkShareIn(verdict));
  }
  if (const auto median = MedianMicrosecondsIn(verdict))
    fmt::print("  time        {:.4g} us{}\n", *median, SpeedupsText(verdict));
  const json evidence = verdict.value("evidence", json::object());
  for (const auto& [key, value] : evidence.items()) {
    fmt::print("  {:<11} {}\n", key, value.is_string() ? value.get<std::string>() : value.dump());
  }
  for (const json& note : verdict.value("notes", json::array()))
    fmt::print("  note        {}\n", note.get<std::string>());
  fmt::print("  seed        {}\n", verdict.value("seed", uint64_t{0}));
  if (const std::string made = TextIn(verdict, "made"); !made.empty())
    fmt::print("  cached      judged {}, timings are of then; --no-cache judges it anew\n", made);
}

int ExitCode(const JudgeReply& reply) {
  if (reply.outcome == "passed") return kDoneExit;
  if (reply.reference_failed) return kWrongUseExit;
  return reply.outcome == "infra_error" ? kFaultExit : kFlawedExit;
}

struct FileNames {
  std::string reference, candidate;
};

std::string Html(const FileNames& names, const JudgeRequest& request, const json& verdict) {
  auto name = [](const std::string& path) { return std::filesystem::path(path).filename().string(); };
  return RenderReport({.command = "verify",
                       .task = fmt::format("{} for {}", name(names.candidate), name(names.reference)),
                       .verdict = verdict,
                       .sources = {{"Candidate", request.candidate.text},
                                   {"Reference", request.reference.text, /*open=*/false}},
                       .versions = Versions()});
}

int JudgeOne(const FileNames& names, const JudgeRequest& request, std::optional<FoundGpu> gpu,
             const CommonOptions& common, const Environment& environment) {
  RequireWritable(common.html, {names.reference, names.candidate});
  CatchInterrupt();
  Baseline baseline(environment, common, request.options, request.reference);
  const Workers workers = StartWorkers(environment, common, gpu);
  JudgePool pool(workers.recorder.get(), 1, workers.gpu, workers.cache);
  AwaitWorkers(workers, &pool);
  pool.Submit("candidate", request);
  std::optional<JudgeReply> reply;
  while (!reply && !Interrupted()) reply = pool.Next(0.5);
  if (!reply) return kInterruptedExit;
  pool.Cancel();  // the judge leaves the GPU
  baseline.AddTo({&reply->verdict});
  if (Interrupted()) return kInterruptedExit;
  if (!common.html.empty()) WriteFileAtomic(common.html, Html(names, request, reply->verdict));
  if (common.json) {
    std::cout << reply->verdict.dump(2, ' ', false, json::error_handler_t::replace) << std::endl;
  } else {
    PrintVerdict(reply->verdict);
  }
  return ExitCode(*reply);
}

}  // namespace

int RunVerify(int argc, char** argv, const Environment& environment) {
  CLI::App app(
      "Judges a candidate against a reference: exit code 0 passed, 1 any other verdict, 2 wrong use or a\n"
      "reference that does not run, 3 infra_error.",
      "./tritogen verify");
  CommonOptions common;
  BatchOptions batch{.class_reference = "Model", .class_candidate = "ModelNew"};
  FileNames names;
  std::string function;
  common.AddTo(&app);
  app.add_option("REFERENCE", names.reference, "PyTorch file with Model, get_inputs and get_init_inputs");
  app.add_option("CANDIDATE", names.candidate, "file with ModelNew");
  app.add_option("--class-reference", batch.class_reference, "class in the reference")->capture_default_str();
  app.add_option("--class-candidate", batch.class_candidate, "class in the candidate")->capture_default_str();
  app.add_option("--function", function, "a plain function with this name in both files, instead of classes");
  app.add_option(
      "--batch", batch.file,
      "JSONL file with id, reference, candidate (each a path or inline source); -: lines of stdin as "
      "they come, whose verdicts are printed as they are found, to judges that stay until it ends");
  app.add_option("--out", batch.out,
                 "with --batch: append the verdicts to this file, and skip ids that it holds");
  app.add_flag("--against-itself", common.against_itself,
               "GPU: time each candidate beside a second replay of itself; timing.self_ratio should be 1");
  if (auto code = Parse(&app, argc, argv)) return *code;

  if (!batch.file.empty()) {
    if (!names.reference.empty()) throw UserError("--batch takes no REFERENCE and CANDIDATE beside it");
    if (!common.html.empty()) throw UserError("--html shows one candidate; it does not go with --batch");
    if (!function.empty()) throw UserError("--function goes with two files: a batch judges classes");
    return RunBatch(batch, common, environment);
  }
  if (!batch.out.empty())
    throw UserError("--out takes the verdicts of a --batch; --json prints that of one candidate");
  if (names.candidate.empty())
    throw UserError("give a REFERENCE and a CANDIDATE file, or --batch FILE.jsonl (--help says more)");
  const bool is_function = !function.empty();
  const std::optional<FoundGpu> gpu = common.FindGpu();
  const JudgeRequest request{
      {ReadSource(names.reference), is_function ? function : batch.class_reference, is_function},
      {ReadSource(names.candidate), is_function ? function : batch.class_candidate, is_function},
      common.Verification(gpu.has_value(), MachineThreads())};
  return JudgeOne(names, request, gpu, common, environment);
}

}  // namespace tritogen
