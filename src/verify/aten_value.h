// Values of a Plan as arguments of ATen operators, checked against the operator's schema.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace tritogen {

// The value does not fit the argument.
class ArgumentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An argument made ready: a constant, or the places of tensors that each call fills in.
struct PreparedArgument {
  c10::IValue constant;
  enum class Kind { kConstant, kTensor, kTensorList, kOptionalTensorList } kind = Kind::kConstant;
  std::vector<TensorId> tensors;  // kTensor: one; lists: kNoTensor for None
};

// Where and in which precision a Plan is replayed. Every device that a Plan names becomes this one.
struct ReplayTarget {
  at::Device device = at::kCPU;
  bool in_float64 = false;  // floating dtypes become float64
  bool timed = false;       // or captured: nothing may wait for a GPU
};

// Generators must be absent (the replay has its own). Throws ArgumentError.
PreparedArgument PrepareArgument(const c10::Argument& argument, const Value& value,
                                 const ReplayTarget& target);

}  // namespace tritogen
