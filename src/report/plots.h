// The figures of a report, as SVG with their legends. Each takes a part of a verdict
// (docs/formats/verdict.md) and gives nothing when there is nothing to draw.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace tritogen::report {

// How far each output is from the exact answer, beside the eager program's own error and the budget.
std::string ErrorPlot(const nlohmann::json& outputs);
// How long candidate and baselines take: samples, quartiles, median.
std::string TimePlot(const nlohmann::json& timing);
// Where the candidate stands under the device's roof.
std::string RooflinePlot(const nlohmann::json& timing);

}  // namespace tritogen::report
