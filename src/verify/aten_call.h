// One ATen step made ready: the operator looked up and checked, its arguments converted, so that a call costs
// little more than the operator itself.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <memory>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "verify/aten_bounds.h"
#include "verify/aten_random.h"
#include "verify/aten_value.h"

namespace tritogen {

class AtenCall {
 public:
  // Throws ReplayError: kRuntimeError for an operator that is unknown or refused and for arguments that do
  // not fit, kInfraError for what float64 cannot express.
  AtenCall(const Plan& plan, const AtenStep& step, const ReplayTarget& target);

  // Tensor results in schema order, lists flattened. `slots` by tensor id. Throws ReplayError.
  std::vector<at::Tensor> Call(const std::vector<at::Tensor>& slots, ReplayRandom* random) const;

  // Results are memory that nobody has written.
  bool returns_undefined_memory() const { return returns_undefined_memory_; }
  // The result is a view in the Plan and new memory here: integers whose bits float64 shows as floats.
  bool copies_view() const { return widening_ == Widening::kBits; }
  // Tensors that the call writes in place.
  const std::vector<TensorId>& writes() const { return writes_; }

 private:
  struct Hole {
    size_t argument;
    PreparedArgument::Kind kind;
    std::vector<TensorId> tensors;
  };
  // What float64 changes beside dtypes, decided once.
  enum class Widening {
    kNone,
    kIntegerInputs,      // integers in, floats out: the default dtype must not round them
    kRecordedPrecision,  // random numbers: drawn in the recorded dtypes, so that they are the same numbers
    kBits                // of integers seen as floats: those of the recorded dtype, widened then
  };

  void Prepare(const AtenStep& step);
  void AddArgument(size_t index, const Value& value, const ReplayTarget& target);
  Widening DecideWidening(const AtenStep& step) const;
  bool DtypeIsImplied(const AtenStep& step) const;
  c10::IValue StandsForInf(const AtenStep& step, std::string_view argument) const;
  at::Tensor Adapt(const at::Tensor& tensor, TensorId id) const;
  void FillHoles(const std::vector<at::Tensor>& slots, torch::jit::Stack* stack) const;
  void CopyBack(const std::vector<at::Tensor>& slots, const torch::jit::Stack& arguments) const;

  const Plan* plan_;
  const AtenStep* step_;
  ReplayTarget target_;
  c10::OperatorHandle op_;
  torch::jit::Stack template_;  // every argument; holes are None
  std::vector<Hole> holes_;
  std::vector<TensorId> writes_;
  std::vector<TensorId> probabilities_;  // float64: arguments that are kept between 0 and 1
  BoundsCheck bounds_check_ = nullptr;
  Widening widening_ = Widening::kNone;
  bool is_random_ = false;
  bool returns_undefined_memory_ = false;
};

}  // namespace tritogen
