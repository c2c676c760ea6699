#include "judge/judge.h"

#include <fmt/format.h>

#include <chrono>

#include "verify/gpu.h"

namespace tritogen {
namespace {

constexpr size_t kKeptReferences = 8;  // a task holds the inputs and expected values of its trials

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

}  // namespace

Judge::Judge(Recorder* recorder, cuda::KernelCompiler* compiler) : recorder_(recorder) {
  if (compiler != nullptr) Gpu::Open(0, compiler);
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
  }
  references_.push_front(std::move(reference));
  if (references_.size() > kKeptReferences) references_.pop_back();
  return references_.front();
}

void Judge::Prepare(const VerifyOptions& options, Reference* reference) {
  if (reference->task || reference->failure) return;
  auto made = PrepareTask(reference->plan, options);
  if (auto* failure = std::get_if<TaskFailure>(&made)) {
    reference->failure = ReferenceFailure(failure->outcome, failure->reason, options);
  } else {
    reference->task = std::get<Task>(std::move(made));
  }
}

Verdict Judge::Replay(const Plan& candidate, const VerifyOptions& options, Reference* reference) {
  if (!options.on_gpu) {
    Prepare(options, reference);
    return reference->failure ? *reference->failure : Verify(*reference->task, candidate, options);
  }
  Gpu& gpu = *Gpu::Current();
  gpu.Precompile(candidate.kernels);  // others may have the GPU meanwhile
  GpuTurn turn(gpu);
  gpu.turn = &turn;
  Prepare(options, reference);
  Verdict verdict = reference->failure ? *reference->failure : Verify(*reference->task, candidate, options);
  gpu.turn = nullptr;
  if (!gpu.lost()) gpu.TrimMemory();
  return verdict;
}

Judgement Judge::Run(const JudgeRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  Judgement judgement;
  Reference& reference = Find(request);
  if (reference.failure) {
    judgement.verdict = *reference.failure;
  } else {
    auto recorded = recorder_->Record({.role = Role::kCandidate,
                                       .source = request.candidate.text,
                                       .entry = request.candidate.entry,
                                       .is_function = request.candidate.is_function,
                                       .reference = &reference.plan});
    if (auto* failure = std::get_if<RecordFailure>(&recorded)) {
      judgement.verdict = VerdictOf(*failure, request.options);
    } else {
      judgement.plan = std::get<Plan>(std::move(recorded));
      judgement.verdict = Replay(*judgement.plan, request.options, &reference);
    }
  }
  judgement.reference_failed = reference.failure.has_value();
  judgement.last = Gpu::Current() != nullptr && Gpu::Current()->lost();
  for (const std::string& feature : recorder_->missing_features()) {
    judgement.verdict.notes.push_back(fmt::format("weak jail: {}", feature));
  }
  judgement.verdict.seconds = SecondsSince(start);
  return judgement;
}

}  // namespace tritogen
