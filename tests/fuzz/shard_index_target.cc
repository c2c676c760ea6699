// A model.safetensors.index.json: refused, or names of files in the model's folder that messages may show.
#include "base/error.h"
#include "base/utf8.h"
#include "model/checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tritogen;
  try {
    for (const auto& [tensor, file] : ParseShardIndex({reinterpret_cast<const char*>(data), size})) {
      TRITOGEN_CHECK(file.ends_with(".safetensors") && file.find('/') == file.npos && file.size() <= 255);
      for (const char c : file) TRITOGEN_CHECK(static_cast<unsigned char>(c) >= ' ' && c != 0x7f);
      TRITOGEN_CHECK(IsUtf8(tensor) && IsUtf8(file));
    }
  } catch (const FormatError&) {
  }
  return 0;
}
