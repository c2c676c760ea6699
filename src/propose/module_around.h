// From an answer to a canonical program to a candidate for the file that the program came from.
#pragma once

#include <optional>
#include <string>

#include "propose/proposer.h"

namespace tritogen {

// A file whose ModelNew calls a function, or a module without state called ModelNew, that takes the canonical
// program's arguments: tensors among forward's arguments, then parameters and buffers by their names, and
// constants, which become buffers. Nothing where a constant cannot be written down (or there is no reference
// that knows its values) or state has no name.
std::optional<std::string> ModuleAround(const std::string& code, const std::string& function,
                                        const ProposeRequest& request);

// Why there is none, as Candidate::no_answer says it.
inline constexpr const char* kNoModule =
    "no_module: the program has constants that are too long to write down, or state without a name: a "
    "function cannot be given them";

// The same for code that defines such a ModelNew: itself, where the reference's constructor and forward take
// nothing else either.
std::optional<std::string> FileOf(const std::string& code, const ProposeRequest& request);

}  // namespace tritogen
