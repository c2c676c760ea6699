// Record: one program with one answer, and what the verifier said of it. A data set's shards hold one a line
// (docs/formats/data.md). What differs from machine to machine (times, measured errors) is not part of it, so
// that a set can be rebuilt byte for byte.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace tritogen::data {

struct Record {
  // The task. `draw` counts the set's programs, whether they were answered or not.
  int64_t draw = 0;
  uint64_t seed = 0;      // of the set
  std::string program;    // canonical text, as PrintProgram writes it
  std::string reference;  // PyTorch file that is judged against: Model, get_inputs, get_init_inputs
  std::string fingerprint, graph_fingerprint;
  std::string split;                         // "train" or "test", by fingerprint
  int level = 0;                             // compute operations
  std::vector<std::string> ops;              // catalogue names, in order
  std::vector<std::string> inputs, outputs;  // "float32[128, 256]"
  double flops = 0, bytes = 0;

  // The answer; empty before a teacher was asked. (draw, answer) is unique in a set.
  int answer = 0;
  std::string teacher, strategy;
  std::string thoughts;  // what a model wrote before its answer; the built-in teacher has none
  std::string plan;      // in words: access pattern, launch, load-compute-store, wrapper
  std::string source;    // complete Python file
  std::string entry = "ModelNew";

  // The verdict; empty before it was judged.
  std::string verdict;  // "passed", …
  std::string reason, rule;
  double work_flops = 0, work_bytes = 0;  // shares of the reference's work done in Triton, 0 to 1
  std::string plan_hash;

  // What stages found out: label → value. "difficulty": 3
  nlohmann::ordered_json labels = nlohmann::ordered_json::object();

  // In memory only.
  std::shared_ptr<const Program> parsed;  // of `program`
  nlohmann::json full_verdict;            // docs/formats/verdict.md, with times and errors
  std::string dropped;                    // not empty: why the record goes no further: "verdict wrong_values"

  std::string id() const;  // "1234-2"
};

// One line without its line break. REQUIRES: all text is UTF-8.
std::string ToLine(const Record& record);
// What ToLine gave. Throws FormatError for anything else.
Record FromLine(std::string_view line);

}  // namespace tritogen::data
