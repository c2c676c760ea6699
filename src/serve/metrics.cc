#include "serve/metrics.h"

#include <fmt/format.h>

#include <algorithm>

namespace tritogen::serve {
namespace {

constexpr double kFirstTokenBounds[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
constexpr double kBetweenBounds[] = {0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28};
constexpr double kRequestBounds[] = {0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600};

void Head(std::string_view name, std::string_view help, std::string_view type, std::string* out) {
  *out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

struct Value {
  std::string_view name, help, type;
  int64_t value;
};

void Print(const Value& value, std::string* out) {
  Head(value.name, value.help, value.type, out);
  *out += fmt::format("{} {}\n", value.name, value.value);
}

}  // namespace

Histogram::Histogram(std::span<const double> bounds)
    : bounds_(bounds.begin(), bounds.end()), counts_(bounds.size() + 1) {}

void Histogram::Add(double value, int64_t times) {
  counts_[std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin()] += times;
  sum_ += value * static_cast<double>(times);
}

void Histogram::Print(std::string_view name, std::string_view help, std::string* out) const {
  Head(name, help, "histogram", out);
  int64_t below = 0;
  for (size_t i = 0; i < bounds_.size(); ++i) {
    below += counts_[i];
    *out += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, bounds_[i], below);
  }
  below += counts_.back();
  *out += fmt::format("{}_bucket{{le=\"+Inf\"}} {}\n{}_sum {}\n{}_count {}\n", name, below, name, sum_, name,
                      below);
}

Metrics::Metrics()
    : first_token_(kFirstTokenBounds), between_tokens_(kBetweenBounds), request_seconds_(kRequestBounds) {}

std::string Metrics::Text(const EngineStats& engine, const Gauges& gauges) const {
  std::string out;
  Head("tritogen_requests_total", "HTTP requests by endpoint and status; 499: the client left.", "counter",
       &out);
  for (const auto& [key, count] : requests_) {
    out += fmt::format("tritogen_requests_total{{endpoint=\"{}\",status=\"{}\"}} {}\n", key.first, key.second,
                       count);
  }
  const Value values[] = {
      {"tritogen_connections", "Open connections.", "gauge", gauges.connections},
      {"tritogen_sequences_open", "Sequences given to the engine that have not ended.", "gauge",
       gauges.open_sequences},
      {"tritogen_sequences_running", "Sequences that the engine works on.", "gauge", engine.running},
      {"tritogen_sequences_waiting", "Sequences that wait for the engine.", "gauge", engine.waiting},
      {"tritogen_cache_blocks", "Blocks of the cache of keys and values.", "gauge", engine.blocks},
      {"tritogen_cache_blocks_used", "Blocks of running sequences.", "gauge", engine.blocks_used},
      {"tritogen_prompt_tokens_total", "Tokens of prompts.", "counter", engine.prompt_tokens},
      {"tritogen_cached_prompt_tokens_total", "Tokens of prompts that were found in the cache.", "counter",
       engine.cached_prompt_tokens},
      {"tritogen_generated_tokens_total", "Tokens generated.", "counter", engine.generated_tokens},
      {"tritogen_engine_steps_total", "Steps of the engine.", "counter", engine.steps},
      {"tritogen_preemptions_total", "Sequences put off for want of blocks.", "counter", engine.preemptions},
      {"tritogen_engine_requests_finished_total", "The engine's requests that came to their end.", "counter",
       engine.requests_finished},
      {"tritogen_engine_requests_cancelled_total", "The engine's requests that were cancelled.", "counter",
       engine.requests_cancelled},
      {"tritogen_engine_requests_failed_total", "The engine's requests that failed.", "counter",
       engine.requests_failed},
  };
  for (const Value& value : values) Print(value, &out);
  first_token_.Print("tritogen_time_to_first_token_seconds", "From a request's arrival to its first token.",
                     &out);
  between_tokens_.Print("tritogen_inter_token_seconds", "Between two tokens of a sequence.", &out);
  request_seconds_.Print("tritogen_request_seconds", "From a request's arrival to the end of its answer.",
                         &out);
  return out;
}

}  // namespace tritogen::serve
