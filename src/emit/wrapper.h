// The body of the shipped forward: one Python statement per step of a Plan.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"
#include "program/names.h"

namespace tritogen {

// Launches of one kernel, one behind the other, that differ in one integer alone, which grows by the same
// number each time: a Python loop.
struct LaunchLoop {
  size_t launches = 1;
  std::string parameter;
  int64_t first = 0, step = 0;
  std::string counter;  // the loop's variable
};
// The longest such loop that begins at `first`; of one launch where there is none.
LaunchLoop LoopFrom(const std::vector<const Step*>& steps, size_t first);

// How many steps from `first` on add the same number to counters in place, each to another: a batch norm
// counts its batches, and a launch for each of them takes longer than one for all.
size_t CountersFrom(const Plan& plan, const std::vector<const Step*>& steps, size_t first);

// Names every tensor of the Plan as Python knows it and writes statements. Step order is the Plan's.
class Wrapper {
 public:
  explicit Wrapper(const Plan& plan);

  void Name(TensorId id, std::string expression) { names_[id] = std::move(expression); }
  // A name of its own for an entry of the state: "net.0.weight" → "net_0_weight".
  void NameState(const StateEntry& entry) { names_[entry.tensor] = used_.Unique(entry.name); }
  const std::string& NameOf(TensorId id) const { return names_[id]; }
  // Statements at `indent` spaces, each ending in a newline.
  std::string Statements(const std::vector<const Step*>& steps, int indent);
  // The returned structure: "(out0, out1)".
  std::string Outputs() const;
  // As PyTorch's calls take it.
  std::string Literal(const Value& value) const;

 private:
  std::string AtenStatement(const AtenStep& step, int indent);
  std::string CountersStatement(const std::vector<const Step*>& steps, size_t first, size_t count,
                                int indent) const;
  std::string ConstantStatement(const ConstantStep& step);
  std::string LaunchStatement(const LaunchStep& step, int indent, const LaunchLoop* loop = nullptr);
  std::string LaunchLiteral(const Value& value, const std::vector<KernelArg>& args, size_t* next) const;
  std::string Fresh(TensorId id, std::string_view stem);

  const Plan& plan_;
  std::vector<std::string> names_;  // by tensor id; empty: not yet made
  NameTable used_;
  int next_ = 0, launches_ = 0;
};

}  // namespace tritogen
