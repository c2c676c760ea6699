// The plan in words that stands in front of an answer.
#pragma once

#include <string>
#include <vector>

#include "teach/kernel.h"

namespace tritogen::teach {

struct Plan {
  // A value of the program: its names, and what it is ("input") or which steps compute it.
  struct Line {
    std::string names, what;
  };
  // What forward does, in order. `flow` is "x0, x1 -> sum [32, 64]".
  struct Step {
    std::string name, flow, access;  // access: empty for a kernel that was launched before, and for a call
  };
  std::vector<Line> lines;  // may be empty: then they are not said
  std::vector<Step> steps;
  std::string returned;
};

// Notes what is launched and called, and what lines of the program that is work of.
class PlanBuilder {
 public:
  PlanBuilder(const Program& program, const Graph& graph)
      : program_(program), graph_(graph), done_by_(program.nodes.size()) {}

  void Add(Plan::Step step, const Group& group);
  Plan Finish(const std::string& returned, bool lines) const;

 private:
  const Program& program_;
  const Graph& graph_;
  std::vector<Plan::Step> steps_;
  std::vector<std::vector<std::string>> done_by_;  // by node: names of steps
};

// AutoTriton's four steps (access pattern; launch; load, compute, store; wrapper), and in front of them what
// each line of the program is computed by, where that is to be said. `wording`: 0 to 2. `is_module`: there
// are parameters.
std::string PlanText(const Plan& plan, const std::vector<KernelCode>& kernels, int wording, bool is_module);

}  // namespace tritogen::teach
