#include "report/verdict_view.h"

#include <fmt/format.h>

#include <cmath>

#include "base/fp32_precision.h"

namespace tritogen {

using nlohmann::json;

namespace {

// What stands under a key of an object; null otherwise.
json Field(const json& object, const char* key) {
  return object.is_object() ? object.value(key, json()) : json();
}

std::optional<double> NumberAtPointer(const json& object, const json::json_pointer& path) {
  if (!object.is_structured() || !object.contains(path) || !object.at(path).is_number()) return std::nullopt;
  return object.at(path).get<double>();
}

Fp32Precision ContractOf(const json& verdict) {
  return ParseFp32Precision(TextIn(verdict, "fp32_precision")).value_or(Fp32Precision::kIeee);
}

}  // namespace

std::string TextIn(const json& object, const char* key) {
  const json value = Field(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::optional<double> NumberAt(const json& object, const char* path) {
  return NumberAtPointer(object, json::json_pointer(path));
}

std::string NumberIn(const json& object, const char* key) {
  const json value = Field(object, key);
  return value.is_number() ? fmt::format("{:.2e}", value.get<double>()) : "-";
}

double WorkShareIn(const json& verdict) {
  return NumberAt(verdict, "/work_share/share").value_or(0);
}

json WorstOutputIn(const json& verdict) {
  for (const json& output : Field(verdict, "outputs")) {
    if (Field(output, "error") == Field(verdict, "max_error") &&
        Field(output, "budget") == Field(verdict, "error_budget"))
      return output;
  }
  return json::object();
}

std::optional<double> MedianMicrosecondsIn(const json& verdict) {
  return NumberAt(verdict, "/timing/candidate/median_us");
}

std::string EagerIn(const json& verdict) {
  return std::string(EagerName(ContractOf(verdict)));
}

std::string EagerInWords(const json& verdict) {
  switch (ContractOf(verdict)) {
    case Fp32Precision::kIeee:
      return "eager PyTorch in fp32";
    case Fp32Precision::kPytorch:
      return "eager PyTorch as it is by default";
    case Fp32Precision::kTf32:
      break;
  }
  return "eager PyTorch in TF32";
}

std::optional<double> SpeedupIn(const json& verdict, const std::string& baseline) {
  return NumberAtPointer(verdict, json::json_pointer("/timing/speedup") / baseline);
}

int BestVariantIn(const json& verdict) {
  int best = 0;
  double best_median = HUGE_VAL;
  for (const json& variant : Field(Field(verdict, "timing"), "variants")) {
    const double median = NumberAt(variant, "/median_us").value_or(HUGE_VAL);
    if (median >= best_median) continue;
    best = static_cast<int>(NumberAt(variant, "/variant").value_or(0));
    best_median = median;
  }
  return best;
}

}  // namespace tritogen
