#include "judge/judge.h"

#include <fmt/format.h>

#include <utility>

#include "base/stages.h"
#include "judge/recent.h"
#include "plan/hash.h"
#include "plan/key_order.h"
#include "plan/lifetimes.h"

namespace tritogen {
namespace {

constexpr size_t kKeptReferences = 8;  // a task holds the inputs and expected values of its trials
constexpr int64_t kMostBytesOnCpu = int64_t{4} << 20;  // of a task that the GPU judges: more takes seconds
constexpr int64_t kLargeBytes = int64_t{1} << 30;      // memory for more takes long to get from a GPU

VerifyOptions OnCpu(VerifyOptions options) {
  options.on_gpu = false;
  options.threads = 1;  // judges share the cores
  return options;
}

RecordRequest RequestFor(Role role, const SourceFile& file) {
  return {.role = role, .source = file.text, .entry = file.entry, .is_function = file.is_function};
}

}  // namespace

Judge::Judge(Recorder* recorder, std::optional<GpuTarget> gpu,
             const std::optional<VerdictCacheOptions>& cache)
    : recorder_(recorder), gpu_(std::move(gpu)), cache_(cache) {}

Judge::Reference& Judge::Find(const JudgeRequest& request) {
  const VerifyOptions& options = request.options;
  const std::string key = fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.reference.entry, options.seed,
                                      static_cast<int>(options.mode), Name(options.fp32_precision),
                                      options.on_gpu, request.reference.text);
  if (Reference* kept = FindRecent(&references_, key)) return *kept;
  const Stage stage("record");
  Reference reference{.key = key};
  auto recorded = RecordReference(request, &reference);
  if (auto* failure = std::get_if<RecordFailure>(&recorded)) {
    const Verdict verdict = VerdictOf(*failure, options);
    reference.failure = ReferenceFailure(verdict.outcome, verdict.reason, options);
    reference.failure->evidence.update(verdict.evidence);
  } else {
    reference.plan = std::get<Plan>(std::move(recorded));
    reference.hash = PlanHash(reference.plan);
  }
  references_.push_front(std::move(reference));
  if (references_.size() > kKeptReferences) references_.pop_back();
  return references_.front();
}

std::variant<Plan, RecordFailure> Judge::RecordReference(const JudgeRequest& request, Reference* reference) {
  const RecordRequest alone = RequestFor(Role::kReference, request.reference);
  if (!request.together.empty()) {
    std::vector<RecordRequest> requests = {alone};
    for (const SourceFile& file : request.together) requests.push_back(RequestFor(Role::kCandidate, file));
    std::vector<std::optional<Plan>> plans = recorder_->RecordTogether(requests);
    if (plans[0]) {
      for (size_t i = 1; i < plans.size(); ++i) reference->recorded[requests[i].source] = std::move(plans[i]);
      return *std::move(plans[0]);
    }
  }
  return recorder_->Record(alone);
}

void Judge::Prepare(const VerifyOptions& options, Reference* reference) {
  if (std::exchange(reference->prepared, true)) return;
  if (options.on_gpu && PeakBytes(reference->plan) > kMostBytesOnCpu) return;
  const Stage stage("prepare");
  auto made = PrepareTask(reference->plan, options.on_gpu ? OnCpu(options) : options);
  if (auto* task = std::get_if<Task>(&made)) {
    reference->task = std::move(*task);
  } else if (!options.on_gpu) {
    const auto& failure = std::get<TaskFailure>(made);
    reference->failure = ReferenceFailure(failure.outcome, failure.reason, options);
  }
}

std::variant<Plan, RecordFailure> Judge::Record(const JudgeRequest& request, Reference* reference) {
  const Stage stage("record");
  const auto found = reference->recorded.find(request.candidate.text);
  if (found != reference->recorded.end() && found->second) return *std::exchange(found->second, std::nullopt);
  RecordRequest alone = RequestFor(Role::kCandidate, request.candidate);
  alone.reference = &reference->plan;
  return recorder_->Record(alone);
}

// What was judged before needs neither the task nor a replay.
void Judge::JudgePlan(const JudgeRequest& request, const FindVerdict& find, Reference* reference,
                      Judgement* judgement) {
  const VerifyOptions& options = request.options;
  const Plan& candidate = *judgement->plan;
  Verdict& verdict = judgement->verdict;
  if (cache_) {
    const std::string key = VerdictKey(*cache_, options, options.on_gpu ? gpu_->name : "tile machine",
                                       PlanHash(candidate), reference->hash);
    if (auto found = find(key)) {
      verdict = *found;
      return;
    }
  }
  Prepare(options, reference);
  if (reference->failure) return;
  if (reference->task) {
    const Stage stage(options.on_gpu ? "tile machine" : "replay");
    verdict = Verify(*reference->task, candidate, options.on_gpu ? OnCpu(options) : options);
  }
  if (options.on_gpu && (!reference->task || verdict.outcome == Outcome::kPassed)) {
    judgement->handover = HandOver(request, *reference, candidate, reference->task ? &verdict : nullptr);
  }
}

GpuJob Judge::HandOver(const JudgeRequest& request, const Reference& reference, const Plan& candidate,
                       const Verdict* confirmed) {
  GpuJob job{.reference = reference.plan,
             .candidate = candidate,
             .reference_hash = reference.hash,
             .options = request.options,
             .confirmed = {},
             .notes = {},
             .large = PeakBytes(reference.plan) > kLargeBytes,
             .stages = {}};
  if (confirmed != nullptr) {
    job.confirmed = confirmed->reason;
    job.hurried = confirmed->hurried;
    job.notes = confirmed->notes;
  }
  const Stage stage("compile");
  gpu_->compiler->Compile(candidate.kernels,
                          gpu_->target);  // the GpuJudge finds them, or says why there are none
  return job;
}

Judgement Judge::Run(const JudgeRequest& request, const FindVerdict& find) {
  const Stages stages;
  Judgement judgement;
  Reference& reference = Find(request);
  if (!reference.failure) {
    auto recorded = Record(request, &reference);
    if (auto* failure = std::get_if<RecordFailure>(&recorded)) {
      judgement.verdict = VerdictOf(*failure, request.options);
    } else {
      judgement.plan = std::get<Plan>(std::move(recorded));
      TakeKeyOrder(reference.plan, &*judgement.plan);
      JudgePlan(request, find, &reference, &judgement);
    }
  }
  if (reference.failure) judgement.verdict = *reference.failure;
  judgement.reference_failed = reference.failure.has_value();
  judgement.lost = recorder_->Lost() || (gpu_ && gpu_->compiler->Lost());
  for (const std::string& feature : recorder_->missing_features())
    judgement.jail_notes.push_back(fmt::format("weak jail: {}", feature));
  judgement.verdict.seconds = stages.elapsed();
  judgement.verdict.stages = stages.seconds();
  if (judgement.handover) {
    judgement.handover->seconds = judgement.verdict.seconds;
    judgement.handover->stages = judgement.verdict.stages;
  }
  return judgement;
}

}  // namespace tritogen
