// What the server counts, in Prometheus' text format (version 0.0.4).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/engine.h"

namespace tritogen::serve {

// Counts of values by upper bounds.
class Histogram {
 public:
  // `bounds` rise; what is greater than the last falls into +Inf.
  explicit Histogram(std::span<const double> bounds);
  void Add(double value, int64_t times = 1);
  // name_bucket, name_sum and name_count, with their head.
  void Print(std::string_view name, std::string_view help, std::string* out) const;

 private:
  std::vector<double> bounds_;
  std::vector<int64_t> counts_;  // one more than bounds
  double sum_ = 0;
};

// One thread.
class Metrics {
 public:
  Metrics();
  // `endpoint` is a path that the server has, or "other". 499: the client left before there was a status.
  void CountRequest(std::string_view endpoint, int status) { ++requests_[{std::string(endpoint), status}]; }
  void AddFirstToken(double seconds) { first_token_.Add(seconds); }
  void AddBetweenTokens(double seconds, int64_t times) { between_tokens_.Add(seconds, times); }
  void AddRequestSeconds(double seconds) { request_seconds_.Add(seconds); }

  struct Gauges {
    int64_t connections = 0;
    int64_t open_sequences = 0;  // given to the engine, not ended: those that wait to be taken up included
  };
  std::string Text(const EngineStats& engine, const Gauges& gauges) const;

 private:
  std::map<std::pair<std::string, int>, int64_t> requests_;  // (endpoint, status) → how many
  Histogram first_token_, between_tokens_, request_seconds_;
};

}  // namespace tritogen::serve
