#include "cli/verdict_view.h"

#include <fmt/format.h>

#include <cmath>

namespace tritogen {

using nlohmann::json;

std::string TextIn(const json& verdict, const char* key) {
  const json value = verdict.value(key, json());
  return value.is_string() ? value.get<std::string>() : std::string();
}

double WorkShareIn(const json& verdict) {
  return verdict.value("/work_share/share"_json_pointer, 0.0);
}

json WorstOutputIn(const json& verdict) {
  for (const json& output : verdict.value("outputs", json::array())) {
    if (output.at("error") == verdict.at("max_error") && output.at("budget") == verdict.at("error_budget"))
      return output;
  }
  return json::object();
}

namespace {

std::optional<double> TimingNumber(const json& verdict, const json::json_pointer& path) {
  const json timing = verdict.value("timing", json());
  if (!timing.contains(path) || !timing.at(path).is_number()) return std::nullopt;
  return timing.at(path).get<double>();
}

}  // namespace

std::optional<double> MedianMicrosecondsIn(const json& verdict) {
  return TimingNumber(verdict, "/candidate/median_us"_json_pointer);
}

std::optional<double> SpeedupIn(const json& verdict, const std::string& baseline) {
  return TimingNumber(verdict, json::json_pointer("/speedup") / baseline);
}

int BestVariantIn(const json& verdict) {
  const json timing = verdict.value("timing", json());
  const json variants = timing.is_object() ? timing.value("variants", json::array()) : json::array();
  int best = 0;
  double best_median = HUGE_VAL;
  for (const json& variant : variants) {
    const double median = variant.at("median_us");
    if (median >= best_median) continue;
    best = variant.at("variant");
    best_median = median;
  }
  return best;
}

std::string NumberIn(const json& object, const char* key) {
  const json value = object.value(key, json());
  return value.is_number() ? fmt::format("{:.2e}", value.get<double>()) : "-";
}

}  // namespace tritogen
