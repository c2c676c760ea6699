#include "tile/lower.h"
#include "tile/tile.h"

namespace tritogen::tile {

std::shared_ptr<const Executable> Load(std::string_view ttir) {
  const Module module = ParseTtir(ttir);
  return Lowering(module).Run();
}

std::vector<Parameter> Parameters(const Executable& kernel) {
  return kernel.public_parameters;
}

Features Inspect(const Executable& kernel) {
  return kernel.features;
}

}  // namespace tritogen::tile
