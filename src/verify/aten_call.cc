#include "verify/aten_call.h"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <string_view>

#include "device/aten_dtype.h"
#include "device/device_errors.h"
#include "plan/visit.h"
#include "verify/aten_bounds.h"
#include "verify/aten_policy.h"
#include "verify/replay_error.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

using Failure = ReplayFailure::Kind;
using Kind = PreparedArgument::Kind;

c10::OperatorHandle FindOperator(const AtenStep& step) {
  size_t dot = step.op.find('.');
  std::string name = step.op.substr(0, dot);
  std::string overload = dot == std::string::npos ? "" : step.op.substr(dot + 1);
  if (overload == "default") overload.clear();
  auto found = c10::Dispatcher::singleton().findSchema({name, overload});
  if (!found) FailReplay(Failure::kRuntimeError, step.line, "there is no operator {}", step.op);
  std::string refusal = RefusalOf(found->schema());
  if (!refusal.empty()) FailReplay(Failure::kRuntimeError, step.line, "{} is refused: {}", step.op, refusal);
  return *found;
}

bool IsFactoryOfUndefinedMemory(std::string_view op) {
  std::string_view name = WithoutOverload(op);
  return name == "aten::empty" || name == "aten::empty_like" || name == "aten::empty_strided" ||
         name == "aten::empty_permuted" || name == "aten::new_empty" || name == "aten::new_empty_strided";
}

// By the schema; batch_norm and its like update their running statistics without saying so there.
bool Writes(const c10::Argument& argument) {
  const c10::AliasInfo* alias = argument.alias_info();
  return (alias && alias->isWrite()) || argument.name() == "running_mean" || argument.name() == "running_var";
}

std::vector<at::Tensor> Flatten(torch::jit::Stack results) {
  std::vector<at::Tensor> tensors;
  for (c10::IValue& value : results) {
    if (value.isTensor()) {
      tensors.push_back(std::move(value).toTensor());
    } else if (value.isTensorList()) {
      for (at::Tensor tensor : value.toTensorList()) tensors.push_back(std::move(tensor));
    } else {
      tensors.emplace_back();
    }
  }
  return tensors;
}

// Whether a step behind this one, whose result is a view, writes where that lies. Kernels may.
bool WrittenBehind(const Plan& plan, const AtenStep& step) {
  if (FirstResult(step) == kNoTensor) return false;
  const StorageId storage = plan.tensors[step.outs[0]].storage;
  bool behind = false, written = false;
  for (const auto* steps : {&plan.generate, &plan.setup, &plan.run}) {
    for (const Step& other : *steps) {
      if (behind) {
        ForEachUse(other, [&](TensorId used) {
          if (plan.tensors[used].storage != storage) return;
          written |= std::holds_alternative<LaunchStep>(other);
          ForEachResult(other, [&](TensorId result) { written |= result == used; });
        });
      }
      behind |= std::get_if<AtenStep>(&other) == &step;
    }
  }
  return written;
}

}  // namespace

AtenCall::AtenCall(const Plan& plan, const AtenStep& step, const ReplayTarget& target)
    : plan_(&plan), step_(&step), target_(target), op_(FindOperator(step)) {
  try {
    Prepare(step);
  } catch (const ArgumentError& error) {
    FailReplay(Failure::kRuntimeError, step.line, "{}: {}", step.op, error.what());
  }
}

void AtenCall::Prepare(const AtenStep& step) {
  const auto& arguments = op_.schema().arguments();
  is_random_ = DrawsRandom(step);  // the tag alone also marks attention and LSTM without dropout
  returns_undefined_memory_ = IsFactoryOfUndefinedMemory(step.op);
  widening_ = DecideWidening(step);
  const bool in_float64 = target_.in_float64;
  if (in_float64) probabilities_ = ProbabilitiesOf(step);
  const bool widen_dtypes =
      in_float64 && widening_ != Widening::kRecordedPrecision && widening_ != Widening::kBits;
  const ReplayTarget target{target_.device, widen_dtypes};
  if (step.args.size() > arguments.size()) throw ArgumentError("too many arguments");
  std::vector<bool> given(arguments.size(), false);
  for (const c10::Argument& argument : arguments) {
    template_.push_back(argument.default_value().value_or(c10::IValue()));
  }
  for (size_t i = 0; i < step.args.size(); ++i) {
    AddArgument(i, step.args[i], target);
    given[i] = true;
  }
  for (const auto& [name, value] : step.kwargs) {
    auto index = op_.schema().argumentIndexWithName(name);
    if (!index || given[*index])
      throw ArgumentError(fmt::format("argument '{}' is unknown or given twice", name));
    AddArgument(*index, value, target);
    given[*index] = true;
  }
  // What a GPU reads beside its arguments is its own memory, but some numbers end its context. Asking for
  // numbers would stop a graph's capture.
  const std::string_view op = WithoutOverload(step.op);
  bounds_check_ = target_.device.is_cpu() ? BoundsCheckOf(op) : target_.timed ? nullptr : TrapCheckOf(op);
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!given[i] && !arguments[i].default_value()) {
      throw ArgumentError(fmt::format("argument '{}' is missing", arguments[i].name()));
    }
    if (arguments[i].name() == "device" && holes_.empty() && !given[i]) template_[i] = target_.device;
    if (in_float64 && arguments[i].name() == "half_to_float") template_[i] = false;
    if (in_float64 && template_[i].isNone()) template_[i] = StandsForInf(step, arguments[i].name());
    if (widen_dtypes && arguments[i].name() == "dtype" && template_[i].isNone() && DtypeIsImplied(step)) {
      template_[i] = static_cast<int64_t>(at::kDouble);
    }
  }
}

void AtenCall::AddArgument(size_t index, const Value& value, const ReplayTarget& target) {
  const c10::Argument& argument = op_.schema().arguments()[index];
  try {
    PreparedArgument prepared = PrepareArgument(argument, value, target);
    template_[index] = std::move(prepared.constant);
    if (prepared.kind == Kind::kConstant) return;
    if (Writes(argument)) {
      for (TensorId id : prepared.tensors) {
        if (id != kNoTensor) writes_.push_back(id);
      }
    }
    holes_.push_back({index, prepared.kind, std::move(prepared.tensors)});
  } catch (const ArgumentError& error) {
    throw ArgumentError(fmt::format("argument '{}': {}", argument.name(), error.what()));
  }
}

// `nan_to_num` puts the largest number of the dtype there, which in float64 is the declared one's; nothing
// for other arguments.
c10::IValue AtenCall::StandsForInf(const AtenStep& step, std::string_view argument) const {
  const bool above = argument == "posinf";
  if (!above && argument != "neginf") return {};
  const auto* tensor = step.args.empty() ? nullptr : std::get_if<TensorRef>(&step.args[0].v);
  if (tensor == nullptr || !IsFloating(plan_->tensors[tensor->id].dtype)) return {};
  const double largest = LargestOf(ToScalarType(plan_->tensors[tensor->id].dtype));
  return above ? largest : -largest;
}

// A factory without a dtype makes the default one.
bool AtenCall::DtypeIsImplied(const AtenStep& step) const {
  return holes_.empty() && FirstResult(step) != kNoTensor && IsFloating(plan_->tensors[step.outs[0]].dtype);
}

AtenCall::Widening AtenCall::DecideWidening(const AtenStep& step) const {
  if (!target_.in_float64) return Widening::kNone;
  if (is_random_) return Widening::kRecordedPrecision;
  bool floating_in = false, floating_out = false, integer_in = false;
  auto is_inexact = [&](TensorId id) {
    return IsFloating(plan_->tensors[id].dtype) || IsComplex(plan_->tensors[id].dtype);
  };
  ForEachUse(Step(step), [&](TensorId id) {
    floating_in |= is_inexact(id);
    integer_in |= !is_inexact(id) && plan_->tensors[id].dtype != Dtype::kBool;
  });
  for (TensorId id : step.outs) floating_out |= id != kNoTensor && is_inexact(id);
  if (step.op == "aten::view.dtype" && (floating_in || floating_out)) {
    if (floating_in || WrittenBehind(*plan_, step)) {
      FailReplay(Failure::kInfraError, step.line,
                 "aten::view.dtype reinterprets bits, which float64 cannot follow");
    }
    return Widening::kBits;
  }
  bool names_dtype = op_.schema().argumentIndexWithName("dtype").has_value();
  return integer_in && !floating_in && floating_out && !names_dtype ? Widening::kIntegerInputs
                                                                    : Widening::kNone;
}

at::Tensor AtenCall::Adapt(const at::Tensor& tensor, TensorId id) const {
  Dtype recorded = plan_->tensors[id].dtype;
  if (widening_ == Widening::kRecordedPrecision) return tensor.to(ToScalarType(recorded));
  if (widening_ == Widening::kIntegerInputs && recorded != Dtype::kBool) return tensor.to(at::kDouble);
  return tensor;
}

void AtenCall::FillHoles(const std::vector<at::Tensor>& slots, torch::jit::Stack* stack) const {
  auto tensor_of = [&](TensorId id) {
    return widening_ == Widening::kNone ? slots[id] : Adapt(slots[id], id);
  };
  const bool quantises = target_.in_float64 && step_->op.starts_with("aten::fake_quantize_");
  for (const Hole& hole : holes_) {
    c10::IValue& place = (*stack)[hole.argument];
    if (hole.kind == Kind::kTensor) {
      place = tensor_of(hole.tensors[0]);
      // PyTorch takes no scale of float64, not even beside a tensor of it.
      if (quantises && op_.schema().arguments()[hole.argument].name() == "scale")
        place = place.toTensor().to(at::kFloat);
      // In float64 inputs are moved, by half a unit for one, and no probability is more than 1.
      if (std::ranges::count(probabilities_, hole.tensors[0]) > 0) place = place.toTensor().clamp(0, 1);
    } else if (hole.kind == Kind::kTensorList) {
      c10::List<at::Tensor> list;
      for (TensorId id : hole.tensors) list.push_back(tensor_of(id));
      place = std::move(list);
    } else {
      c10::List<std::optional<at::Tensor>> list;
      for (TensorId id : hole.tensors) {
        list.push_back(id == kNoTensor ? std::nullopt : std::optional(tensor_of(id)));
      }
      place = std::move(list);
    }
  }
}

// What an operator wrote into an adapted copy goes back into the tensor.
void AtenCall::CopyBack(const std::vector<at::Tensor>& slots, const torch::jit::Stack& arguments) const {
  for (const Hole& hole : holes_) {
    if (!Writes(op_.schema().arguments()[hole.argument]) || hole.kind != Kind::kTensor) continue;
    const at::Tensor& target = slots[hole.tensors[0]];
    const at::Tensor& written = arguments[hole.argument].toTensor();
    if (!written.is_same(target)) target.copy_(written);
  }
}

std::vector<at::Tensor> AtenCall::Call(const std::vector<at::Tensor>& slots, ReplayRandom* random) const {
  try {
    torch::jit::Stack stack = template_;
    FillHoles(slots, &stack);
    if (bounds_check_ != nullptr) bounds_check_(op_.schema(), stack);
    torch::jit::Stack arguments;
    if (widening_ != Widening::kNone) arguments = stack;
    if (is_random_) {
      random->Draw([&] { op_.callBoxed(stack); });
    } else {
      op_.callBoxed(stack);
    }
    if (widening_ != Widening::kNone) CopyBack(slots, arguments);
    std::vector<at::Tensor> results = Flatten(std::move(stack));
    if (copies_view()) results.at(0) = results.at(0).to(InFloat64(plan_->tensors[step_->outs.at(0)].dtype));
    return results;
  } catch (const c10::NotImplementedError& error) {
    FailReplay(Failure::kInfraError, step_->line, "{} does not run on the {}: {}", step_->op,
               target_.device.is_cpu() ? "CPU" : "GPU", MessageOf(error));
  } catch (const c10::Error& error) {
    if (SaysOutOfMemory(error)) {
      FailReplay(OutOfMemoryKind(!target_.device.is_cpu()), step_->line, "{} ran out of memory: {}",
                 step_->op, MessageOf(error));
    }
    FailReplay(Failure::kRuntimeError, step_->line, "{} failed: {}", step_->op, MessageOf(error));
  } catch (const std::exception& error) {
    FailReplay(Failure::kRuntimeError, step_->line, "{} failed: {}", step_->op, error.what());
  }
}

}  // namespace tritogen
