// What can be said of TTIR without parsing it.
#pragma once

#include <string>
#include <string_view>

namespace tritogen {

// Text without locations, `#loc` lines and comments: what two equal kernels from different files share. Never
// throws. Two texts that the tile machine runs differently differ here as well, hostile ones included:
// verdicts are kept, modules shipped and kernels compiled by what is left.
std::string StripLocations(std::string_view text);

}  // namespace tritogen
