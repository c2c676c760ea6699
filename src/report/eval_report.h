// One self-contained page on an evaluation: pass@k, what failed and why, operators, strategies. No script, no
// network, light and dark.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace tritogen {

// `summary`: what `eval` writes (docs/formats/eval.md). What is missing in it is missing on the page.
std::string RenderEvalReport(const std::string& name, const nlohmann::ordered_json& summary,
                             const std::vector<std::string>& versions);

}  // namespace tritogen
