#include "judge/judge.h"

#include <fmt/format.h>

#include <chrono>

#include "base/stages.h"
#include "plan/hash.h"
#include "plan/lifetimes.h"
#include "verify/gpu.h"

namespace tritogen {
namespace {

constexpr size_t kKeptReferences = 8;  // a task holds the inputs and expected values of its trials
constexpr int64_t kKeptBytesOnGpu = int64_t{1} << 30;  // of those that were not used last

constexpr int64_t kMostBytesOnCpu = int64_t{4} << 20;  // of a task that the GPU judges: more takes seconds

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Verdict ReferenceFailure(Outcome outcome, const std::string& reason, const VerifyOptions& options) {
  Verdict verdict;
  verdict.outcome = Outcome::kInfraError;
  verdict.rule = "reference";
  verdict.reason = fmt::format("the reference: {}", reason);
  verdict.evidence["reference"] = OutcomeName(outcome);
  verdict.seed = options.seed;
  return verdict;
}

VerifyOptions OnCpu(VerifyOptions options) {
  options.on_gpu = false;
  options.threads = 1;  // judges share the cores
  return options;
}

// Where candidates run, as verdicts depend on it.
std::string ExecutorName(bool on_gpu) {
  if (!on_gpu) return "tile machine";
  const cuda::DeviceInfo& gpu = Gpu::Current()->info();
  return fmt::format("{}, driver {}", gpu.name, gpu.driver_version);
}

}  // namespace

Judge::Judge(Recorder* recorder, cuda::KernelCompiler* compiler,
             const std::optional<VerdictCacheOptions>& cache)
    : recorder_(recorder) {
  if (compiler != nullptr) Gpu::Open(0, compiler);
  if (cache) cache_.emplace(*cache);  // whoever started this process has told its user what is wrong with it
  if (cache_) cache_->TakeWarning();
}

Judge::Reference& Judge::Find(const JudgeRequest& request) {
  const VerifyOptions& options = request.options;
  const std::string key = fmt::format("{}\n{}\n{}\n{}\n{}", request.reference.entry, options.seed,
                                      static_cast<int>(options.mode), options.on_gpu, request.reference.text);
  for (auto it = references_.begin(); it != references_.end(); ++it) {
    if (it->key == key) {
      references_.splice(references_.begin(), references_, it);
      return references_.front();
    }
  }
  const Stage stage("record");
  Reference reference{.key = key};
  auto recorded = recorder_->Record({.role = Role::kReference,
                                     .source = request.reference.text,
                                     .entry = request.reference.entry,
                                     .is_function = request.reference.is_function});
  if (auto* failure = std::get_if<RecordFailure>(&recorded)) {
    const Verdict verdict = VerdictOf(*failure, options);
    reference.failure = ReferenceFailure(verdict.outcome, verdict.reason, options);
    reference.failure->evidence.update(verdict.evidence);
  } else {
    reference.plan = std::get<Plan>(std::move(recorded));
    reference.hash = PlanHash(reference.plan);
  }
  references_.push_front(std::move(reference));
  Forget(options.on_gpu);
  return references_.front();
}

void Judge::Forget(bool on_gpu) {
  if (references_.size() > kKeptReferences) references_.pop_back();
  int64_t bytes = 0;
  for (auto it = std::next(references_.begin()); on_gpu && it != references_.end();) {
    bytes += it->task ? it->task->bytes() : 0;
    it = bytes > kKeptBytesOnGpu ? references_.erase(it) : std::next(it);
  }
}

void Judge::Prepare(const VerifyOptions& options, Reference* reference) {
  if (reference->task || reference->failure) return;
  const Stage stage("prepare");
  if (options.on_gpu && PeakBytes(reference->plan) <= kMostBytesOnCpu) {
    auto made = PrepareTask(reference->plan, OnCpu(options));
    if (auto* task = std::get_if<Task>(&made)) reference->on_cpu = std::move(*task);
  }
  std::optional<GpuTurn> turn;
  if (options.on_gpu) turn.emplace(Gpu::Current());
  VerifyOptions chosen = options;
  chosen.confirm = reference->on_cpu.has_value();
  auto made = PrepareTask(std::move(reference->plan), chosen);
  if (auto* failure = std::get_if<TaskFailure>(&made)) {
    reference->failure = ReferenceFailure(failure->outcome, failure->reason, options);
  } else {
    reference->task = std::get<Task>(std::move(made));
  }
}

Verdict Judge::Replay(const Reference& reference, const Plan& candidate, const VerifyOptions& options) {
  if (!options.on_gpu) {
    const Stage stage("replay");
    return Verify(*reference.task, candidate, options);
  }
  // The tile machine sees each access, the GPU what really happens.
  std::vector<std::string> notes = {
      "accesses to memory were not checked one by one: the task is too large for the tile machine"};
  bool hurried = false;
  if (reference.on_cpu) {
    const Stage stage("tile machine");
    Verdict verdict = Verify(*reference.on_cpu, candidate, OnCpu(options));
    if (verdict.outcome != Outcome::kPassed) return verdict;
    hurried = verdict.hurried;
    notes = std::move(verdict.notes);
    notes.push_back(fmt::format("on the tile machine, each access checked: {}", verdict.reason));
  }
  {
    const Stage stage("compile");
    Gpu::Current()->Precompile(candidate.kernels);  // others may have the GPU meanwhile
  }
  const GpuTurn turn(Gpu::Current());
  const Stage stage("replay");
  Verdict verdict = Verify(*reference.task, candidate, options);
  verdict.notes.insert(verdict.notes.end(), notes.begin(), notes.end());
  verdict.hurried |= hurried;
  return verdict;
}

// What was judged before needs neither the task nor a replay.
Verdict Judge::JudgePlan(const JudgeRequest& request, const Plan& candidate, Reference* reference) {
  std::string key;
  if (cache_) {
    key = VerdictKey(cache_->options(), request.options, ExecutorName(request.options.on_gpu),
                     PlanHash(candidate), reference->hash);
    if (auto found = cache_->Find(key, request.candidate.text)) return *found;
  }
  Prepare(request.options, reference);
  if (reference->failure) return {};
  Verdict verdict = Replay(*reference, candidate, request.options);
  if (!cache_) return verdict;
  cache_->Keep(key, request.candidate.text, verdict);
  if (const std::string warning = cache_->TakeWarning(); !warning.empty()) verdict.notes.push_back(warning);
  return verdict;
}

Judgement Judge::Run(const JudgeRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  const Stages stages;
  Judgement judgement;
  Reference& reference = Find(request);
  if (!reference.failure) {
    std::optional<Stage> recording(std::in_place, "record");
    auto recorded =
        recorder_->Record({.role = Role::kCandidate,
                           .source = request.candidate.text,
                           .entry = request.candidate.entry,
                           .is_function = request.candidate.is_function,
                           .reference = reference.task ? &reference.task->plan() : &reference.plan});
    recording.reset();
    if (auto* failure = std::get_if<RecordFailure>(&recorded)) {
      judgement.verdict = VerdictOf(*failure, request.options);
    } else {
      judgement.plan = std::get<Plan>(std::move(recorded));
      judgement.verdict = JudgePlan(request, *judgement.plan, &reference);
    }
  }
  if (reference.failure) judgement.verdict = *reference.failure;
  judgement.reference_failed = reference.failure.has_value();
  judgement.last = Gpu::Current() != nullptr && Gpu::Current()->lost();
  for (const std::string& feature : recorder_->missing_features()) {
    judgement.verdict.notes.push_back(fmt::format("weak jail: {}", feature));
  }
  judgement.verdict.seconds = SecondsSince(start);
  judgement.verdict.stages = stages.seconds();
  return judgement;
}

}  // namespace tritogen
