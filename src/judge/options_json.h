// Options of a verification on their way between processes of the same program.
#pragma once

#include <nlohmann/json.hpp>

#include "verify/verifier.h"

namespace tritogen {

// Without the fields that are of a task: who makes the task chooses those.
nlohmann::json ToJson(const VerifyOptions& options);
VerifyOptions OptionsFromJson(const nlohmann::json& json);  // throws json::exception

}  // namespace tritogen
