#include "verify/replay_bind.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "plan/visit.h"

namespace tritogen {
namespace {

// Does every value of `narrow` exist in `wide`?
bool Holds(Dtype wide, Dtype narrow) {
  if (wide == narrow) return true;
  if (!IsFloating(wide) || !IsFloating(narrow)) return false;
  return wide == Dtype::kFloat64 || (wide == Dtype::kFloat32 && narrow != Dtype::kFloat64);
}

const TensorRef* TensorArg(const AtenStep& step, size_t index) {
  return index < step.args.size() ? std::get_if<TensorRef>(&step.args[index].v) : nullptr;
}

class Tracer {
 public:
  explicit Tracer(const Plan& plan) : plan_(plan) {}

  // The way back, from the state itself to where its value first stood.
  std::vector<BindPoint> Trace(TensorId state) const {
    std::vector<BindPoint> way;
    for (TensorId view = state; view != kNoTensor && way.size() < kMostHops;) {
      way.push_back(LastWrite(view));
      view = SourceOf(way.back(), view);
    }
    return way;
  }

 private:
  static constexpr size_t kMostHops = 64;

  // The last step that makes or writes memory of the tensor's storage. Views of it write nothing.
  BindPoint LastWrite(TensorId view) const {
    StorageId storage = plan_.tensors[view].storage;
    BindPoint point{-1, view, view};
    for (size_t i = 0; i < plan_.setup.size(); ++i) {
      const Step& step = plan_.setup[i];
      TensorId written = kNoTensor;
      ForEachResult(step, [&](TensorId id) {
        if (plan_.tensors[id].storage == storage && (point.step < 0 || IsInPlace(step, id))) written = id;
      });
      ForEachUse(step, [&](TensorId id) {
        if (std::holds_alternative<LaunchStep>(step) && plan_.tensors[id].storage == storage) written = id;
      });
      if (written != kNoTensor) point = {static_cast<int>(i), written, view};
    }
    return point;
  }

  // In place: the result is one of the arguments.
  static bool IsInPlace(const Step& step, TensorId result) {
    bool used = false;
    ForEachUse(step, [&](TensorId id) { used |= id == result; });
    return used;
  }

  // Where a lossless copy that fills the whole view took its values; kNoTensor when the step made them.
  TensorId SourceOf(const BindPoint& point, TensorId view) const {
    if (point.step < 0) return kNoTensor;
    const auto* step = std::get_if<AtenStep>(&plan_.setup[point.step]);
    if (!step) return kNoTensor;
    const std::string_view base = WithoutOverload(step->op);
    const bool copies_back = base == "aten::copy_";
    if (!copies_back && !OneOf(base, {"aten::_to_copy", "aten::clone", "aten::lift_fresh_copy"}))
      return kNoTensor;
    const TensorRef* source = TensorArg(*step, copies_back ? 1 : 0);
    if (!source) return kNoTensor;
    const TensorMeta& to = plan_.tensors[view];
    const TensorMeta& from = plan_.tensors[source->id];
    const TensorMeta& copied = plan_.tensors[point.through];
    bool whole = to.sizes == from.sizes && copied.sizes == to.sizes && copied.offset == to.offset;
    const bool lossless = Holds(from.dtype, to.dtype) && from.HoldsEachElement();
    return whole && to.storage != from.storage && lossless ? source->id : kNoTensor;
  }

  const Plan& plan_;
};

}  // namespace

std::unordered_map<std::string, BindPoint> FindBindPoints(const Plan& plan) {
  Tracer tracer(plan);
  auto storage_of = [&](TensorId id) { return plan.tensors[id].storage; };
  std::vector<std::vector<BindPoint>> ways;
  std::unordered_map<StorageId, std::unordered_set<StorageId>>
      reached_from;  // memory on the way ← memory of the state
  for (const StateEntry& entry : plan.state) {
    ways.push_back(tracer.Trace(entry.tensor));
    for (const BindPoint& point : ways.back())
      reached_from[storage_of(point.view)].insert(storage_of(entry.tensor));
  }
  std::unordered_map<std::string, BindPoint> points;
  for (size_t i = 0; i < ways.size(); ++i) {
    // Layers that were copied from one another are bound one by one: not where they still shared a value.
    size_t last = ways[i].size() - 1;
    while (last > 0 && reached_from[storage_of(ways[i][last].view)].size() > 1) --last;
    points.emplace(plan.state[i].name, ways[i][last]);
  }
  return points;
}

}  // namespace tritogen
