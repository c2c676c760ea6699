#include "teach/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tritogen::teach {
namespace {

constexpr const char* kHeads[3][5] = {
    {"Operations", "Access pattern", "Launch", "Load, compute, store", "Wrapper"},
    {"Which kernel computes what", "How the data is accessed", "How kernels are launched",
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

std::string PlanText(const Plan& plan, const std::vector<KernelCode>& kernels, int wording, bool is_module) {
  const auto& heads = kHeads[wording];
  std::string text;
  if (plan.operations.size() > 1) {
    Section operations(0, heads[0], plan.operations.size());
    for (const Plan::Operation& each : plan.operations) {
      operations.Add(each.results,
                     each.steps.empty() ? "a view" : fmt::format("{}", fmt::join(each.steps, ", ")));
    }
    text += operations.Text();
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
