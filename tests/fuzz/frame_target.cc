// Any bytes are one frame or a FormatError.
#include <string_view>

#include "base/error.h"
#include "base/frame.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    tritogen::DecodeFrame({reinterpret_cast<const char*>(data), size});
  } catch (const tritogen::FormatError&) {
  }
  return 0;
}
