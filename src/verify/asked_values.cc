#include "verify/asked_values.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "plan/visit.h"
#include "verify/aten_dtype.h"
#include "verify/inputs.h"
#include "verify/local_flow.h"
#include "verify/random.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                 kInf = std::numeric_limits<double>::infinity();
constexpr int64_t kTimes = 2;  // each is planted so often, where there is room
constexpr double kBeyond = 2, kFarBeyond = 2000;

// Calls that treat NaN, or Inf, as no other number.
constexpr std::string_view kAskForNan[] = {"aten::isnan", "aten::nansum", "aten::nanmedian", "aten::fmax",
                                           "aten::fmin"};
constexpr std::string_view kAskForInf[] = {"aten::isinf", "aten::isposinf", "aten::isneginf"};
constexpr std::string_view kComparisons[] = {"aten::eq", "aten::ne", "aten::gt",
                                             "aten::ge", "aten::lt", "aten::le"};
constexpr std::string_view kBounded[] = {"aten::clamp", "aten::clamp_min", "aten::clamp_max",
                                         "aten::clip",  "aten::hardtanh",  "aten::threshold"};

// Calls that jump at numbers of theirs, or at whole numbers and halves of them.
constexpr std::string_view kSteps[] = {"aten::threshold", "aten::hardshrink"};
constexpr std::string_view kRoundings[] = {"aten::round", "aten::floor", "aten::ceil", "aten::trunc",
                                           "aten::frac"};
constexpr double kTies[] = {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5}, kWholes[] = {-3, -2, -1, 2, 3};
constexpr double kUsualStep = 0.5;  // of hardshrink

// Calls to which the sign of a zero matters.
constexpr std::string_view kAskForSigns[] = {"aten::signbit", "aten::copysign", "aten::atan2"};

// NaN has no order, and zeros of both signs have none between them: they are kept apart.
struct Values {
  bool nan = false, negative_zero = false;
  std::set<double> beyond, exactly;
};

void AddScalars(const AtenStep& step, bool compares, Values* values) {
  const auto add = [&](const Value& value) {
    const auto* real = std::get_if<double>(&value.v);
    const auto* integer = std::get_if<int64_t>(&value.v);
    if (real == nullptr && integer == nullptr) return;
    const double number = real != nullptr ? *real : static_cast<double>(*integer), size = std::abs(number);
    if (size >= kLeastLarge) values->beyond.insert(size);
    if (compares && std::isfinite(number) && number != 0) values->exactly.insert(number);
  };
  for (const Value& value : step.args) add(value);
  for (const auto& [name, value] : step.kwargs) add(value);
}

// `x == x` is false for NaN alone.
bool ComparesWithItself(const AtenStep& step) {
  return step.args.size() == 2 && std::holds_alternative<TensorRef>(step.args[0].v) &&
         step.args[0] == step.args[1];
}

Values AskedBy(const AtenStep& step) {
  Values values;
  const std::string_view name = OutOfPlaceName(step);
  const bool compares = OneOf(name, kComparisons);
  const bool all = name == "aten::nan_to_num";
  values.nan = all || OneOf(name, kAskForNan) || (compares && ComparesWithItself(step));
  if (all || OneOf(name, kAskForInf)) values.beyond.insert(kInf);
  const bool steps = OneOf(name, kSteps);
  if (compares || steps || OneOf(name, kBounded)) AddScalars(step, compares || steps, &values);
  if (name == "aten::hardshrink") {
    if (values.exactly.empty()) values.exactly.insert(kUsualStep);
    for (const double step_at : std::set<double>(values.exactly)) values.exactly.insert(-step_at);
  }
  if (name == "aten::round") values.exactly.insert(std::begin(kTies), std::end(kTies));
  if (OneOf(name, kRoundings)) values.exactly.insert(std::begin(kWholes), std::end(kWholes));
  values.negative_zero = OneOf(name, kAskForSigns);
  return values;
}

// How many elements the integers in `id` choose from where a call reads them as places, and as nothing else.
std::optional<int64_t> ChoicesIn(const Plan& plan, const AtenStep& step, TensorId id) {
  struct Role {
    std::string_view op;
    const char *places, *of;
    std::optional<int64_t> dim;  // nothing: the argument `dim`
  };
  constexpr Role kRoles[] = {{"aten::embedding", "indices", "weight", 0},
                             {"aten::index_select", "index", "self", {}},
                             {"aten::gather", "index", "self", {}},
                             {"aten::nll_loss_forward", "target", "self", 1},
                             {"aten::nll_loss2d_forward", "target", "self", 1},
                             {"aten::cross_entropy_loss", "target", "self", 1}};
  for (const Role& role : kRoles) {
    if (WithoutOverload(step.op) != role.op || TensorArgument(step, role.places) != id) continue;
    const TensorId of = TensorArgument(step, role.of);
    const Value* given = role.dim ? nullptr : FindArgument(step, "dim");
    const auto* number = given == nullptr ? nullptr : std::get_if<int64_t>(&given->v);
    if (of == kNoTensor || of == id || (!role.dim && number == nullptr)) return std::nullopt;
    const auto& sizes = plan.tensors[of].sizes;
    const auto rank = static_cast<int64_t>(sizes.size());
    const int64_t dim = role.dim ? std::min(*role.dim, rank - 1) : *number + (*number < 0 ? rank : 0);
    return dim >= 0 && dim < rank && sizes[dim] > 0 ? std::optional(sizes[dim]) : std::nullopt;
  }
  if (step.op != "aten::index.Tensor") return std::nullopt;
  const Value* indices = FindArgument(step, "indices");
  const auto* list = indices == nullptr ? nullptr : std::get_if<Value::List>(&indices->v);
  const TensorId self = TensorArgument(step, "self");
  if (list == nullptr || self == kNoTensor || self == id) return std::nullopt;
  for (size_t d = 0; d < list->size(); ++d) {
    const auto* index = std::get_if<TensorRef>(&(*list)[d].v);
    if (index != nullptr && index->id == id) return plan.tensors[self].sizes.at(d);
  }
  return std::nullopt;
}

// Nothing where a call does something else with the integers of this input than choose by them, or none does.
std::optional<int64_t> ChoicesOf(const Plan& plan, TensorId leaf) {
  const StorageId storage = plan.tensors[leaf].storage;
  std::optional<int64_t> choices;
  for (const Step& each : plan.run) {
    const auto* step = std::get_if<AtenStep>(&each);
    std::set<TensorId> used;
    ForEachUse(each, [&](TensorId id) {
      if (plan.tensors[id].storage == storage) used.insert(id);
    });
    if (used.empty()) continue;
    if (step == nullptr) return std::nullopt;
    if (StoragesMade(plan, *step) == Storages{storage} && WrittenArguments(*step).empty())
      continue;  // a view
    std::optional<int64_t> here;
    for (const TensorId id : used) {
      if (const auto found = ChoicesIn(plan, *step, id)) here = std::min(*found, here.value_or(*found));
    }
    if (!here) return std::nullopt;
    choices = std::min(*here, choices.value_or(*here));
  }
  return choices;
}

// What is put into a tensor of this dtype.
std::vector<double> Planted(const Asked& asked, at::ScalarType dtype, double strength) {
  const double most = LargestOf(dtype);
  std::vector<double> planted;
  for (const double value : asked.exactly) {
    if (at::tensor(value, at::kDouble).to(dtype).to(at::kDouble).item<double>() == value)
      planted.push_back(value);
  }
  for (const double value : asked.beyond) {
    if (std::isnan(value)) planted.push_back(value);
    if (std::isinf(value)) planted.insert(planted.end(), {value, -value});
    if (!std::isfinite(value)) continue;
    for (const double times : {kBeyond, kFarBeyond}) {
      if (value * times > most || (times == kFarBeyond && strength < 1)) continue;
      planted.insert(planted.end(), {value * times, -value * times});
    }
  }
  return planted;
}

// Who counts on an order gets another one of the kind. In each line the least becomes the first choice and
// the largest the last one, in a tensor of short lines those of all: what was in order stays so, and what was
// distinct.
at::Tensor WithEndsOf(int64_t choices, const at::Tensor& x) {
  constexpr int64_t kShort = 2;
  const bool alone = x.dim() == 0 || x.size(-1) <= kShort;
  const at::Tensor chosen = !alone && IsAscending(x) ? Delayed(x) : x;
  const at::Tensor least = alone ? x.min() : x.amin(-1, true), most = alone ? x.max() : x.amax(-1, true);
  return at::where(chosen.eq(least), 0, at::where(chosen.eq(most), choices - 1, chosen));
}

}  // namespace

AskedValues AskedValuesOf(const Plan& plan) {
  const std::vector<TensorId> leaves = TensorLeaves(plan.inputs);
  std::map<StorageId, std::set<size_t>> reached;  // which inputs reach it element by element
  for (size_t i = 0; i < leaves.size(); ++i) reached[plan.tensors[leaves[i]].storage].insert(i);
  std::vector<Values> values(leaves.size());
  for (const Step& each : plan.run) {
    const auto* step = std::get_if<AtenStep>(&each);
    if (step == nullptr) continue;
    std::set<size_t> from;
    for (const StorageId id : StoragesRead(plan, *step)) {
      if (const auto found = reached.find(id); found != reached.end())
        from.insert(found->second.begin(), found->second.end());
    }
    const Values asked = AskedBy(*step);
    for (const size_t leaf : from) {
      values[leaf].nan |= asked.nan;
      values[leaf].negative_zero |= asked.negative_zero;
      values[leaf].beyond.insert(asked.beyond.begin(), asked.beyond.end());
      values[leaf].exactly.insert(asked.exactly.begin(), asked.exactly.end());
    }
    if (!IsLocal(plan, *step)) continue;
    for (const StorageId id : StoragesMade(plan, *step)) reached[id].insert(from.begin(), from.end());
  }
  AskedValues asked;
  for (size_t i = 0; i < leaves.size(); ++i) {
    Asked& of_leaf = asked.emplace_back();
    const Dtype dtype = plan.tensors[leaves[i]].dtype;
    if (dtype == Dtype::kInt64 || dtype == Dtype::kInt32) of_leaf.choices = ChoicesOf(plan, leaves[i]);
    if (!IsFloating(dtype)) continue;
    of_leaf.beyond.assign(values[i].beyond.begin(), values[i].beyond.end());
    if (values[i].nan) of_leaf.beyond.push_back(kNan);
    of_leaf.exactly.assign(values[i].exactly.begin(), values[i].exactly.end());
    if (values[i].negative_zero) of_leaf.exactly.push_back(-0.0);
  }
  return asked;
}

bool AsksForAny(const AskedValues& asked) {
  return std::ranges::any_of(asked, [](const auto& of_leaf) { return !of_leaf.empty(); });
}

std::vector<at::Tensor> PlantAsked(const AskedValues& asked, const std::vector<at::Tensor>& generated,
                                   uint64_t seed, double strength) {
  std::vector<at::Tensor> inputs;
  for (size_t i = 0; i < generated.size(); ++i) {
    const at::Tensor& x = generated[i];
    inputs.push_back(x);
    if (asked[i].empty() || !x.is_non_overlapping_and_dense() || x.numel() == 0) continue;
    if (asked[i].choices) {
      inputs.back() = at::empty_like(x).copy_(WithEndsOf(*asked[i].choices, x));
      continue;
    }
    if (IsTwoValued(x)) continue;
    const std::vector<double> values = Planted(asked[i], x.scalar_type(), strength);
    const Random random(SubSeed(seed, i), x.device());
    const auto count = static_cast<int64_t>(values.size());
    const int64_t places = std::clamp<int64_t>(x.numel() / 4, 1, kTimes * count);
    if (count == 0) continue;
    // In small tensors chance says which of them there is room for.
    const at::Tensor order = random.Permutation(count).repeat({kTimes}).slice(0, 0, places);
    const at::Tensor chosen = at::tensor(values, at::kDouble).to(x.device()).index_select(0, order);
    const at::Tensor where = random.Permutation(x.numel()).slice(0, 0, places);
    inputs.back() = at::empty_like(x).copy_(
        x.contiguous().flatten().index_put({where}, chosen.to(x.scalar_type())).view(x.sizes()));
  }
  return inputs;
}

}  // namespace tritogen
