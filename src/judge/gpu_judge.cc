#include "judge/gpu_judge.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/frame.h"
#include "base/stages.h"
#include "device/device_errors.h"
#include "device/gpu.h"
#include "device/gpu_warm_up.h"
#include "device/lowered_kernels.h"
#include "judge/options_json.h"
#include "judge/recent.h"
#include "plan/parse.h"
#include "plan/serialize.h"
#include "verify/replay.h"

namespace tritogen {
namespace {

using nlohmann::json;

constexpr size_t kKeptReferences = 8;             // a task holds the inputs and expected values of its trials
constexpr int64_t kKeptBytes = int64_t{1} << 30;  // of those that were not used last
// Of the device's memory, what the one used last may take at most to be kept: others have to work beside it.
constexpr int64_t kKeptShare = 10;
constexpr auto kWaitForJob = std::chrono::milliseconds(500);  // with a turn that nobody else wants
constexpr double kSecondsToEnd = 1;                           // for what a job may have left running
constexpr double kSecondsForMemory = 5;                       // of a judge that has lost its GPU to come back

std::string KeyOf(const GpuJob& job) {
  return fmt::format("{} {} {} {} {} {}", job.reference_hash, job.options.seed,
                     static_cast<int>(job.options.mode), Name(job.options.fp32_precision),
                     job.confirmed.has_value(), job.options.spare_memory);
}

}  // namespace

std::string Encode(const GpuJob& job) {
  return EncodeFrame({{"reference", ToJson(job.reference)},
                      {"candidate", ToJson(job.candidate)},
                      {"reference_hash", job.reference_hash},
                      {"options", ToJson(job.options)},
                      {"confirmed", job.confirmed ? json(*job.confirmed) : json()},
                      {"hurried", job.hurried},
                      {"notes", job.notes},
                      {"seconds", job.seconds},
                      {"stages", job.stages}});
}

GpuJob DecodeGpuJob(std::string_view bytes) {
  const json message = DecodeFrame(bytes);
  try {
    GpuJob job{.reference = ParsePlan(message.at("reference")),
               .candidate = ParsePlan(message.at("candidate")),
               .reference_hash = message.at("reference_hash"),
               .options = OptionsFromJson(message.at("options")),
               .confirmed = {},
               .hurried = message.at("hurried"),
               .notes = message.at("notes"),
               .seconds = message.at("seconds"),
               .stages = message.at("stages")};
    if (!message.at("confirmed").is_null()) job.confirmed = message.at("confirmed").get<std::string>();
    return job;
  } catch (const json::exception& error) {
    throw FormatError(fmt::format("not a job for a GPU: {}", error.what()));
  }
}

Verdict ReferenceFailure(Outcome outcome, const std::string& reason, const VerifyOptions& options) {
  Verdict verdict = VerdictUnder(options);
  verdict.outcome = Outcome::kInfraError;
  verdict.rule = "reference";
  verdict.reason = fmt::format("the reference: {}", reason);
  verdict.evidence["reference"] = OutcomeName(outcome);
  return verdict;
}

GpuJudge::GpuJudge(cuda::KernelCompiler* compiler, bool many) : compiler_(compiler) {
  NeedingDeviceMemory("judging", "; does something else use the GPU?", [&] {
    Gpu& gpu = Gpu::Open(0, compiler);
    gpu.KeepLargePiecesWhole();
    if (!many) return;
    const GpuTurn turn(&gpu);
    WarmUp(&gpu);
  });
}

GpuJudge::~GpuJudge() {
  EndTurn();
}

GpuJudge::Reference& GpuJudge::Find(GpuJob* job) {
  const VerifyOptions& options = job->options;
  const std::string key = KeyOf(*job);
  if (Reference* kept = FindRecent(&references_, key)) return *kept;
  const Stage stage("prepare");
  Reference reference{.key = key, .task = {}, .failure = {}};
  VerifyOptions chosen = options;
  chosen.confirm = job->confirmed.has_value();
  chosen.rest_on_demand = true;
  auto made = PrepareTask(job->reference, chosen);
  if (auto* failure = std::get_if<TaskFailure>(&made)) {
    reference.failure = ReferenceFailure(failure->outcome, failure->reason, options);
  } else {
    reference.task = std::get<Task>(std::move(made));
  }
  references_.push_front(std::move(reference));
  return references_.front();
}

void GpuJudge::Forget() {
  const auto bytes_of = [](const Reference& reference) {
    return reference.task ? reference.task->bytes() : 0;
  };
  if (references_.empty()) return;
  const Reference& last = references_.front();
  if (last.task && last.task->spoiled()) references_.pop_front();
  if (references_.empty()) return;
  if (references_.size() > kKeptReferences) references_.pop_back();
  int64_t bytes = 0;
  for (auto it = std::next(references_.begin()); it != references_.end();) {
    bytes += bytes_of(*it);
    it = bytes > kKeptBytes ? references_.erase(it) : std::next(it);
  }
}

bool GpuJudge::IsLarge(const Reference& reference) {
  return reference.task && reference.task->bytes() > Gpu::Current()->info().memory_bytes / kKeptShare;
}

void GpuJudge::EndTurn() noexcept {
  if (!turn_) return;
  std::erase_if(references_, IsLarge);
  turn_.reset();  // gives the memory back
}

bool GpuJudge::KeepsTurn() noexcept {
  if (!turn_) return false;
  const bool late = std::chrono::steady_clock::now() - kept_since_ > kWaitForJob;
  if (!late && !turn_->SomebodyWaits()) return true;
  EndTurn();
  return false;
}

// For a job of another reference nothing is left of the last one: it might find too little memory.
bool GpuJudge::TakeTurn(const GpuJob& job) {
  const bool same = !references_.empty() && references_.front().key == KeyOf(job);
  if (!same) EndTurn();
  if (KeepsTurn()) return true;
  turn_ = std::make_unique<GpuTurn>(Gpu::Current());
  return false;
}

// Kept is what the next job of this reference would have to get and to make again: much memory, a large task.
// Not one that has grown, beside which there is less room than beside a new one.
void GpuJudge::KeepOrEndTurn(const GpuJob& job, Result* result) {
  Gpu& gpu = *Gpu::Current();
  const Reference* last = references_.empty() ? nullptr : &references_.front();
  bool keep = last != nullptr && last->key == KeyOf(job) && last->task && !last->task->grown() &&
              !gpu.lost() && gpu.HoldsMuch();
  try {
    if (keep) gpu.Synchronize(kSecondsToEnd);  // a fault now is this job's, not the next one's
  } catch (const std::exception&) {
    keep = false;
  }
  result->last = gpu.lost() || compiler_->Lost();
  kept_since_ = std::chrono::steady_clock::now();
  if (!keep) return EndTurn();
  if (!KeepsTurn()) return;
  gpu.TidyMemory();
  result->idle = [this] { return KeepsTurn(); };
}

// What can be done of a job before its turn. The replay finds the kernels as long as somebody holds them.
std::vector<cuda::CompileResult> GpuJudge::ReadKernels(const GpuJob& job) {
  const Stage stage("read kernels");
  for (const Kernel& kernel : job.candidate.kernels) {
    try {
      LoweredKernels::Global().Writes(kernel.ttir);
    } catch (const tile::TtirError&) {
      // The replay says so.
    }
  }
  // Nobody looks at the gate while something is compiled.
  return compiler_->Compile(job.candidate.kernels, Gpu::Current()->info().target(),
                            [this](int64_t done, int64_t) {
                              if (done == 0) EndTurn();
                            });
}

Verdict GpuJudge::Judge(GpuJob* job, Result* result) {
  const Reference& reference = Find(job);
  result->reference_failed = reference.failure.has_value();
  if (reference.failure) return *reference.failure;
  const Stage stage("replay");
  return Verify(*reference.task, job->candidate, job->options);
}

// Whether a verdict of something that was kept says the same as one of something made anew. Memory may have
// run out because of what was kept; and to a large task, of which each candidate would get its own, an
// earlier one may have written.
bool GpuJudge::Stands(const Verdict& verdict) const {
  switch (verdict.outcome) {
    case Outcome::kPassed:
    case Outcome::kTimeout:
      return true;
    case Outcome::kRuntimeError:
    case Outcome::kInfraError:
    case Outcome::kCompileError:
      return false;
    default:
      return !IsLarge(references_.front());
  }
}

// Whether it may be for want of memory that a program did not run, and there was some: others hold some of
// it, and so do the trials.
bool GpuJudge::MayHaveRunShort(const Verdict& verdict) {
  const Gpu& gpu = *Gpu::Current();
  const bool stopped = verdict.outcome == Outcome::kRuntimeError || verdict.outcome == Outcome::kInfraError;
  return stopped && !gpu.lost() && (gpu.HoldsMuch() || gpu.IsCrowded());
}

// Fewer trials only where the reference itself did not run, or others hold the memory: a candidate must not
// be able to choose them.
void GpuJudge::JudgeSparing(GpuJob* job, Result* result) {
  references_.clear();
  EndTurn();
  TakeTurn(*job);
  Gpu::Current()->AwaitMemory(kSecondsForMemory);
  job->options.spare_memory = result->reference_failed || Gpu::Current()->IsCrowded();
  result->verdict = Judge(job, result);
  references_.clear();
}

GpuJudge::Result GpuJudge::RunInTurn(GpuJob* job) {
  const std::vector<cuda::CompileResult> kernels = ReadKernels(*job);
  Result result;
  const bool kept = TakeTurn(*job);
  result.verdict = Judge(job, &result);
  if (kept && !Stands(result.verdict) && !Gpu::Current()->lost()) {
    EndTurn();
    TakeTurn(*job);
    result.verdict = Judge(job, &result);
  }
  if (MayHaveRunShort(result.verdict)) JudgeSparing(job, &result);
  Forget();
  KeepOrEndTurn(*job, &result);
  return result;
}

void GpuJudge::AddNotes(const GpuJob& job, Verdict* verdict) {
  // The tile machine sees each access, the GPU what really happens.
  verdict->notes.push_back(
      job.confirmed
          ? fmt::format("on the tile machine, each access checked: {}", *job.confirmed)
          : "accesses to memory were not checked one by one: the task is too large for the tile machine");
  verdict->notes.insert(verdict->notes.end(), job.notes.begin(), job.notes.end());
  verdict->hurried |= job.hurried;
}

GpuJudge::Result GpuJudge::Run(GpuJob job) {
  const Stages stages;
  Result result;
  try {
    result = RunInTurn(&job);
    if (!result.reference_failed) AddNotes(job, &result.verdict);
  } catch (...) {
    EndTurn();
    throw;
  }
  Verdict& verdict = result.verdict;
  verdict.seconds = job.seconds + stages.elapsed();
  verdict.stages = std::move(job.stages);
  for (const auto& [name, seconds] : stages.seconds()) verdict.stages[name] += seconds;
  return result;
}

}  // namespace tritogen
