#include "verify/inner_noise.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "device/random.h"
#include "plan/visit.h"
#include "verify/inputs.h"
#include "verify/local_flow.h"
#include "verify/work.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

constexpr size_t kKey = 1;         // among the arguments of attention
constexpr double kUnit = 0x1p-24;  // half of the last place of one in float32
// So many halves of a unit the mean of a few hundred equal numbers may be off that are added up one by one.
constexpr double kMeanOff = 4;
// So many a number near one may be off, of two or three roundings.
constexpr double kOneOff = 2;
// So many a running sum or product, whose neighbour is off by others where it is associated otherwise.
constexpr double kScanOff = 2;
// So many the exponential of a number near one is off, again and again, in one library and not in another.
constexpr double kExponentialOff = 2;

bool IsStatistic(const AtenStep& step) {
  return IsVariance(step) || IsNorm(step);
}

bool IsSum(const AtenStep& step) {
  const std::string_view base = WithoutOverload(step.op);
  return base == "aten::sum" || base == "aten::mean";
}

bool IsScan(const AtenStep& step) {
  const std::string_view base = OutOfPlaceName(step);
  return base == "aten::cumsum" || base == "aten::cumprod";
}

// As large as each result of a scan was on the way to it: of a running sum, the largest one so far.
at::Tensor SizesInScan(const AtenStep& step, const at::Tensor& result) {
  const at::Tensor sizes = result.abs();
  const Value* given = FindArgument(step, "dim");
  const auto* dim = given == nullptr ? nullptr : std::get_if<int64_t>(&given->v);
  if (dim == nullptr || OutOfPlaceName(step) == "aten::cumprod") return sizes;
  return std::get<0>(at::cummax(sizes, *dim));
}

// One number for each of the sums that a call makes: the sizes of its argument with 1 for what it reduces.
std::vector<int64_t> OneForEachSum(const AtenStep& step, std::vector<int64_t> sizes) {
  const Value* given = FindArgument(step, "dim");
  const auto* dims = given == nullptr ? nullptr : std::get_if<Value::List>(&given->v);
  if (dims == nullptr || dims->empty()) return std::vector<int64_t>(sizes.size(), 1);
  const auto rank = static_cast<int64_t>(sizes.size());
  for (const Value& value : *dims) {
    const auto* dim = std::get_if<int64_t>(&value.v);
    if (dim != nullptr && *dim >= -rank && *dim < rank) sizes[*dim < 0 ? *dim + rank : *dim] = 1;
  }
  return sizes;
}

// One number for each block of neighbours, four along each dimension.
at::Tensor OfNeighbours(const Random& random, at::IntArrayRef sizes, double most) {
  constexpr int64_t kBlocks = 4;
  std::vector<int64_t> blocks;
  for (const int64_t size : sizes) blocks.push_back(std::min(size, kBlocks));
  at::Tensor numbers = random.Uniform(blocks, -most, most);
  for (size_t d = 0; d < sizes.size(); ++d) {
    const at::Tensor place = at::arange(sizes[d], numbers.options().dtype(at::kLong));
    numbers = numbers.index_select(static_cast<int64_t>(d), at::floor_divide(place * blocks[d], sizes[d]));
  }
  return numbers;
}

// Whose small values honest programs make as differences of numbers near one, or sums.
bool PassesOne(const AtenStep& step) {
  constexpr std::string_view kNearOne[] = {
      "aten::softplus", "aten::mish",  "aten::log_sigmoid", "aten::log_sigmoid_forward",
      "aten::elu",      "aten::celu",  "aten::selu",        "aten::binary_cross_entropy_with_logits",
      "aten::tanh",     "aten::gelu",  "aten::expm1",       "aten::log1p",
      "aten::sinh",     "aten::asinh", "aten::atanh"};
  return std::ranges::count(kNearOne, OutOfPlaceName(step)) > 0;
}

// What one library's function is off by is another's secret. It is the same for equal numbers, and adds up
// where results are multiplied with each other, as the factors of a state are that decays; and no input
// moves angles that are made of constants.
bool IsExponential(const AtenStep& step) {
  constexpr std::string_view kExponentials[] = {"aten::exp", "aten::exp2", "aten::pow"};
  return std::ranges::count(kExponentials, OutOfPlaceName(step)) > 0;
}

// Memory whose values the trials and the settings of weights move.
std::set<StorageId> MovedAnyway(const Plan& plan) {
  std::set<StorageId> storages;
  for (const TensorId id : TensorLeaves(plan.inputs)) storages.insert(plan.tensors[id].storage);
  for (const StateEntry& entry : plan.state) storages.insert(plan.tensors[entry.tensor].storage);
  return storages;
}

// By how much of itself each number that a call is given moves.
at::Tensor ShareMoved(const AtenStep& step, at::IntArrayRef given, const Random& random) {
  std::vector<int64_t> sizes = given.vec();
  if (IsAttention(step)) sizes.back() = 1;
  at::Tensor share = random.Uniform(sizes, -kUnit, kUnit);
  // Equal numbers that are added up one by one are rounded the same way again and again.
  if (IsSum(step)) share = share + random.Uniform(OneForEachSum(step, sizes), -kUnit, kUnit);
  // What is left of equal numbers without a mean that is off has one sign: pooling does not average it out.
  if (IsStatistic(step)) share = share + OfNeighbours(random, sizes, kMeanOff * kUnit);
  return share;
}

}  // namespace

std::vector<Probe> InnerProbes(const Plan& plan, bool sums) {
  const std::set<StorageId> moved = MovedAnyway(plan);
  std::vector<Probe> probes;
  for (const Step& step : plan.run) {
    const auto* aten = std::get_if<AtenStep>(&step);
    const TensorId result = aten == nullptr ? kNoTensor : FirstResult(*aten);
    const bool of_result =
        result != kNoTensor && (PassesOne(*aten) || IsScan(*aten) || IsNorm(*aten) || IsExponential(*aten));
    if (of_result && plan.tensors[result].dtype == Dtype::kFloat32) {
      probes.push_back({.step = aten, .tensor = result, .nudge = {}, .seen = {}, .of_result = true});
      if (!IsNorm(*aten)) continue;
    }
    if (aten == nullptr || (!IsStatistic(*aten) && !IsAttention(*aten) && !(sums && IsSum(*aten)))) continue;
    const size_t at = IsAttention(*aten) ? kKey : 0;
    const auto* tensor = at < aten->args.size() ? std::get_if<TensorRef>(&aten->args[at].v) : nullptr;
    if (tensor == nullptr || plan.tensors[tensor->id].dtype != Dtype::kFloat32) continue;
    const TensorMeta& meta = plan.tensors[tensor->id];
    if (at == 0 && moved.contains(meta.storage) && meta.HoldsEachElement()) continue;
    probes.push_back({aten, tensor->id, {}, {}});
  }
  return probes;
}

bool MovesNearOne(const Probe& probe) {
  return probe.of_result && PassesOne(*probe.step);
}

bool MovesExponential(const Probe& probe) {
  return probe.of_result && IsExponential(*probe.step);
}

void MoveInside(uint64_t seed, bool rounded_only, std::vector<Probe>* probes) {
  for (Probe& probe : *probes) {
    probe.nudge.reset();
    if (!probe.seen.defined() || probe.seen.dim() == 0) continue;
    const Random random(SubSeed(seed, probe.tensor), probe.seen.device());
    const at::Tensor whole = probe.seen.to(at::kDouble);
    if (!probe.of_result) {
      probe.nudge = whole * ShareMoved(*probe.step, whole.sizes(), random);
    } else if (IsScan(*probe.step)) {
      probe.nudge = SizesInScan(*probe.step, whole) *
                    random.Uniform(whole.sizes(), -kScanOff * kUnit, kScanOff * kUnit);
    } else if (MovesExponential(probe)) {
      // The same for all of them, which are of one library, and another for each.
      const double alike = Random(seed, probe.seen.device()).Number(-kExponentialOff, kExponentialOff);
      const at::Tensor own = random.Uniform(whole.sizes(), -kExponentialOff, kExponentialOff);
      probe.nudge = whole * ((own + alike) * kUnit);
    } else {
      probe.nudge = random.Uniform(whole.sizes(), -kOneOff * kUnit, kOneOff * kUnit);
    }
    if (rounded_only) probe.nudge = at::where(whole.to(at::kFloat).eq(whole), 0, probe.nudge);
  }
}

}  // namespace tritogen
