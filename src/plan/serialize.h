// Writes a Plan as the map of docs/formats/plan.md, the inverse of ParsePlan.
#pragma once

#include <functional>

#include <nlohmann/json.hpp>

#include "plan/plan.h"

namespace tritogen {

// Data of constants becomes binary, so MessagePack keeps it compact; JSON text has no infinities and no NaN.
nlohmann::json ToJson(const Plan& plan);

// One value, with what `of_tensor` makes of each tensor in it.
nlohmann::json ToJson(const Value& value, const std::function<nlohmann::json(TensorId)>& of_tensor);

// A kernel's options; flags only where they differ from Triton's defaults.
nlohmann::json ToJson(const KernelOptions& options);

}  // namespace tritogen
