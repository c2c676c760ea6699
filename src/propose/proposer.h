// Proposer: anything that writes candidates for a program.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "program/program.h"

namespace tritogen {

struct Candidate {
  std::string proposer;  // "teacher"
  std::string strategy;  // which of its ways: "row_per_program BLOCK=1024"
  std::string plan;      // in words: access pattern, launch, load-compute-store, wrapper
  std::string source;    // a complete Python file
  std::string entry = "ModelNew";
  std::string thoughts;   // what a model wrote before its answer
  std::string no_answer;  // there is no source: why, "no_code: the answer has no code"
};

struct ProposeRequest {
  const Plan* reference = nullptr;
  const Program* program = nullptr;
  std::string reference_source;
  std::string entry;  // class or function name in the reference
  bool is_function = false;
  bool strict = false;
  uint64_t seed = 0;
  int count = 8;  // at most so many candidates
};

class Proposer {
 public:
  virtual ~Proposer() = default;
  virtual std::string_view name() const = 0;
  // Most promising first. Empty when this proposer has nothing to offer for the program.
  virtual std::vector<Candidate> Propose(const ProposeRequest& request) = 0;
  // The same for several programs at once: who waits for a network can wait for all of them together.
  virtual std::vector<std::vector<Candidate>> ProposeAll(std::span<const ProposeRequest> requests) {
    std::vector<std::vector<Candidate>> all;
    for (const ProposeRequest& request : requests) all.push_back(Propose(request));
    return all;
  }
  // What went wrong since the last call, a line each: "remote: 2 of 8 samples failed: …".
  virtual std::vector<std::string> TakeRemarks() { return {}; }
  // The model behind it, for questions other than for candidates; null where there is none.
  virtual class ChatClient* chat() { return nullptr; }
};

}  // namespace tritogen
