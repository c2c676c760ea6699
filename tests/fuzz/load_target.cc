// Any text can be lowered for the tile machine, or is a TtirError.
#include <string_view>

#include "tile/tile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    auto kernel = tritogen::tile::Load({reinterpret_cast<const char*>(data), size});
    tritogen::tile::Parameters(*kernel);
    tritogen::tile::Inspect(*kernel);
  } catch (const tritogen::tile::TtirError&) {
  }
  return 0;
}
