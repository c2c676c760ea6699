#include "cuda/compiler.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/frame.h"
#include "base/process.h"
#include "base/sha256.h"
#include "base/thread_team.h"
#include "base/ttir_text.h"
#include "cuda/kernel_cache.h"
#include "plan/serialize.h"
#include "record/python_environment.h"
#include "record/worker_spec.h"
#include "record/zygote.h"

namespace tritogen::cuda {
namespace {

using Reason = CompileFailure::Reason;

// Part of every key: changes whenever worker/compile.py makes other code of the same text.
constexpr std::string_view kCompilerVersion = "tritogen cubin 1";
constexpr int64_t kMaxTensorMemoryColumns = 512;  // of an SM; as Triton has it

// One kernel as the compiler processes see it.
struct Job {
  std::string key;
  nlohmann::json request;
};

Job MakeJob(const Kernel& kernel, const Target& target, const std::string& triton_version) {
  Job job;
  const nlohmann::json options = ToJson(kernel.options);
  std::string ttir = StripLocations(kernel.ttir);
  job.key = Sha256Hex(fmt::format("{}\nTriton {}\ncuda {} {}\n{}\n{}", kCompilerVersion, triton_version,
                                  target.capability, target.warp_size, options.dump(), ttir));
  job.request = {{"ttir", std::move(ttir)},
                 {"options", options},
                 {"capability", target.capability},
                 {"warp_size", target.warp_size}};
  return job;
}

struct Answer {
  CompileOutcome outcome;
  std::string to_keep;  // what the cache shall hold; empty: nothing, another attempt may end otherwise
};

Answer Fail(Reason reason, std::string detail, bool keep = false) {
  CompileFailure failure{reason, std::move(detail)};
  std::string bytes = keep ? EncodeFailure(failure) : "";
  return {std::move(failure), std::move(bytes)};
}

// A crash of Triton, LLVM or ptxas happens again with the same text; a kill may be the machine's doing.
bool IsCrash(int status) {
  constexpr int kCrashes[] = {SIGSEGV, SIGABRT, SIGILL, SIGFPE, SIGBUS, SIGTRAP, SIGSYS};
  return WIFSIGNALED(status) &&
         std::find(std::begin(kCrashes), std::end(kCrashes), WTERMSIG(status)) != std::end(kCrashes);
}

// The lines in which MLIR and LLVM say what they do not like.
std::string Diagnostics(const std::string& output) {
  constexpr size_t kMaxLines = 12;
  std::istringstream lines(output);
  std::string found;
  size_t count = 0;
  for (std::string line; count < kMaxLines && std::getline(lines, line);) {
    const bool says = line.find("error: ") != std::string::npos ||
                      line.find("Assertion") != std::string::npos ||
                      line.find("LLVM ERROR") != std::string::npos;
    if (!says || found.find(line) != std::string::npos) continue;  // two attempts say the same
    found += "\n" + line;
    ++count;
  }
  return found;
}

Answer ReadChildEnd(const ChildEnd& end, double wall_seconds) {
  switch (end.how) {
    case ChildEnd::How::kTimedOut:
      return Fail(Reason::kTimeout, fmt::format("compiling took longer than {} s", wall_seconds));
    case ChildEnd::How::kOverflowed:
      return Fail(Reason::kKilled, "the compiled kernel is larger than 64 MiB", /*keep=*/true);
    case ChildEnd::How::kNotStarted:
    case ChildEnd::How::kZygoteEnded:
      return Fail(Reason::kInfrastructure, "no compiler process: " + end.problem);
    case ChildEnd::How::kEnded:
      break;
  }
  if (WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGXCPU) {
    return Fail(Reason::kTimeout, fmt::format("compiling took more than {} s of CPU time", wall_seconds));
  }
  if (end.status != 0) {
    return Fail(Reason::kKilled,
                fmt::format("the compiler crashed ({}):\n{}", DescribeWaitStatus(end.status), end.output),
                IsCrash(end.status));
  }
  try {
    DecodeFrame(end.reply);  // that it is one frame and no more
    std::string bytes = end.reply.substr(kFrameHeaderBytes);
    CompileOutcome outcome = DecodeOutcome(bytes);
    if (const auto* failure = std::get_if<CompileFailure>(&outcome))
      return Fail(failure->reason, failure->detail + Diagnostics(end.output), /*keep=*/true);
    return {std::move(outcome), std::move(bytes)};
  } catch (const FormatError& error) {
    return Fail(Reason::kInfrastructure, fmt::format("the compiler's answer is broken: {}", error.what()));
  }
}

// A kernel may be too large for the device that it was compiled for; Triton notices when it loads it.
std::optional<CompileFailure> CheckResources(const CompiledKernel& kernel, const Target& target) {
  if (kernel.shared_bytes > target.shared_bytes) {
    return CompileFailure{
        Reason::kSharedMemory,
        fmt::format("the kernel needs {} bytes of shared memory, a block may have {}; smaller "
                    "blocks or a smaller num_stages may help",
                    kernel.shared_bytes, target.shared_bytes)};
  }
  if (kernel.tensor_memory_columns > kMaxTensorMemoryColumns) {
    return CompileFailure{Reason::kSharedMemory,
                          fmt::format("the kernel needs {} columns of tensor memory, there are {}",
                                      kernel.tensor_memory_columns, kMaxTensorMemoryColumns)};
  }
  return std::nullopt;
}

// A counting semaphore whose count is known at run time only.
class Slots {
 public:
  explicit Slots(int count) : free_(count) {}

  template <typename F>
  auto Hold(F work) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return free_ > 0; });
    --free_;
    lock.unlock();
    struct Release {
      Slots* slots;
      ~Release() {
        std::lock_guard relock(slots->mutex_);
        ++slots->free_;
        slots->changed_.notify_one();
      }
    } release{this};
    return work();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int free_;
};

int ProcessCount(int wanted) {
  return wanted > 0 ? wanted : MachineThreads();
}

}  // namespace

struct KernelCompiler::Impl {
  explicit Impl(CompilerOptions given)
      : options(std::move(given)),
        python(FindPythonEnvironment(options.python)),
        cache(options.cache_folder, options.cache_bytes),
        processes(ProcessCount(options.processes)),
        slots(processes) {}

  Zygote& Worker();
  Answer Run(const nlohmann::json& request);
  CompileResult Finish(const std::string& key, CompileOutcome outcome, const Target& target);
  std::optional<CompileResult> Find(const std::string& key, const Target& target);
  CompileResult Make(const Job& job, const Target& target);
  CompileResult MakeOnce(const Job& job, const Target& target);
  void MakeAll(const std::vector<const Job*>& jobs, const Target& target, const OnCompiled& on_compiled,
               std::map<std::string, CompileResult>* results);

  const CompilerOptions options;
  const PythonEnvironment python;
  KernelCache cache;
  const int processes;
  Slots slots;
  std::mutex worker_mutex;
  std::unique_ptr<Zygote> worker;

  std::mutex mutex;  // guards the rest
  std::unordered_map<std::string, std::shared_future<CompileResult>> in_flight;
  std::unordered_map<std::string, std::weak_ptr<const CompiledKernel>> living;
  Counts counts;
};

Zygote& KernelCompiler::Impl::Worker() {
  std::lock_guard lock(worker_mutex);
  if (worker == nullptr) {
    const JailStrength jail = RequireJail(options.allow_weak_jail);
    worker = std::make_unique<Zygote>(WorkerSpec(python, options.worker_folder, "compile", jail.weak),
                                      SeccompProfile::kCompile);
    worker->Require();
  }
  return *worker;
}

Answer KernelCompiler::Impl::Run(const nlohmann::json& request) {
  Zygote& zygote = Worker();
  const ChildLimits limits{options.wall_seconds, options.wall_seconds, options.memory_bytes};
  std::string frame;
  try {
    frame = EncodeFrame(request);
  } catch (const nlohmann::json::exception&) {
    return Fail(Reason::kInvalid, "the TTIR is not UTF-8 text");
  }
  return slots.Hold([&] { return ReadChildEnd(zygote.Run(frame, limits), limits.wall_seconds); });
}

// The kernel shared with whoever else holds it, or why it cannot be had on this target.
CompileResult KernelCompiler::Impl::Finish(const std::string& key, CompileOutcome outcome,
                                           const Target& target) {
  if (auto* failure = std::get_if<CompileFailure>(&outcome)) return std::move(*failure);
  auto& kernel = std::get<CompiledKernel>(outcome);
  if (auto too_large = CheckResources(kernel, target)) return *too_large;
  kernel.key = key;
  auto shared = std::make_shared<const CompiledKernel>(std::move(kernel));
  constexpr size_t kSweep = 4096;
  std::lock_guard lock(mutex);
  if (living.size() > kSweep) std::erase_if(living, [](const auto& entry) { return entry.second.expired(); });
  living[key] = shared;
  return shared;
}

// In memory, or on disk. An entry that cannot be read is none.
std::optional<CompileResult> KernelCompiler::Impl::Find(const std::string& key, const Target& target) {
  {
    std::lock_guard lock(mutex);
    const auto found = living.find(key);
    if (found != living.end()) {
      if (auto kernel = found->second.lock(); kernel && !CheckResources(*kernel, target)) {
        ++counts.hits;
        return kernel;
      }
    }
  }
  const std::optional<std::string> bytes = cache.Get(key);
  if (!bytes) return std::nullopt;
  try {
    CompileResult result = Finish(key, DecodeOutcome(*bytes), target);
    std::lock_guard lock(mutex);
    ++counts.hits;
    return result;
  } catch (const FormatError&) {
    return std::nullopt;
  }
}

CompileResult KernelCompiler::Impl::Make(const Job& job, const Target& target) {
  Answer answer = Run(job.request);
  if (!answer.to_keep.empty()) cache.Put(job.key, answer.to_keep);
  {
    std::lock_guard lock(mutex);
    ++(std::holds_alternative<CompiledKernel>(answer.outcome) ? counts.compiled : counts.failed);
  }
  return Finish(job.key, std::move(answer.outcome), target);
}

// Whoever asks first makes it; the others wait for that.
CompileResult KernelCompiler::Impl::MakeOnce(const Job& job, const Target& target) {
  std::promise<CompileResult> promise;
  std::shared_future<CompileResult> made;
  {
    std::lock_guard lock(mutex);
    const auto [found, is_first] = in_flight.try_emplace(job.key);
    if (is_first)
      found->second = promise.get_future().share();
    else
      made = found->second;
  }
  if (made.valid()) return made.get();
  auto end = [&] {
    std::lock_guard lock(mutex);
    in_flight.erase(job.key);
  };
  try {
    // Between this caller's look into the cache and now, another one may have made it.
    std::optional<CompileResult> found = Find(job.key, target);
    CompileResult result = found ? std::move(*found) : Make(job, target);
    promise.set_value(result);
    end();
    return result;
  } catch (...) {
    promise.set_exception(std::current_exception());
    end();
    throw;
  }
}

void KernelCompiler::Impl::MakeAll(const std::vector<const Job*>& jobs, const Target& target,
                                   const OnCompiled& on_compiled,
                                   std::map<std::string, CompileResult>* results) {
  const auto total = static_cast<int64_t>(jobs.size());
  int64_t done = 0;
  if (on_compiled) on_compiled(0, total);
  std::atomic<size_t> next{0};
  std::mutex results_mutex;
  std::exception_ptr problem;
  auto work = [&] {
    for (size_t i = next++; i < jobs.size(); i = next++) {
      try {
        CompileResult result = MakeOnce(*jobs[i], target);
        std::lock_guard lock(results_mutex);
        results->emplace(jobs[i]->key, std::move(result));
        if (on_compiled) on_compiled(++done, total);
      } catch (...) {
        std::lock_guard lock(results_mutex);
        problem = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    try {
      for (size_t i = 1; i < std::min<size_t>(jobs.size(), processes); ++i) helpers.emplace_back(work);
    } catch (const std::system_error&) {  // no more threads to be had: go on with those that came
    }
    work();
  }
  if (problem) std::rethrow_exception(problem);
}

KernelCompiler::KernelCompiler(CompilerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

void KernelCompiler::Start() {
  impl_->Worker().Await();
}

bool KernelCompiler::Lost() const {
  std::lock_guard lock(impl_->worker_mutex);
  return impl_->worker != nullptr && impl_->worker->Lost();
}

std::vector<int> KernelCompiler::fds(HeldLocks* held) const {
  std::lock_guard lock(impl_->worker_mutex);
  return impl_->worker != nullptr ? impl_->worker->fds(held) : std::vector<int>();
}

const std::filesystem::path& KernelCompiler::folder() const {
  return impl_->options.cache_folder;
}

KernelCompiler::~KernelCompiler() = default;

std::vector<CompileResult> KernelCompiler::Compile(std::span<const Kernel> kernels, const Target& target,
                                                   const OnCompiled& on_compiled) {
  std::vector<Job> jobs;
  for (const Kernel& kernel : kernels) jobs.push_back(MakeJob(kernel, target, impl_->python.triton_version));
  std::map<std::string, CompileResult> results;
  std::map<std::string, const Job*> missing;
  for (const Job& job : jobs) {
    if (results.contains(job.key) || missing.contains(job.key)) continue;
    if (auto found = impl_->Find(job.key, target))
      results.emplace(job.key, std::move(*found));
    else
      missing.emplace(job.key, &job);
  }
  std::vector<const Job*> to_make;
  for (const auto& [key, job] : missing) to_make.push_back(job);
  if (!to_make.empty()) impl_->MakeAll(to_make, target, on_compiled, &results);
  std::vector<CompileResult> ordered;
  for (const Job& job : jobs) ordered.push_back(results.at(job.key));
  return ordered;
}

CompileResult KernelCompiler::CompileWithPtx(const Kernel& kernel, const Target& target) {
  Job job = MakeJob(kernel, target, impl_->python.triton_version);
  job.request["want_ptx"] = true;
  CompileOutcome outcome = impl_->Run(job.request).outcome;
  if (auto* failure = std::get_if<CompileFailure>(&outcome)) return std::move(*failure);
  return std::make_shared<const CompiledKernel>(std::get<CompiledKernel>(std::move(outcome)));
}

KernelCompiler::Counts KernelCompiler::counts() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->counts;
}

}  // namespace tritogen::cuda
