#include "runner/open_runner.h"

#include <fmt/format.h>

#include "base/error.h"
#include "cuda/driver.h"
#include "device/device_errors.h"
#include "model/model_folder.h"
#include "model/rope.h"
#include "runner/cpu_runner.h"
#include "runner/gpu_runner.h"
#include "runner/open_gpu.h"
#include "runner/tensor_parallel.h"

namespace tritogen {
namespace {

std::optional<at::ScalarType> ScalarTypeNamed(const std::string& name) {
  if (name == "float32") return at::kFloat;
  if (name == "bfloat16") return at::kBFloat16;
  if (name == "float16") return at::kHalf;
  return std::nullopt;  // auto, int8: as the files are
}

bool UsesGpu(const RunnerOptions& options) {
  std::string why;
  if (options.device == "cpu" || (options.device == "auto" && options.dtype == "int8")) return false;
  if (cuda::Driver::Load(&why) != nullptr) return true;
  if (options.device == "auto") return false;
  throw UserError(fmt::format("--device cuda: {}; --device cpu runs models, too", why));
}

GpuRunnerOptions GpuOptions(const RunnerOptions& options) {
  if (options.dtype == "int8")
    throw UserError("--dtype int8 is for one process on CPUs: give --device cpu, without --tensor-parallel");
  GpuRunnerOptions gpu{.context = options.context,
                       .cache_bytes = static_cast<int64_t>(options.cache_gib * 0x1p30),
                       .batch_invariant = options.batch_invariant,
                       .graphs = options.graphs,
                       .on_opening = options.on_opening};
  if (options.slots > 0) gpu.slots = options.slots;
  return gpu;
}

OpenedRunner OpenRanks(const std::filesystem::path& folder, const RunnerOptions& options) {
  const ModelConfig config = LoadModelConfig(folder / "config.json");
  CheckDivides(config, options.ranks.size);
  CheckContext(config, options.context);
  TensorParallelOptions parallel{.ranks = options.ranks,
                                 .cuda = options.device != "cpu",
                                 .compiler = options.compiler,
                                 .runner = GpuOptions(options),
                                 .on_lost = options.on_lost};
  if (!parallel.cuda && parallel.runner.cache_bytes == 0) parallel.runner.cache_bytes = kCacheBytesOnCpus;
  const auto dtype = ScalarTypeNamed(options.dtype);
  parallel.load = [=](const ModelPart& part, at::Device device) {
    return LoadDecoder(folder, dtype, device, part);
  };
  parallel.reload = [=](const ModelPart& part, DecoderWeights* weights) { ReadPart(folder, part, weights); };
  const bool cuda = parallel.cuda;
  return {.runner = MakeTensorParallelRunner(parallel), .overlaps = cuda};
}

OpenedRunner OpenGpuRunner(const std::filesystem::path& folder, const RunnerOptions& options) {
  const GpuRunnerOptions gpu = GpuOptions(options);
  CheckContext(LoadModelConfig(folder / "config.json"), options.context);
  const auto say = [&](const char* what) {
    if (options.on_opening) options.on_opening({what});
  };
  auto weights = NeedingDeviceMemory("the model's weights", "; does something else use the GPU?", [&] {
    say("opening the GPU");
    OpenGpu(options.compiler);
    say("reading the weights");
    return std::make_shared<const DecoderWeights>(
        LoadDecoder(folder, ScalarTypeNamed(options.dtype), at::Device(at::kCUDA, 0)));
  });
  return {.runner = MakeGpuRunner(std::move(weights), gpu), .overlaps = true};
}

}  // namespace

OpenedRunner OpenRunner(const std::filesystem::path& folder, const RunnerOptions& options) {
  if (options.ranks.size > 1) return OpenRanks(folder, options);
  if (UsesGpu(options)) return OpenGpuRunner(folder, options);
  CpuRunnerOptions cpu{.int8_weights = options.dtype == "int8",
                       .cache_bytes = static_cast<int64_t>(options.cache_gib * 0x1p30),
                       .context = options.context};
  if (options.slots > 0) {
    cpu.slots = options.slots;
    cpu.decode_rows = std::max(cpu.decode_rows, options.slots);
  }
  CheckContext(LoadModelConfig(folder / "config.json"), options.context);
  auto weights =
      std::make_shared<const DecoderWeights>(LoadDecoder(folder, ScalarTypeNamed(options.dtype), at::kCPU));
  return {.runner = MakeCpuRunner(std::move(weights), cpu)};
}

}  // namespace tritogen
