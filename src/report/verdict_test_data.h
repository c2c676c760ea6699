// Verdicts in their JSON form (docs/formats/verdict.md) for the tests of what commands and reports show.
#pragma once

#include <nlohmann/json.hpp>

namespace tritogen {

inline nlohmann::json PassedVerdict() {
  return nlohmann::json::parse(R"({
    "verdict": "passed", "reason": "right in 8 trials", "rule": null, "evidence": {},
    "work_share": {"flops": 1.0, "bytes": 0.75, "share": 0.75}, "max_error": 2.5e-4, "error_budget": 4e-4,
    "outputs": [
      {"output": 0, "error": 1e-7, "eager_error": 1e-7, "budget": 1e-5, "allclose": 1.0, "trial": "generated",
       "budget_used": {"generated": 0.01, "spread": 0.002, "binary": 0}},
      {"output": 1, "error": 2.5e-4, "eager_error": 2e-4, "budget": 4e-4, "allclose": 1.0, "trial": "spread",
       "budget_used": {"generated": 0.25, "spread": 0.625, "binary": 0}}],
    "seed": 7, "plan_hash": "00ff", "notes": ["inputs were hardened"], "seconds": 0.42})");
}

inline nlohmann::json TimedVerdict() {
  nlohmann::json verdict = PassedVerdict();
  verdict["timing"] = nlohmann::json::parse(R"({
    "device": "NVIDIA H200", "driver": "580.159.04", "method": "graph",
    "candidate": {"median_us": 12.34, "q1_us": 12.1, "q3_us": 12.6, "samples_us": [12.0, 12.1, 12.34, 12.6, 13.0],
                  "graph_median_us": 12.34, "replay_median_us": 14.5},
    "baselines": [
      {"name": "eager fp32", "median_us": 22.27, "q1_us": 22.0, "q3_us": 22.5, "samples_us": [22.0, 22.27, 22.5],
       "graph_median_us": null, "replay_median_us": 22.27},
      {"name": "torch.compile", "median_us": 13.0, "q1_us": 12.9, "q3_us": 13.2, "samples_us": [12.9, 13.0, 13.2],
       "graph_median_us": 13.0, "replay_median_us": 19.0,
       "own_process": {"method": "graph", "eager": "eager fp32", "eager_median_us": 22.4, "compile_seconds": 6.5, "torch": "2.11.0", "triton": "3.6.0"}}],
    "speedup": {"eager fp32": 1.805, "torch.compile": 1.053}, "floor_us": 7.0, "floor_bound": "bytes",
    "flops": 1.2e8, "bytes": 3.36e7, "peak_flops": 5.1e13, "peak_bytes_per_s": 4.8e12,
    "clocks": {"sm_mhz": [1965, 1980, 1980], "memory_mhz": [3201, 3201, 3201], "throttle": ["sw_power_cap"]},
    "variants": [{"variant": 0, "median_us": 14.0}, {"variant": 1, "median_us": 12.34}]})");
  return verdict;
}

inline nlohmann::json FailedVerdict() {
  return nlohmann::json::parse(R"({
    "verdict": "runtime_error", "reason": "line 3: no luck", "rule": null,
    "evidence": {"line": 3, "trace": "Traceback:\n  no luck"},
    "work_share": {"flops": 0.0, "bytes": 0.0, "share": 0.0}, "max_error": null, "error_budget": null,
    "outputs": [], "seed": 7, "plan_hash": null, "notes": [], "seconds": 0.1})");
}

}  // namespace tritogen
