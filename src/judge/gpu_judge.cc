#include "judge/gpu_judge.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/frame.h"
#include "base/stages.h"
#include "judge/options_json.h"
#include "plan/parse.h"
#include "plan/serialize.h"
#include "verify/gpu.h"
#include "verify/gpu_warm_up.h"
#include "verify/replay.h"

namespace tritogen {
namespace {

using nlohmann::json;

constexpr size_t kKeptReferences = 8;             // a task holds the inputs and expected values of its trials
constexpr int64_t kKeptBytes = int64_t{1} << 30;  // of those that were not used last
// Of the device's memory, what the one used last may take at most to be kept: others have to work beside it.
constexpr int64_t kKeptShare = 10;

}  // namespace

std::string Encode(const GpuJob& job) {
  return EncodeFrame({{"reference", ToJson(job.reference)},
                      {"candidate", ToJson(job.candidate)},
                      {"reference_hash", job.reference_hash},
                      {"options", ToJson(job.options)},
                      {"confirmed", job.confirmed ? json(*job.confirmed) : json()},
                      {"hurried", job.hurried},
                      {"notes", job.notes},
                      {"jail_notes", job.jail_notes},
                      {"cache_key", job.cache_key},
                      {"source", job.source},
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
               .jail_notes = message.at("jail_notes"),
               .cache_key = message.at("cache_key"),
               .source = message.at("source"),
               .seconds = message.at("seconds"),
               .stages = message.at("stages")};
    if (!message.at("confirmed").is_null()) job.confirmed = message.at("confirmed").get<std::string>();
    return job;
  } catch (const json::exception& error) {
    throw FormatError(fmt::format("not a job for a GPU: {}", error.what()));
  }
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

GpuJudge::GpuJudge(cuda::KernelCompiler* compiler, const std::optional<VerdictCacheOptions>& cache, bool many)
    : compiler_(compiler) {
  Gpu& gpu = Gpu::Open(0, compiler);
  if (many) {
    const GpuTurn turn(&gpu);
    WarmUp(&gpu);
  }
  if (cache) cache_.emplace(*cache);  // whoever started this process has told its user what is wrong with it
  if (cache_) cache_->TakeWarning();
}

GpuJudge::Reference& GpuJudge::Find(GpuJob* job) {
  const VerifyOptions& options = job->options;
  const std::string key = fmt::format("{} {} {} {}", job->reference_hash, options.seed,
                                      static_cast<int>(options.mode), job->confirmed.has_value());
  for (auto it = references_.begin(); it != references_.end(); ++it) {
    if (it->key == key) {
      references_.splice(references_.begin(), references_, it);
      return references_.front();
    }
  }
  const Stage stage("prepare");
  Reference reference{.key = key, .task = {}, .failure = {}};
  VerifyOptions chosen = options;
  chosen.confirm = job->confirmed.has_value();
  chosen.rest_on_demand = true;
  auto made = PrepareTask(std::move(job->reference), chosen);
  if (auto* failure = std::get_if<TaskFailure>(&made)) {
    reference.failure = ReferenceFailure(failure->outcome, failure->reason, options);
  } else {
    reference.task = std::get<Task>(std::move(made));
  }
  references_.push_front(std::move(reference));
  return references_.front();
}

// In a turn, whose end gives the memory back.
void GpuJudge::Forget() {
  const auto bytes_of = [](const Reference& reference) {
    return reference.task ? reference.task->bytes() : 0;
  };
  const Reference& last = references_.front();
  if ((last.task && last.task->spoiled()) ||
      bytes_of(last) > Gpu::Current()->info().memory_bytes / kKeptShare) {
    references_.pop_front();
  }
  if (references_.empty()) return;
  if (references_.size() > kKeptReferences) references_.pop_back();
  int64_t bytes = 0;
  for (auto it = std::next(references_.begin()); it != references_.end();) {
    bytes += bytes_of(*it);
    it = bytes > kKeptBytes ? references_.erase(it) : std::next(it);
  }
}

namespace {

// What can be done of a job without the GPU, before its turn. The replay finds the kernels as long as
// somebody holds them.
std::vector<cuda::CompileResult> ReadKernels(const GpuJob& job, cuda::KernelCompiler* compiler) {
  const Stage stage("read kernels");
  for (const Kernel& kernel : job.candidate.kernels) {
    try {
      KernelCache::Global().Writes(kernel.ttir);
    } catch (const tile::TtirError&) {
      // The replay says so.
    }
  }
  return compiler->Compile(job.candidate.kernels, Gpu::Current()->info().target());
}

}  // namespace

GpuJudge::Result GpuJudge::Run(GpuJob job) {
  const Stages stages;
  Result result;
  Verdict& verdict = result.verdict;
  const std::vector<cuda::CompileResult> kernels = ReadKernels(job, compiler_);
  // One turn for both: between two, another process would find the device full of this task.
  const GpuTurn turn(Gpu::Current());
  const Reference& reference = Find(&job);
  if (reference.failure) {
    verdict = *reference.failure;
    result.reference_failed = true;
  } else {
    const Stage stage("replay");
    verdict = Verify(*reference.task, job.candidate, job.options);
    // The tile machine sees each access, the GPU what really happens.
    verdict.notes.push_back(
        job.confirmed
            ? fmt::format("on the tile machine, each access checked: {}", *job.confirmed)
            : "accesses to memory were not checked one by one: the task is too large for the tile machine");
    verdict.notes.insert(verdict.notes.end(), job.notes.begin(), job.notes.end());
    verdict.hurried |= job.hurried;
    if (cache_ && !job.cache_key.empty()) {
      cache_->Keep(job.cache_key, job.source, verdict);
      if (const std::string warning = cache_->TakeWarning(); !warning.empty())
        verdict.notes.push_back(warning);
    }
  }
  Forget();
  result.last = Gpu::Current()->lost();
  verdict.notes.insert(verdict.notes.end(), job.jail_notes.begin(), job.jail_notes.end());
  verdict.seconds = job.seconds + stages.elapsed();
  verdict.stages = std::move(job.stages);
  for (const auto& [name, seconds] : stages.seconds()) verdict.stages[name] += seconds;
  return result;
}

}  // namespace tritogen
