// One self-contained page on a data set: what it holds, what became of what was drawn for it. No script, no
// network, light and dark.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace tritogen {

// `stats`: what data::StatsOf gives (docs/formats/data.md). What is missing in it is missing on the page.
std::string RenderDataReport(const std::string& name, const nlohmann::ordered_json& stats,
                             const std::vector<std::string>& versions);

}  // namespace tritogen
