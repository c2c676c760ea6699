// From the size of an element to a type that C++ code can use.
#pragma once

#include <cstdint>

namespace tritogen::tile {

// Calls `body` with a value of the unsigned integer of 1, 2, 4 or 8 bytes.
template <class Body>
auto WithWord(int64_t bytes, Body&& body) {
  switch (bytes) {
    case 1:
      return body(uint8_t{});
    case 2:
      return body(uint16_t{});
    case 4:
      return body(uint32_t{});
    default:
      return body(uint64_t{});
  }
}

}  // namespace tritogen::tile
