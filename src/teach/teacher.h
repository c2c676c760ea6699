// The teacher: writes Triton candidates for a program, in several strategies, each with its plan in words.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/fp32_precision.h"
#include "program/program.h"

namespace tritogen::teach {

struct Request {
  const Program* program = nullptr;
  std::string reference_source;  // kept in the candidate's file for the class that it extends
  std::string entry;             // class or function name
  bool is_function = false;
  bool strict = false;                                  // only candidates whose work is all in Triton
  Fp32Precision fp32_precision = Fp32Precision::kIeee;  // of products in float32
  // For who learns to write answers: after the first two, strategies vary a kernel for each operation; blocks
  // have masks at their ends, needed or not; lines are sorted by tl.sort.
  bool simple = false;
  bool lines = false;  // plans go through the program line by line first
  int count = 8;       // at most so many
  uint64_t seed = 0;   // of the style: names, comments, layout of the wrapper. 0: the plain one
  // Parameters of forward, and for each input of the program the expression that gives it. Empty: one
  // parameter for each input, named after it.
  std::vector<std::string> parameters, inputs;
  // Nodes whose tensors may not be in row-major order; the wrapper asks for .contiguous().
  std::vector<NodeId> strided;
  // Constants and the expression that makes each, on the CPU. A constant or buffer that is neither here nor
  // in the state dict has no answer.
  std::map<NodeId, std::string> constants;
  // Outputs that are no tensors, as Python, in their order; None for those that are not here.
  std::vector<std::string> fixed_outputs;
};

struct Answer {
  std::string strategy, plan, source;
};

// Most promising first, no two alike. Empty when nothing in the program can run in Triton, or, for strict
// requests, when something cannot. A pure function of the request.
std::vector<Answer> Teach(const Request& request);

}  // namespace tritogen::teach
