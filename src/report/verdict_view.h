// Reads what commands and reports show from a Verdict's JSON form (docs/formats/verdict.md), which is how
// verdicts leave the judges. Fields that are missing or of another type read as null.
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace tritogen {

// The text of a field; empty when it is null.
std::string TextIn(const nlohmann::json& object, const char* key);
// The number at a path ("/work_share/share").
std::optional<double> NumberAt(const nlohmann::json& object, const char* path);
// A number with three digits, "-" for null.
std::string NumberIn(const nlohmann::json& object, const char* key);
// Share of the reference's work that runs in Triton, 0 to 1.
double WorkShareIn(const nlohmann::json& verdict);
// The output that came closest to its budget or exceeded it most; an empty object when nothing ran.
nlohmann::json WorstOutputIn(const nlohmann::json& verdict);
// Median time of the candidate where a GPU timed it.
std::optional<double> MedianMicrosecondsIn(const nlohmann::json& verdict);
// The baseline that is eager PyTorch under the verdict's contract (EagerName).
std::string EagerIn(const nlohmann::json& verdict);
std::string EagerInWords(const nlohmann::json& verdict);  // "eager PyTorch in fp32"
// How many times as fast as a baseline it is.
std::optional<double> SpeedupIn(const nlohmann::json& verdict, const std::string& baseline);
// Which variant of its autotuned launches was the fastest; 0, the first, where nothing was timed.
int BestVariantIn(const nlohmann::json& verdict);

}  // namespace tritogen
