#include "cli/session.h"

#include <fmt/format.h>
#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <variant>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/sha256.h"
#include "cli/files.h"
#include "cli/numbers.h"
#include "cli/version.h"
#include "cuda/device.h"
#include "device/gpu.h"
#include "judge/judge_pool.h"

namespace tritogen {
namespace {

// A worker records some 190 programs a second; 16 judges of an H100 ask for 80.
constexpr int kJudgesPerRecordingWorker = 24;

nlohmann::json Describe(const cuda::Driver& driver) {
  const cuda::DeviceInfo first = cuda::ReadDevice(driver);
  int count = 0;
  cuda::Check(driver.cuDeviceGetCount(&count), "count the GPUs");
  std::vector<std::string> uuids = {first.uuid};
  for (int ordinal = 1; ordinal < count; ++ordinal) {
    const cuda::DeviceInfo other = cuda::ReadDevice(driver, ordinal);
    if (other.name == first.name) uuids.push_back(other.uuid);
  }
  return {fmt::format("{}, driver {}", first.name, first.driver_version), first.capability, first.warp_size,
          first.shared_per_block_optin, uuids};
}

// The first GPU and all that are like it, or why there is none. Asked in a process of its own: one that has
// used CUDA cannot fork judges.
std::variant<FoundGpu, std::string> AskForGpu() {
  Pipe pipe = MakePipe();
  const pid_t child = fork();
  if (child == 0) {
    std::string why;
    nlohmann::json found;
    try {
      if (const auto* driver = cuda::Driver::Load(&why)) {
        found = Describe(*driver);
      }
    } catch (const std::exception& error) {
      why = error.what();
    }
    const std::string answer = why.empty() ? found.dump() : why.substr(0, PIPE_BUF);
    _exit(write(pipe.write.get(), answer.data(), answer.size()) < 0 ? 2 : !why.empty());
  }
  pipe.write.Reset();
  char text[PIPE_BUF];
  const ssize_t length = child > 0 ? read(pipe.read.get(), text, sizeof(text)) : 0;
  const std::string answer(text, std::max<ssize_t>(0, length));
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) > 1)
    return "the GPU's driver cannot be asked";
  if (WEXITSTATUS(status) != 0) return answer;
  const nlohmann::json found = nlohmann::json::parse(answer);
  return FoundGpu{found.at(0), {found.at(1), found.at(2), found.at(3)}, found.at(4)};
}

std::optional<VerdictCacheOptions> OpenVerdictCache(const CommonOptions& options) {
  if (options.no_cache) return std::nullopt;
  std::string verifier = Sha256Hex(ReadFile("/proc/self/exe"));
  for (const std::string& version : Versions()) verifier += ", " + version;
  const VerdictCacheOptions cache{.file = CacheFolder() / "verdicts.sqlite",
                                  .verifier = verifier,
                                  .seed_is_drawn = !options.seed.has_value()};
  VerdictCache tried(cache);  // a pool of judges opens it for itself
  if (const std::string warning = tried.TakeWarning(); !warning.empty())
    fmt::print(stderr, "tritogen: {}\n", warning);
  return tried.usable() ? std::optional(cache) : std::nullopt;
}

}  // namespace

void AddFp32Precision(CLI::App* app, Fp32Precision* precision) {
  app->add_option_function<std::string>(
         "--fp32-precision",
         [precision](const std::string& name) { *precision = ParseFp32Precision(name).value(); },
         "what float32 products may be computed in: ieee (default); tf32, as "
         "torch.backends.cuda.matmul.fp32_precision allows it; or pytorch, as PyTorch does unless it is told "
         "otherwise: convolutions and recurrent layers in TF32, matrix products in float32")
      ->check(CLI::IsMember({"ieee", "pytorch", "tf32"}));
}

void AddGpus(CLI::App* app, int* gpus) {
  app->add_option("--gpus", *gpus, "GPUs that judge, of one kind: candidates are shared out among them")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
}

void AddWeakJail(CLI::App* app, bool* allow_weak_jail) {
  app->add_flag("--allow-weak-jail", *allow_weak_jail,
                "run untrusted code although this kernel refuses parts of the jail (see ./tritogen doctor)");
}

void CommonOptions::AddTo(CLI::App* app) {
  auto* strict_flag = app->add_flag("--strict", strict, "all compute must run in Triton");
  app->add_flag("--hybrid", hybrid, "library calls are allowed and counted (default)")->excludes(strict_flag);
  AddFp32Precision(app, &fp32_precision);
  app->add_option("--device", device, "where candidates run")
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}))
      ->capture_default_str();
  AddGpus(app, &gpus);
  app->add_option("--seed", seed, "seed of inputs, weights and program order (default: drawn, and printed)")
      ->check(kSeed);
  app->add_option("--budget", budget_seconds, "seconds for one candidate")
      ->check(kSeconds)
      ->capture_default_str();
  app->add_option("--samples", timing_samples, "GPU: timed calls of the candidate, at the least")
      ->check(CLI::Range(5, 100000));
  app->add_option("--timing-seconds", timing_seconds,
                  "GPU: more samples are taken for so long, until the medians are known well")
      ->check(kSeconds);
  app->add_flag("--no-compile", no_compile,
                "GPU: do not time torch.compile beside the candidates (a batch never does)");
  app->add_flag("--json", json, "print JSON on stdout");
  app->add_option("--html", html, "write a report to this file: one self-contained page");
  app->add_flag("--no-cache", no_cache, "judge anew what earlier runs judged, and keep no verdicts");
  AddWeakJail(app, &allow_weak_jail);
}

std::optional<FoundGpu> CommonOptions::FindGpu() const {
  std::variant<FoundGpu, std::string> gpu = "the tile machine was asked for";
  if (device != "cpu") gpu = AskForGpu();
  if (auto* found = std::get_if<FoundGpu>(&gpu)) {
    if (const int there = static_cast<int>(found->uuids.size()); gpus > there) {
      throw UserError(
          fmt::format("--gpus {}: there {} only {} {}", gpus, there == 1 ? "is" : "are", there, found->name));
    }
    found->uuids.resize(gpus);
    return std::move(*found);
  }
  if (gpus > 1) throw UserError(fmt::format("--gpus {}: {}", gpus, std::get<std::string>(gpu)));
  if (device != "cuda") return std::nullopt;
  throw UserError(fmt::format("--device cuda: {}; --device cpu verifies on the tile machine",
                              std::get<std::string>(gpu)));
}

VerifyOptions CommonOptions::Verification(bool on_gpu, int threads, bool in_batch) const {
  return {.mode = strict ? Mode::kStrict : Mode::kHybrid,
          .fp32_precision = fp32_precision,
          .seed = seed ? *seed : SecretSeed(),
          .threads = threads,
          .budget_seconds = budget_seconds,
          .on_gpu = on_gpu,
          .timing_samples = timing_samples > 0 ? timing_samples
                            : in_batch         ? 10
                                               : 100,
          .timing_seconds = timing_seconds > 0 ? timing_seconds
                            : in_batch         ? 0.01
                                               : 1.0,
          .against_itself = against_itself};
}

Workers StartWorkers(const Environment& environment, const CommonOptions& options,
                     const std::optional<FoundGpu>& gpu, int judges) {
  Workers workers{.cache = OpenVerdictCache(options)};
  std::future<void> compiler_started;
  if (gpu) {
    workers.compiler = std::make_unique<cuda::KernelCompiler>(
        cuda::CompilerOptions{.python = environment.python,
                              .worker_folder = environment.root + "/worker",
                              .cache_folder = CacheFolder() / "kernels",
                              .allow_weak_jail = options.allow_weak_jail});
    compiler_started = std::async(std::launch::async, [&workers] {
      Gpu::LoadLibraries();
      workers.compiler->Start();
    });
  }
  workers.recorder = std::make_unique<Recorder>(
      RecorderOptions{.python = environment.python,
                      .worker_folder = environment.root + "/worker",
                      .allow_weak_jail = options.allow_weak_jail,
                      .capability = gpu ? gpu->target.capability : RecorderOptions().capability,
                      .wall_seconds = std::min(60.0, options.budget_seconds),
                      .workers = 1 + judges / kJudgesPerRecordingWorker,
                      .waits = false});
  if (compiler_started.valid()) compiler_started.get();
  if (gpu) workers.gpu = GpuTarget{gpu->name, gpu->target, workers.compiler.get(), gpu->uuids};
  return workers;
}

void AwaitWorkers(const Workers& workers, JudgePool* pool) {
  pool->Begin();
  workers.recorder->Require();
}

std::filesystem::path CacheFolder() {
  for (const auto& [variable, folder] :
       {std::pair("TRITOGEN_CACHE", ""), {"XDG_CACHE_HOME", "tritogen"}, {"HOME", ".cache/tritogen"}}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value == '/') return std::filesystem::path(value) / folder;
  }
  return std::filesystem::temp_directory_path() / fmt::format("tritogen-{}", getuid());
}

}  // namespace tritogen
