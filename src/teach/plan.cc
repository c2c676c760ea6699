#include "teach/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "program/print.h"

namespace tritogen::teach {
namespace {

constexpr const char* kHeads[3][5] = {
    {"Lines", "Access pattern", "Launch", "Load, compute, store", "Wrapper"},
    {"Where each value comes from", "How the data is accessed", "How kernels are launched",
     "What a program does", "Integration"},
    {"Line by line", "Memory access", "Grid", "Work of one program", "Calling side"}};

// One line, or a list where there are several.
class Section {
 public:
  Section(int number, const char* head, size_t lines)
      : text_(fmt::format("{}. {}:", number, head)), alone_(lines == 1) {}

  void Add(const std::string& name, const std::string& line) {
    text_ += alone_ ? fmt::format(" {}.", line) : fmt::format("\n   - {}: {}", name, line);
  }
  std::string Text() const { return text_ + "\n"; }

 private:
  std::string text_;
  bool alone_;
};

}  // namespace

void PlanBuilder::Add(Plan::Step step, const Group& group) {
  std::vector<PrimId> work = group.members;
  std::set<PrimId> seen(work.begin(), work.end());
  for (size_t i = 0; i < work.size(); ++i) {
    const Prim& prim = graph_[work[i]];
    std::vector<NodeId> lines = prim.also;
    if (prim.line >= 0) lines.push_back(prim.line);
    for (NodeId line : lines) {
      std::vector<std::string>& names = done_by_[line];
      if (std::find(names.begin(), names.end(), step.name) == names.end()) names.push_back(step.name);
    }
    for (const View& view : prim.operands) {  // what is not stored is computed by who reads it
      if (view.prim >= 0 && graph_[view.prim].inlined && seen.insert(view.prim).second)
        work.push_back(view.prim);
    }
  }
  steps_.push_back(std::move(step));
}

Plan PlanBuilder::Finish(const std::string& returned, bool lines) const {
  Plan plan{{}, steps_, returned};
  if (!lines) return plan;
  const auto names = PrintedNames(program_);
  for (size_t i = 0; i < program_.nodes.size(); ++i) {
    const NodeKind kind = program_.nodes[i].kind;
    const std::string steps = fmt::format("{}", fmt::join(done_by_[i], ", "));
    plan.lines.push_back({fmt::format("{}", fmt::join(names[i], ", ")), kind != NodeKind::kOp ? RoleOf(kind)
                                                                        : steps.empty()       ? "a view"
                                                                                              : steps});
  }
  return plan;
}

std::string PlanText(const Plan& plan, const std::vector<KernelCode>& kernels, int wording, bool is_module) {
  const auto& heads = kHeads[wording];
  std::string text;
  if (!plan.lines.empty()) {
    Section lines(0, heads[0], plan.lines.size());
    for (const Plan::Line& line : plan.lines) lines.Add(line.names, line.what);
    text += lines.Text();
  }
  Section access(1, heads[1], plan.steps.size()), launch(2, heads[2], kernels.size()),
      compute(3, heads[3], kernels.size());
  for (const Plan::Step& step : plan.steps)
    access.Add(step.name, step.access.empty() ? step.flow : step.flow + "; " + step.access);
  for (const KernelCode& kernel : kernels) {
    launch.Add(kernel.name, fmt::format("{}; {} warps", kernel.launch, kernel.num_warps));
    compute.Add(kernel.name, kernel.compute);
  }
  text += access.Text() + launch.Text() + compute.Text();
  return text + fmt::format("4. {}: {}, return {}{}.\n", heads[4],
                            plan.steps.size() == 1 ? "allocate the result, launch"
                                                   : "allocate results, launch in this order",
                            plan.returned, is_module ? "; parameters keep their names" : "");
}

}  // namespace tritogen::teach
