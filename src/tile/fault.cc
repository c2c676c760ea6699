#include "tile/fault.h"

#include "tile/machine.h"

namespace tritogen::tile {

std::string Where(const Context& c, const Instruction& instruction, std::string_view verb) {
  return fmt::format("{} in `{}` line {}, program ({},{},{})", verb, c.launch->kernel().name,
                     instruction.line, c.id[0], c.id[1], c.id[2]);
}

void Fail(const Context& c, const Instruction& instruction, FaultKind kind, std::string_view verb,
          std::string what, std::string buffer, int64_t offset) {
  throw FaultError{{kind, Where(c, instruction, verb) + ": " + std::move(what), instruction.line, c.id,
                    std::move(buffer), offset}};
}

}  // namespace tritogen::tile
