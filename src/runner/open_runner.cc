#include "runner/open_runner.h"

#include <fmt/format.h>

#include "base/error.h"
#include "model/model_folder.h"
#include "runner/cpu_runner.h"

namespace tritogen {
namespace {

std::optional<at::ScalarType> ScalarTypeNamed(const std::string& name) {
  if (name == "float32") return at::kFloat;
  if (name == "bfloat16") return at::kBFloat16;
  if (name == "float16") return at::kHalf;
  return std::nullopt;  // auto, int8: as the files are
}

}  // namespace

OpenedRunner OpenRunner(const std::filesystem::path& folder, const RunnerOptions& options) {
  if (options.device == "cuda")
    throw UserError("--device cuda: there is no runner for GPUs yet; --device cpu works");
  CpuRunnerOptions cpu{.int8_weights = options.dtype == "int8",
                       .cache_bytes = static_cast<int64_t>(options.cache_gib * 0x1p30),
                       .context = options.context};
  if (options.slots > 0) {
    cpu.slots = options.slots;
    cpu.decode_rows = std::max(cpu.decode_rows, options.slots);
  }
  auto weights =
      std::make_shared<const DecoderWeights>(LoadDecoder(folder, ScalarTypeNamed(options.dtype), at::kCPU));
  return {.runner = MakeCpuRunner(std::move(weights), cpu)};
}

}  // namespace tritogen
