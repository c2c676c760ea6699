#include "verify/edges.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "plan/visit.h"
#include "verify/local_flow.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

constexpr std::string_view kStairs[] = {"aten::round", "aten::floor", "aten::ceil",
                                        "aten::trunc", "aten::fix",   "aten::frac"};
constexpr std::string_view kSigns[] = {"aten::sign", "aten::sgn"};
constexpr std::string_view kComparisons[] = {"aten::gt.Scalar", "aten::ge.Scalar", "aten::lt.Scalar",
                                             "aten::le.Scalar"};
// Two tensors may hang together (`x >= x.amax()`): what is equal for the eager program stays so.
constexpr std::string_view kOfTwo[] = {"aten::gt.Tensor", "aten::ge.Tensor", "aten::lt.Tensor",
                                       "aten::le.Tensor"};
constexpr std::string_view kFlat[] = {"aten::relu",      "aten::relu6",       "aten::clamp",
                                      "aten::clamp_min", "aten::clamp_max",   "aten::clip",
                                      "aten::hardtanh",  "aten::hardsigmoid", "aten::hardswish",
                                      "aten::threshold", "aten::maximum",     "aten::minimum"};

// Results: what stands at the places, and places, or these alone.
constexpr std::string_view kPicks[] = {
    "aten::topk",          "aten::sort",    "aten::argsort", "aten::kthvalue", "aten::median.dim",
    "aten::nanmedian.dim", "aten::max.dim", "aten::min.dim", "aten::argmax",   "aten::argmin"};

TensorId FloatingArgument(const Plan& plan, const AtenStep& step, size_t number = 0) {
  const auto* tensor = step.args.size() <= number ? nullptr : std::get_if<TensorRef>(&step.args[number].v);
  return tensor != nullptr && IsFloating(plan.tensors[tensor->id].dtype) ? tensor->id : kNoTensor;
}

// The edge of a comparison is moved where there are as many elements as it has results.
Edge EdgeOf(const Plan& plan, const AtenStep& step, EdgeKind kind) {
  const TensorId first = FloatingArgument(plan, step);
  const TensorId second = OneOf(step.op, kOfTwo) ? FloatingArgument(plan, step, 1) : kNoTensor;
  if (second == kNoTensor) return {&step, first, kind};
  const bool turns = plan.tensors[first].numel() < plan.tensors[second].numel();
  return {&step, turns ? second : first, kind, turns ? first : second};
}

// Of its dividend a quotient that is rounded makes steps as long as the divisor.
bool RoundsQuotient(const AtenStep& step, std::string_view name) {
  const Value* mode = name == "aten::div" ? FindArgument(step, "rounding_mode") : nullptr;
  return mode != nullptr && std::holds_alternative<std::string>(mode->v);
}

// Nothing where the call is smooth.
std::optional<EdgeKind> KindOfEdge(const Plan& plan, const AtenStep& step) {
  if (FloatingArgument(plan, step) == kNoTensor) return std::nullopt;
  const std::string_view base = WithoutOverload(step.op), name = OutOfPlaceName(step);
  if (base == "aten::_to_copy" && FirstResult(step) != kNoTensor) {
    const Dtype to = plan.tensors[step.outs[0]].dtype;
    if (IsFloating(to)) return std::nullopt;
    return to == Dtype::kBool ? EdgeKind::kStep : EdgeKind::kStairs;
  }
  if (OneOf(name, kStairs) || RoundsQuotient(step, name)) return EdgeKind::kStairs;
  if (OneOf(name, kSigns) || OneOf(step.op, kComparisons)) return EdgeKind::kStep;
  if (OneOf(step.op, kOfTwo) && FloatingArgument(plan, step, 1) != kNoTensor) return EdgeKind::kStep;
  if (OneOf(name, kFlat)) return EdgeKind::kFlat;
  return std::nullopt;
}

bool Meet(const Storages& a, const Storages& b) {
  return std::any_of(a.begin(), a.end(), [&](StorageId id) { return b.contains(id); });
}

// Calls from which the output is reached element by element, in order.
std::vector<const AtenStep*> LocalCalls(const Plan& plan, TensorId output) {
  std::vector<const AtenStep*> calls;
  Storages wanted = {plan.tensors[output].storage};
  for (size_t i = plan.run.size(); i-- > 0;) {
    const auto* step = std::get_if<AtenStep>(&plan.run[i]);
    if (step == nullptr || !Meet(StoragesMade(plan, *step), wanted) || !IsLocal(plan, *step)) continue;
    calls.push_back(step);
    wanted.merge(StoragesRead(plan, *step));
  }
  std::reverse(calls.begin(), calls.end());
  return calls;
}

// Its places are among what is wanted.
bool Picks(const Plan& plan, const AtenStep& step, const Storages& wanted) {
  const std::string_view base = WithoutOverload(step.op);
  if (!(OneOf(step.op, kPicks) || OneOf(base, kPicks)) || FloatingArgument(plan, step) == kNoTensor)
    return false;
  return std::ranges::any_of(step.outs, [&](TensorId id) {
    return id != kNoTensor && !IsFloating(plan.tensors[id].dtype) &&
           wanted.contains(plan.tensors[id].storage);
  });
}

// Calls that the output hangs on, in order, and which of them pick.
std::vector<std::pair<const AtenStep*, bool>> CallsBefore(const Plan& plan, TensorId output) {
  std::vector<std::pair<const AtenStep*, bool>> calls;
  Storages wanted = {plan.tensors[output].storage};
  for (size_t i = plan.run.size(); i-- > 0;) {
    const auto* step = std::get_if<AtenStep>(&plan.run[i]);
    if (step == nullptr || !Meet(StoragesMade(plan, *step), wanted)) continue;
    calls.emplace_back(step, Picks(plan, *step, wanted));
    wanted.merge(StoragesRead(plan, *step));
  }
  std::reverse(calls.begin(), calls.end());
  return calls;
}

}  // namespace

std::vector<Edge> JumpsWithin(const Plan& plan, TensorId output) {
  const std::vector<Edge> before = EdgesBefore(plan, output);
  std::vector<Edge> edges;
  Storages behind;
  for (const auto& [step, picks] : CallsBefore(plan, output)) {
    std::optional<EdgeKind> kind = picks ? EdgeKind::kPick : KindOfEdge(plan, *step);
    if (kind == EdgeKind::kFlat) kind.reset();
    const bool jumped = Meet(StoragesRead(plan, *step), behind);
    const bool known = std::ranges::any_of(before, [&](const Edge& e) { return e.step == step; });
    if (kind && !jumped && !known) edges.push_back(EdgeOf(plan, *step, *kind));
    if (kind || jumped) behind.merge(StoragesMade(plan, *step));
  }
  return edges;
}

std::vector<Edge> EdgesBefore(const Plan& plan, TensorId output) {
  std::vector<Edge> edges;
  Storages behind_jump, behind_any;
  for (const AtenStep* step : LocalCalls(plan, output)) {
    const std::optional<EdgeKind> kind = KindOfEdge(plan, *step);
    const bool jumps = kind && *kind != EdgeKind::kFlat;
    const Storages read = StoragesRead(plan, *step);
    bool jumped = Meet(read, behind_jump), any = Meet(read, behind_any);
    if (kind && !(jumps ? jumped : any)) edges.push_back(EdgeOf(plan, *step, *kind));
    jumped |= jumps;
    any |= kind.has_value();
    if (jumped) behind_jump.merge(StoragesMade(plan, *step));
    if (any) behind_any.merge(StoragesMade(plan, *step));
  }
  return edges;
}

}  // namespace tritogen
