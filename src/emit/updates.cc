#include "emit/updates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "emit/preparation.h"
#include "plan/visit.h"

namespace tritogen {
namespace {

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::map<std::string, TensorId> StateByName(const Plan& plan) {
  std::map<std::string, TensorId> found;
  for (const auto* entries : {&plan.state, &plan.unsaved})
    for (const StateEntry& entry : *entries) found.emplace(entry.name, entry.tensor);
  return found;
}

std::set<StorageId> Written(const Plan& plan) {
  std::set<StorageId> written;
  for (const Step& step : plan.run) VisitWrites(plan, step, [&](StorageId id) { written.insert(id); });
  return written;
}

std::set<StorageId> Used(const Plan& plan) {
  std::set<StorageId> used;
  for (const Step& step : plan.run)
    ForEachUse(step, [&](TensorId id) { used.insert(plan.tensors[id].storage); });
  return used;
}

// The calls of the original that lead to the contents of some of its storages, in order.
std::vector<const Step*> StepsTo(const Plan& plan, std::set<StorageId> storages) {
  std::vector<const Step*> steps;
  for (auto step = plan.run.rbegin(); step != plan.run.rend(); ++step) {
    bool makes = false;
    VisitWrites(plan, *step, [&](StorageId id) { makes |= storages.contains(id); });
    if (!makes) continue;
    ForEachUse(*step, [&](TensorId id) { storages.insert(plan.tensors[id].storage); });
    steps.push_back(&*step);
  }
  std::ranges::reverse(steps);
  return steps;
}

// Takes steps of one plan over into another that has the same arguments and state.
class Mover {
 public:
  Mover(const Plan& from, Plan* to) : from_(from), to_(to) {
    const std::vector<TensorId> ours = TensorLeaves(from.inputs), theirs = TensorLeaves(to->inputs);
    for (size_t i = 0; i < ours.size(); ++i) Same(ours[i], theirs.at(i));
    const std::map<std::string, TensorId> state = StateByName(*to);
    for (const auto& [name, id] : StateByName(from)) {
      if (const auto found = state.find(name); found != state.end()) Same(id, found->second);
    }
  }

  // False where the step reads what no earlier one made.
  bool Add(const Step& step) {
    bool known = true;
    ForEachUse(step, [&](TensorId id) { known &= tensors_.contains(id); });
    if (!known) return false;
    Step copy = step;
    if (auto* constant = std::get_if<ConstantStep>(&copy)) constant->out = Result(constant->out);
    if (auto* aten = std::get_if<AtenStep>(&copy)) {
      for (Value& value : aten->args) Rename(&value);
      for (auto& [name, value] : aten->kwargs) Rename(&value);
      for (TensorId& id : aten->outs) id = Result(id);
    }
    to_->run.push_back(std::move(copy));
    return true;
  }

 private:
  void Same(TensorId ours, TensorId theirs) {
    tensors_[ours] = theirs;
    storages_[from_.tensors[ours].storage] = to_->tensors[theirs].storage;
  }

  TensorId Result(TensorId id) {
    if (id == kNoTensor) return id;
    if (const auto found = tensors_.find(id); found != tensors_.end()) return found->second;
    TensorMeta meta = from_.tensors[id];
    const auto [storage, fresh] =
        storages_.emplace(meta.storage, static_cast<StorageId>(to_->storages.size()));
    if (fresh) to_->storages.push_back(from_.storages[meta.storage]);
    meta.storage = storage->second;
    to_->tensors.push_back(meta);
    return tensors_[id] = static_cast<TensorId>(to_->tensors.size()) - 1;
  }

  void Rename(Value* value) {
    if (auto* tensor = std::get_if<TensorRef>(&value->v)) tensor->id = tensors_.at(tensor->id);
    if (Value::List* items = Items(value))
      for (Value& item : *items) Rename(&item);
  }

  const Plan& from_;
  Plan* to_;
  std::map<TensorId, TensorId> tensors_;
  std::map<StorageId, StorageId> storages_;
};

// Names of state that the original updates and the candidate does not; or of one that it updates otherwise.
struct Missing {
  std::vector<std::string> names;
  std::set<StorageId> storages;  // the original's
  std::optional<std::string> other;
};

Missing FindMissing(const Plan& reference, const Plan& verified, const std::vector<std::string>& unchanged,
                    const std::vector<std::string>& other) {
  const std::set<StorageId> written = Written(reference), used = Used(verified);
  const std::map<std::string, TensorId> theirs = StateByName(verified);
  Missing missing;
  for (const auto& [name, id] : StateByName(reference)) {
    if (!written.contains(reference.tensors[id].storage)) continue;
    if (Contains(other, name)) missing.other = name;
    const auto found = theirs.find(name);
    const bool touched = found != theirs.end() && used.contains(verified.tensors[found->second].storage);
    if (touched && !Contains(unchanged, name)) continue;
    missing.names.push_back(name);
    missing.storages.insert(reference.tensors[id].storage);
  }
  return missing;
}

// Why the original's calls cannot stand behind the candidate's; empty: they can.
std::string Objection(const Plan& reference, const std::vector<const Step*>& steps, const Missing& missing) {
  const std::set<StorageId> written = Written(reference);
  std::set<StorageId> given;  // and written by the original, so maybe by the candidate
  auto add = [&](TensorId id) {
    const StorageId storage = reference.tensors[id].storage;
    if (written.contains(storage) && !missing.storages.contains(storage)) given.insert(storage);
  };
  ForEachTensor(reference.inputs, add);
  for (const auto& [name, id] : StateByName(reference)) add(id);
  for (const Step* step : steps) {
    const auto* aten = std::get_if<AtenStep>(step);
    if (std::holds_alternative<LaunchStep>(*step)) return "a kernel of the original makes them";
    if (aten != nullptr && IsRandom(aten->op)) return "they hang on random numbers";
    if (aten != nullptr && WritesStatistics(*aten))
      return "a norm makes them from what it is given, all of it anew";
    bool clash = false;
    ForEachUse(*step, [&](TensorId id) { clash |= given.contains(reference.tensors[id].storage); });
    if (clash) return "they are made from what the call changes, too";
  }
  return "";
}

}  // namespace

std::variant<Plan, EmitFailure> WithUpdates(const Plan& reference, Plan verified,
                                            const std::vector<std::string>& unchanged,
                                            const std::vector<std::string>& other) {
  const Missing missing = FindMissing(reference, verified, unchanged, other);
  if (missing.other) {
    return EmitFailure{fmt::format("it leaves other values in '{}' than the original", *missing.other)};
  }
  if (missing.names.empty()) return verified;
  const std::vector<const Step*> steps = StepsTo(reference, missing.storages);
  std::string why = Objection(reference, steps, missing);
  Mover mover(reference, &verified);
  for (const Step* step : steps) {
    if (why.empty() && !mover.Add(*step)) why = "they are made from what the constructor left";
  }
  if (why.empty()) return verified;
  return EmitFailure{fmt::format("it does not update '{}', nor can the original's calls do that alone: {}",
                                 missing.names.front(), why)};
}

std::string WrittenText(const Plan& plan, const Plan& reference) {
  const std::set<StorageId> written = Written(reference);
  std::vector<std::string> tensors, places;
  std::set<std::string> state;
  auto add = [&](bool writes) {
    if (writes) places.push_back(fmt::format("{}", tensors.size() - 1));
  };
  std::function<void(const Value&, const std::string&)> visit = [&](const Value& value,
                                                                    const std::string& at) {
    if (const auto* ref = std::get_if<TensorRef>(&value.v)) {
      tensors.push_back(at);
      add(written.contains(reference.tensors[ref->id].storage));
    }
    ForEachItem(value, at, visit);
  };
  for (size_t i = 0; i < reference.inputs.size(); ++i) visit(reference.inputs[i], fmt::format("args[{}]", i));
  for (const auto* entries : {&reference.state, &reference.unsaved}) {
    for (const StateEntry& entry : *entries)
      if (written.contains(reference.tensors[entry.tensor].storage)) state.insert(entry.name);
  }
  const size_t arguments = tensors.size();
  for (const StateEntry* entry : StateInOrder(plan)) {
    tensors.push_back("*state");
    add(state.contains(entry->name));
  }
  if (places.empty()) return "";
  if (tensors.size() > arguments) tensors.resize(arguments + 1);
  return fmt::format("[{}], {{{}}}", fmt::join(tensors, ", "), fmt::join(places, ", "));
}

}  // namespace tritogen
