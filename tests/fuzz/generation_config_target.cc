// A generation_config.json: refused, or options that an engine takes.
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "engine/generation_config.h"
#include "engine/make_group.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tritogen;
  const RunnerLimits limits = {.block_tokens = 16,
                               .blocks = 16,
                               .slots = 4,
                               .prefill_tokens = 64,
                               .decode_rows = 4,
                               .context = 128,
                               .vocabulary = 100};
  GenerateOptions options;
  try {
    options = ParseGenerationConfig({reinterpret_cast<const char*>(data), size});
  } catch (const FormatError&) {
    return 0;
  }
  MakeGroup(
      1, {.prompt = {1, 2}, .options = options}, [](Chunk) {}, limits, nullptr);
  return 0;
}
