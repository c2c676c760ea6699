// A config.json: refused, or a model whose tensors can be listed and which is written and read back.
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "model/rope.h"
#include "model/weights.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tritogen;
  try {
    const ModelConfig config = ParseModelConfig({reinterpret_cast<const char*>(data), size});
    for (const auto& tensor : ExpectedTensors(config)) TensorBytes(Dtype::kFloat32, tensor.shape);
    MakeRopeTable(config, 100'000);
    const std::string written = WriteModelConfig(config, "float32");
    TRITOGEN_CHECK(WriteModelConfig(ParseModelConfig(written), "float32") == written);
  } catch (const FormatError&) {
  }
  return 0;
}
