// Faults as exceptions inside a launch: an instruction throws, the machine turns it into
// LaunchReport::faults.
#pragma once

#include <fmt/format.h>

#include <string>

#include "tile/program.h"
#include "tile/tile.h"

namespace tritogen::tile {

struct FaultError {
  Fault fault;
};

// "store in `kernel` line 14, program (3,0,0)": where an instruction stands.
std::string Where(const Context& c, const Instruction& instruction, std::string_view verb);

// The message becomes "<verb> in `kernel` line n, program (x,y,z): <what>".
[[noreturn]] void Fail(const Context& c, const Instruction& instruction, FaultKind kind,
                       std::string_view verb, std::string what, std::string buffer = "", int64_t offset = 0);
[[noreturn]] inline void FailUndefined(const Context& c, const Instruction& instruction, std::string what) {
  Fail(c, instruction, FaultKind::kUndefinedBehaviour, "undefined behaviour", std::move(what));
}

}  // namespace tritogen::tile
