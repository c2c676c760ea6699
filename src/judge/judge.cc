#include "judge/judge.h"

#include <fmt/format.h>

#include <chrono>

namespace tritogen {
namespace {

constexpr size_t kKeptTasks = 8;  // a task holds the inputs and expected values of its trials

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

const Judge::Prepared& Judge::Prepare(const JudgeRequest& request) {
  const VerifyOptions& options = request.options;
  const std::string key = fmt::format("{}\n{}\n{}\n{}", request.reference.entry, options.seed,
                                      static_cast<int>(options.mode), request.reference.text);
  for (auto it = prepared_.begin(); it != prepared_.end(); ++it) {
    if (it->key == key) {
      prepared_.splice(prepared_.begin(), prepared_, it);
      return prepared_.front();
    }
  }
  Prepared prepared{.key = key};
  auto recorded = recorder_->Record({.role = Role::kReference,
                                     .source = request.reference.text,
                                     .entry = request.reference.entry,
                                     .is_function = request.reference.is_function});
  if (auto* failure = std::get_if<RecordFailure>(&recorded)) {
    const Verdict verdict = VerdictOf(*failure, options);
    prepared.failure = ReferenceFailure(verdict.outcome, verdict.reason, options);
    prepared.failure.evidence.update(verdict.evidence);
  } else {
    auto made = PrepareTask(std::get<Plan>(std::move(recorded)), options);
    if (auto* failure = std::get_if<TaskFailure>(&made)) {
      prepared.failure = ReferenceFailure(failure->outcome, failure->reason, options);
    } else {
      prepared.task = std::get<Task>(std::move(made));
    }
  }
  prepared_.push_front(std::move(prepared));
  if (prepared_.size() > kKeptTasks) prepared_.pop_back();
  return prepared_.front();
}

Judgement Judge::Run(const JudgeRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  Judgement judgement;
  const Prepared& prepared = Prepare(request);
  if (!prepared.task) {
    judgement.verdict = prepared.failure;
    judgement.reference_failed = true;
  } else {
    auto recorded = recorder_->Record({.role = Role::kCandidate,
                                       .source = request.candidate.text,
                                       .entry = request.candidate.entry,
                                       .is_function = request.candidate.is_function,
                                       .reference = &prepared.task->plan()});
    if (auto* failure = std::get_if<RecordFailure>(&recorded)) {
      judgement.verdict = VerdictOf(*failure, request.options);
    } else {
      judgement.plan = std::get<Plan>(std::move(recorded));
      judgement.verdict = Verify(*prepared.task, *judgement.plan, request.options);
    }
  }
  for (const std::string& feature : recorder_->missing_features()) {
    judgement.verdict.notes.push_back(fmt::format("weak jail: {}", feature));
  }
  judgement.verdict.seconds = SecondsSince(start);
  return judgement;
}

}  // namespace tritogen
