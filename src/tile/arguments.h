// Launch arguments → bytes of the kernel's parameters.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tile/program.h"
#include "tile/tile.h"

namespace tritogen::tile {

// Writes the arguments into a copy of the kernel's image; sets (*buffer_of_parameter)[i] to the buffer that
// parameter i points to, -1 for others. Throws TtirError when the arguments do not fit.
std::vector<std::byte> BindArguments(const Executable& kernel, std::span<const Argument> arguments,
                                     size_t buffers, std::vector<int>* buffer_of_parameter);

}  // namespace tritogen::tile
