// Tally: what became of programs and answers, by reason.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <string>

#include "data/record.h"

namespace tritogen::data {

struct Tally {
  using Counts = std::map<std::string, int64_t>;

  int64_t programs = 0;       // drawn
  int64_t answered = 0;       // of these, with an answer at least
  int64_t kept_programs = 0;  // with a record at least
  int64_t answers = 0;        // judged
  int64_t passed = 0;
  int64_t records = 0;                          // kept
  Counts dropped;                               // reason → programs without answer, answers
  std::map<std::string, std::string> examples;  // reason → what the first one was, in words
  // "3" or "relu" → outcome → answers. Outcomes are verdicts, and "no answer" for a program without one.
  std::map<std::string, Counts> levels, operators;

  // Counts an outcome under the record's level and each of its operators.
  void Count(const Record& record, const std::string& outcome);
  void Drop(const Record& record);  // by its reason
  void Add(const Tally& other);
};

nlohmann::ordered_json ToJson(const Tally& tally);
Tally TallyFrom(const nlohmann::json& json);  // throws FormatError

}  // namespace tritogen::data
