// A safetensors file: refused, or its tensors lie within it.
#include <cstdint>

#include "base/error.h"
#include "model/checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tritogen;
  // Mutated inputs would rarely keep the length right: half of them get it from the last '}'.
  std::string file(reinterpret_cast<const char*>(data), size);
  if (size > 8 && size % 2 == 0) {
    const size_t close = file.rfind('}');
    const uint64_t length = close == file.npos || close < 8 ? 0 : close - 7;
    file.replace(0, 8, reinterpret_cast<const char*>(&length), 8);
  }
  try {
    const auto contents = ParseSafetensors(file);
    size_t bytes = 0;
    for (const auto& [name, tensor] : contents.tensors) {
      TRITOGEN_CHECK(tensor.bytes.size() == TensorBytes(tensor.dtype, tensor.shape));
      bytes += tensor.bytes.size();
      FirstNonFinite(tensor);
    }
    TRITOGEN_CHECK(bytes <= file.size());
  } catch (const FormatError&) {
  }
  return 0;
}
