// What a program was tried on, and how much of its error budget it used there.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace tritogen::report {

// One row a distribution of inputs, the one closest to its budget first; of several outputs the largest
// share. `outputs` as in a verdict (docs/formats/verdict.md). Empty where nothing was compared.
std::string InputsTable(const nlohmann::json& outputs);

}  // namespace tritogen::report
