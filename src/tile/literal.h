// Constants of TTIR text as bit patterns.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tile/ir.h"

namespace tritogen::tile {

class Lexer;

// Decimal digits or 0x…; nothing when it does not fit in 64 bits.
std::optional<uint64_t> ParseMagnitude(std::string_view digits);

// Reads `16`, `-1.5e+00`, `0x7F800000`, `true` as bits of `elem`, from the lexer's next tokens. Throws
// TtirError when the literal does not fit the type.
uint64_t ReadScalarBits(Lexer& lexer, Elem elem);

// What stands between the brackets of dense<…>: one scalar for all elements, nested lists, or "0x…" with raw
// bytes. `line` is that of the text, for errors. Throws TtirError.
ConstantBits ReadDense(std::string_view inside, const Type& type, int line);

}  // namespace tritogen::tile
