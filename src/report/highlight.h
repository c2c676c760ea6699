// A Python source as numbered lines with quiet colours.
#pragma once

#include <string>
#include <string_view>

namespace tritogen::report {

// The inside of a <pre>: one <span class="line"> a line, "marked" for `marked_line` (counted from 1; 0:
// none).
std::string HighlightPython(std::string_view source, int marked_line = 0);

}  // namespace tritogen::report
