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

// This process's turn on the GPU, where one is needed.
class GpuShare {
 public:
  explicit GpuShare(bool on_gpu) {
    if (!on_gpu) return;
    turn_.emplace(*Gpu::Current());
    Gpu::Current()->turn = &*turn_;
  }
  ~GpuShare() {
    if (!turn_) return;
    Gpu::Current()->turn = nullptr;
    if (!Gpu::Current()->lost()) Gpu::Current()->TrimMemory();
  }
  GpuShare(const GpuShare&) = delete;
  GpuShare& operator=(const GpuShare&) = delete;

 private:
  std::optional<GpuTurn> turn_;
};

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
  auto made = PrepareTask(std::move(reference->plan), options);
  if (auto* failure = std::get_if<TaskFailure>(&made)) {
    reference->failure = ReferenceFailure(failure->outcome, failure->reason, options);
  } else {
    reference->task = std::get<Task>(std::move(made));
  }
}

Verdict Judge::Replay(const Task& task, const Plan& candidate, const VerifyOptions& options) {
  if (options.on_gpu) Gpu::Current()->Precompile(candidate.kernels);  // others may have the GPU meanwhile
  const GpuShare share(options.on_gpu);
  return Verify(task, candidate, options);
}

Judgement Judge::Run(const JudgeRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  Judgement judgement;
  Reference& reference = Find(request);
  {
    const GpuShare share(request.options.on_gpu);
    Prepare(request.options, &reference);
  }
  if (reference.failure) {
    judgement.verdict = *reference.failure;
  } else {
    auto recorded = recorder_->Record({.role = Role::kCandidate,
                                       .source = request.candidate.text,
                                       .entry = request.candidate.entry,
                                       .is_function = request.candidate.is_function,
                                       .reference = &reference.task->plan()});
    if (auto* failure = std::get_if<RecordFailure>(&recorded)) {
      judgement.verdict = VerdictOf(*failure, request.options);
    } else {
      judgement.plan = std::get<Plan>(std::move(recorded));
      judgement.verdict = Replay(*reference.task, *judgement.plan, request.options);
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
