// Reads a Plan from its map (docs/formats/plan.md). The map is hostile: everything that plan.h promises is
// checked here.
#pragma once

#include <nlohmann/json.hpp>

#include "plan/plan.h"

namespace tritogen {

// Throws FormatError that names the place ("run[3].args[1]: …"). Memory stays within a small multiple of the
// map's own.
Plan ParsePlan(const nlohmann::json& map);

}  // namespace tritogen
