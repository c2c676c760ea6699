// Reads a Program from the text that PrintProgram writes, or from a flat function of the same form that
// somebody wrote: one call a line, names and literals as arguments, shapes of the parameters in comments.
// docs/programs.md has the grammar. The text is untrusted.
#pragma once

#include <string_view>

#include "program/program.h"

namespace tritogen {

// ParseProgram(PrintProgram(p)) is p with the arguments of every call in their shortest form and with
// operations named as printed; printing it again gives the same text. Shapes of results are those of the
// catalogue's rules, for operators that it does not know those in the comments. Throws FormatError with the
// line for anything else: syntax, names that are not there, calls that PyTorch would refuse, comments that
// contradict the rules.
Program ParseProgram(std::string_view text);

}  // namespace tritogen
