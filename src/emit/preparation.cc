#include "emit/preparation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "plan/visit.h"

namespace tritogen {
namespace {

// Memory that a call may leave with other contents.
bool MakesMemory(std::string_view op) {
  constexpr std::array kWords = {"empty", "zeros", "ones", "full", "new_"};
  return std::ranges::any_of(kWords, [&](const char* word) { return op.find(word) != op.npos; });
}

}  // namespace

bool IsRandom(std::string_view op) {
  static const char* const kWords[] = {"rand",        "normal_",      "uniform_", "bernoulli",
                                       "multinomial", "exponential_", "dropout"};
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](const char* word) { return op.find(word) != std::string_view::npos; });
}

void VisitWrites(const Plan& plan, const Step& step, const std::function<void(StorageId)>& visit) {
  auto visit_storage = [&](TensorId id) { visit(plan.tensors[id].storage); };
  if (std::holds_alternative<LaunchStep>(step)) {
    ForEachUse(step, visit_storage);
  } else {
    ForEachResult(step, visit_storage);
  }
  const auto* aten = std::get_if<AtenStep>(&step);
  if (aten == nullptr || !WritesStatistics(*aten)) return;
  for (const size_t i : {size_t{3}, size_t{4}}) ForEachTensor(aten->args[i], visit_storage);
}

std::vector<const StateEntry*> StateInOrder(const Plan& plan) {
  std::vector<const StateEntry*> entries;
  std::set<TensorId> seen;
  for (const auto* named : {&plan.state, &plan.unsaved}) {
    for (const StateEntry& entry : *named) {
      if (seen.insert(entry.tensor).second) entries.push_back(&entry);
    }
  }
  return entries;
}

SetupSlice SliceSetup(const Plan& plan) {
  SetupSlice slice;
  std::set<TensorId> named;
  std::set<StorageId> ready;  // inputs and state, and what the device copy of a state tensor was made from
  for (const Value& value : plan.inputs) {
    ForEachTensor(value, [&](TensorId id) { named.insert(id); });
  }
  for (const auto* entries : {&plan.state, &plan.unsaved}) {
    for (const StateEntry& entry : *entries) named.insert(entry.tensor);
  }
  for (TensorId id : named) ready.insert(plan.tensors[id].storage);

  std::set<StorageId> wanted;
  std::set<TensorId> provided;
  auto need = [&](TensorId id) {
    if (ready.count(plan.tensors[id].storage)) return;
    wanted.insert(plan.tensors[id].storage);
    provided.insert(id);
  };
  std::set<TensorId> made;
  for (const Step& step : plan.run) {
    ForEachUse(step, [&](TensorId id) {
      if (!made.count(id)) need(id);
    });
    VisitWrites(plan, step, [&](StorageId storage) { ready.insert(storage); });
    if (const auto* aten = std::get_if<AtenStep>(&step)) made.insert(aten->outs.begin(), aten->outs.end());
  }
  for (const Value& value : plan.outputs) {
    ForEachTensor(value, [&](TensorId id) {
      if (!made.count(id)) need(id);
    });
  }
  slice.provided.assign(provided.begin(), provided.end());
  if (wanted.empty()) return slice;

  std::set<TensorId> read = provided;  // by the slice; views of the state among them, which write nothing
  std::set<StorageId> given;
  for (const StateEntry& entry : plan.state) given.insert(plan.tensors[entry.tensor].storage);
  for (auto step = plan.setup.rbegin(); step != plan.setup.rend(); ++step) {
    bool writes = false;
    VisitWrites(plan, *step,
                [&](StorageId storage) { writes |= wanted.count(storage) && !given.count(storage); });
    ForEachResult(*step, [&](TensorId id) { writes |= read.count(id) && !named.count(id); });
    if (!writes) continue;
    if (const auto* aten = std::get_if<AtenStep>(&*step); aten && IsRandom(aten->op)) {
      slice.failure = fmt::format(
          "forward uses a tensor that {} made in the constructor and that is no part of the original's "
          "state; make it from the weights in the first call",
          aten->op);
    }
    ForEachUse(*step, [&](TensorId id) {
      wanted.insert(plan.tensors[id].storage);
      read.insert(id);
    });
    slice.steps.push_back(&*step);
  }
  std::reverse(slice.steps.begin(), slice.steps.end());
  return slice;
}

Plan PreparedByRun(Plan plan) {
  const SetupSlice slice = SliceSetup(plan);
  if (!slice.failure.empty()) return plan;
  std::set<StorageId> each_call;  // storages of the state, and of what is made at each call
  for (const auto* entries : {&plan.state, &plan.unsaved}) {
    for (const StateEntry& entry : *entries) each_call.insert(plan.tensors[entry.tensor].storage);
  }
  std::set<const Step*> moved;
  for (const Step* step : slice.steps) {
    const auto* aten = std::get_if<AtenStep>(step);
    bool moves = aten != nullptr && MakesMemory(aten->op);
    ForEachUse(*step, [&](TensorId id) { moves |= each_call.contains(plan.tensors[id].storage); });
    if (!moves) continue;
    moved.insert(step);
    VisitWrites(plan, *step, [&](StorageId storage) { each_call.insert(storage); });
  }
  std::vector<Step> setup, run;
  for (const Step& step : plan.setup) (moved.contains(&step) ? run : setup).push_back(step);
  run.insert(run.end(), plan.run.begin(), plan.run.end());
  plan.setup = std::move(setup);
  plan.run = std::move(run);
  return plan;
}

}  // namespace tritogen
