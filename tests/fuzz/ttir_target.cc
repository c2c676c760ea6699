// Any text is a module or a TtirError.
#include <string_view>

#include "tile/ir.h"
#include "tile/tile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    tritogen::tile::ParseTtir({reinterpret_cast<const char*>(data), size});
  } catch (const tritogen::tile::TtirError&) {
  }
  return 0;
}
