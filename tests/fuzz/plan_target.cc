// Any MessagePack value is a Plan or a FormatError.
#include <string_view>

#include "base/error.h"
#include "base/frame.h"
#include "plan/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    tritogen::ParsePlan(tritogen::DecodeMessagePack({reinterpret_cast<const char*>(data), size}));
  } catch (const tritogen::FormatError&) {
  }
  return 0;
}
