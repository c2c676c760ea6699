// Walks over the tensors that values and steps mention.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "plan/plan.h"

namespace tritogen {

// "aten::add.Tensor" → "aten::add".
inline std::string_view WithoutOverload(std::string_view op) {
  return op.substr(0, op.find('.'));
}

// Whether a name is one of a list.
template <typename Names>
bool OneOf(std::string_view name, const Names& names) {
  return std::ranges::find(names, name) != std::ranges::end(names);
}
inline bool OneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

// The values in a list or a dict; null for everything else.
inline const Value::List* Items(const Value& value) {
  if (const auto* dict = std::get_if<Value::Dict>(&value.v)) return &dict->items;
  return std::get_if<Value::List>(&value.v);
}
inline Value::List* Items(Value* value) {
  return const_cast<Value::List*>(Items(std::as_const(*value)));
}

// Calls f(item, text) for each of them; `text` is how Python reaches it from `expression`: x[0], x["mask"],
// x.mask.
template <typename F>
void ForEachItem(const Value& value, const std::string& expression, const F& f) {
  const Value::List* items = Items(value);
  const auto* dict = std::get_if<Value::Dict>(&value.v);
  for (size_t i = 0; items != nullptr && i < items->size(); ++i) {
    const Value& item = (*items)[i];
    if (dict == nullptr) {
      f(item, fmt::format("{}[{}]", expression, i));
    } else if (dict->type.empty()) {
      f(item, fmt::format("{}[\"{}\"]", expression, dict->keys[i]));
    } else {
      f(item, fmt::format("{}.{}", expression, dict->keys[i]));
    }
  }
}

// Calls f(TensorId) for each tensor leaf, in order.
template <typename F>
void ForEachTensor(const Value& value, const F& f) {
  if (const auto* tensor = std::get_if<TensorRef>(&value.v)) {
    f(tensor->id);
  } else if (const Value::List* items = Items(value)) {
    for (const Value& item : *items) ForEachTensor(item, f);
  }
}

template <typename F>
void ForEachTensor(const std::vector<Value>& values, const F& f) {
  for (const Value& value : values) ForEachTensor(value, f);
}

inline std::vector<TensorId> TensorLeaves(const std::vector<Value>& values) {
  std::vector<TensorId> leaves;
  ForEachTensor(values, [&](TensorId id) { leaves.push_back(id); });
  return leaves;
}

// Calls f(TensorId) for each tensor that the step reads or writes in place, all variants included; repeats
// are possible.
template <typename F>
void ForEachUse(const Step& step, const F& f) {
  if (const auto* aten = std::get_if<AtenStep>(&step)) {
    ForEachTensor(aten->args, f);
    for (const auto& [name, value] : aten->kwargs) ForEachTensor(value, f);
  } else if (const auto* launch = std::get_if<LaunchStep>(&step)) {
    for (const LaunchVariant& variant : launch->variants) {
      for (const KernelArg& arg : variant.args) {
        if (const auto* pointer = std::get_if<PointerArg>(&arg)) f(pointer->tensor);
        if (const auto* desc = std::get_if<DescriptorArg>(&arg)) f(desc->tensor);
      }
    }
  }
}

// kNoTensor where the call has no result, or none that is a tensor: a Plan may say so of any call.
inline TensorId FirstResult(const AtenStep& step) {
  return step.outs.empty() ? kNoTensor : step.outs[0];
}

// Calls f(TensorId) for each tensor result of the step; an in-place call gives back a tensor it also uses.
template <typename F>
void ForEachResult(const Step& step, const F& f) {
  if (const auto* aten = std::get_if<AtenStep>(&step)) {
    for (TensorId id : aten->outs) {
      if (id != kNoTensor) f(id);
    }
  } else if (const auto* constant = std::get_if<ConstantStep>(&step)) {
    f(constant->out);
  }
}

// batch_norm writes its running statistics, arguments 3 and 4, in training, which its schema does not say.
inline bool WritesStatistics(const AtenStep& step) {
  return WithoutOverload(step.op) == "aten::batch_norm" && step.args.size() > 5 &&
         step.args[5].v == Value{true}.v;
}

// Autotuned launches of one call may differ in how many variants they offer: the greatest number, at least 1.
inline int MostVariants(const Plan& plan) {
  size_t most = 1;
  for (const Step& step : plan.run) {
    if (const auto* launch = std::get_if<LaunchStep>(&step)) most = std::max(most, launch->variants.size());
  }
  return static_cast<int>(most);
}

inline int LineOf(const Step& step) {
  return std::visit([](const auto& s) { return s.line; }, step);
}

}  // namespace tritogen
