// CRC-32C (Castagnoli; RFC 3720 B.4): whether bytes are those that were written. Against accidents, not
// against people.
#pragma once

#include <cstdint>
#include <string_view>

namespace tritogen {

// `crc`: of the bytes before these.
uint32_t Crc32c(std::string_view bytes, uint32_t crc = 0);

}  // namespace tritogen
