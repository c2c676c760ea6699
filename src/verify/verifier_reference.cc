#include "verify/verifier_reference.h"

#include <ATen/ATen.h>

namespace tritogen {
namespace {

constexpr int kWobbles = 2;

ReplayOptions InFloat64(ReplayOptions options) {
  options.in_float64 = true;
  return options;
}

TensorList ToDouble(const TensorList& tensors) {
  TensorList wide;
  for (const at::Tensor& t : tensors)
    wide.push_back(at::isFloatingType(t.scalar_type()) ? t.to(at::kDouble, false, true) : t.clone());
  return wide;
}

template <typename F>
Bindings MapBindings(const std::map<std::string, at::Tensor>& state, const F& change) {
  Bindings bindings;
  for (const auto& [name, tensor] : state) bindings[name] = change({tensor})[0];
  return bindings;
}

}  // namespace

Plan WithIndexedOutputs(const Plan& plan, const std::vector<std::optional<IndexSource>>& sources) {
  Plan extended = plan;
  for (const auto& source : sources) {
    if (source) extended.outputs.push_back(Value{TensorRef{source->values}});
  }
  return extended;
}

ReferenceRuns::ReferenceRuns(const Task::Impl& task, const Deadline& deadline)
    : task_(task),
      plan_(WithIndexedOutputs(task.plan, task.index_sources)),
      eager_(plan_, OptionsFor(task.options, deadline)),
      exact_(plan_, InFloat64(OptionsFor(task.options, deadline))),
      tf32_(plan_, InFloat64(OptionsFor(task.options, deadline))) {
  for (int i = 0; i < kWobbles && !task.spares_memory; ++i) {
    wobbles_.push_back(std::make_unique<Replayer>(plan_, InFloat64(OptionsFor(task.options, deadline))));
  }
}

std::optional<ReplayFailure> ReferenceRuns::Setup(const Bindings& bindings) {
  auto setup = [&](Replayer& replayer, const Bindings& state) {
    return SetUp(task_, plan_, state, &replayer);
  };
  if (auto failure = setup(eager_, bindings)) return failure;
  // The other precisions get exactly the weights that the eager program has.
  const auto state = eager_.State();
  if (auto failure = setup(exact_, MapBindings(state, ToDouble))) return failure;
  if (auto failure = setup(tf32_, MapBindings(state, RoundToTf32))) return failure;
  for (size_t i = 0; i < wobbles_.size(); ++i) {
    uint64_t stream = SubSeed(task_.weight_seed, i);
    auto wobble = [&](const TensorList& tensors) { return Wobble(tensors, ++stream); };
    if (auto failure = setup(*wobbles_[i], MapBindings(state, wobble))) return failure;
  }
  return std::nullopt;
}

std::optional<ReplayFailure> ReferenceRuns::RunEager(const TensorList& inputs, uint64_t seed,
                                                     TensorList* outputs) {
  return eager_.Run(CloneAll(inputs), seed, outputs);
}

std::optional<ReplayFailure> ReferenceRuns::Run(const TensorList& inputs, uint64_t seed, bool exact_inputs,
                                                Results* results) {
  if (auto failure = RunEager(inputs, seed, &results->eager)) return failure;
  if (auto failure = exact_.Run(ToDouble(inputs), seed, &results->exact)) return failure;
  if (task_.spares_memory) return std::nullopt;
  if (auto failure = tf32_.Run(ToDouble(RoundToTf32(inputs)), seed, &results->tf32)) return failure;
  for (size_t i = 0; i < wobbles_.size(); ++i) {
    results->wobbles.emplace_back();
    const TensorList moved = exact_inputs ? ToDouble(inputs) : CloneAll(Wobble(inputs, SubSeed(seed, i)));
    if (auto failure = wobbles_[i]->Run(moved, seed, &results->wobbles.back())) return failure;
  }
  return std::nullopt;
}

}  // namespace tritogen
