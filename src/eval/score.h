// From results to scores: pass@k, fast_p, failures by reason, operators, strategies.
#pragma once

#include <nlohmann/json.hpp>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "eval/estimate.h"

namespace tritogen::eval {

// Of one proposer over some tasks.
class Cell {
 public:
  // One task's answers; answers that mend others stand behind them.
  struct Answers {
    int64_t samples = 0, passed = 0, mended = 0;  // mended: samples whose repair passed
    int64_t repairs = 0;
    std::vector<double> speedups;  // over eager PyTorch, of those that passed and were timed
    std::set<std::string> plans;   // hashes of those that passed
  };
  void Add(const Answers& answers);
  nlohmann::ordered_json ToJson() const;

 private:
  std::vector<Answers> tasks_;
};

// Adds results up, a line at a time. Lines that are no results are refused by Add.
class Score {
 public:
  // A line as ResultOf writes it. Throws FormatError for anything else.
  void Add(const nlohmann::json& result);
  // docs/formats/eval.md
  nlohmann::ordered_json ToJson() const;
  int64_t tasks() const { return tasks_; }

 private:
  struct OfProposer {
    Cell all;
    std::map<std::string, Cell> groups, operators;
    std::map<std::string, int64_t> verdicts, repair_verdicts;  // "no_answer: no_code" → answers
    std::map<std::string, std::string> examples;               // what the first one was, in words
    int64_t tokens = 0, with_tokens = 0;
  };
  std::map<std::string, OfProposer> proposers_;
  int64_t tasks_ = 0, left_out_ = 0;
};

}  // namespace tritogen::eval
