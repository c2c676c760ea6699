#include "judge/options_json.h"

#include "base/error.h"

namespace tritogen {

nlohmann::json ToJson(const VerifyOptions& options) {
  return {{"strict", options.mode == Mode::kStrict},
          {"fp32_precision", Name(options.fp32_precision)},
          {"seed", options.seed},
          {"threads", options.threads},
          {"budget_seconds", options.budget_seconds},
          {"memory_bytes", options.memory_bytes},
          {"on_gpu", options.on_gpu},
          {"timing_samples", options.timing_samples},
          {"timing_seconds", options.timing_seconds},
          {"against_itself", options.against_itself}};
}

VerifyOptions OptionsFromJson(const nlohmann::json& json) {
  VerifyOptions options;
  options.mode = json.at("strict") ? Mode::kStrict : Mode::kHybrid;
  const auto precision = ParseFp32Precision(json.at("fp32_precision").get<std::string>());
  if (!precision) throw FormatError("fp32_precision is none of ieee, pytorch, tf32");
  options.fp32_precision = *precision;
  options.seed = json.at("seed");
  options.threads = json.at("threads");
  options.budget_seconds = json.at("budget_seconds");
  options.memory_bytes = json.at("memory_bytes");
  options.on_gpu = json.at("on_gpu");
  options.timing_samples = json.at("timing_samples");
  options.timing_seconds = json.at("timing_seconds");
  options.against_itself = json.at("against_itself");
  return options;
}

}  // namespace tritogen
