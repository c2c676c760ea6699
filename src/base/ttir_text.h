// What can be said of TTIR without parsing it.
#pragma once

#include <string>
#include <string_view>

namespace tritogen {

// Text without locations and `#loc` lines: what two equal kernels from different files share. Never throws.
std::string StripLocations(std::string_view text);

}  // namespace tritogen
