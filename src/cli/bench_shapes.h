// Shapes of models that the engine is measured with.
#pragma once

#include <string>
#include <vector>

#include "model/config.h"

namespace tritogen {

std::vector<std::string> BenchShapeNames();
ModelConfig BenchShape(const std::string& name);  // REQUIRES: one of the names

}  // namespace tritogen
