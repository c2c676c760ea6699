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

// NaN has no order: it is kept apart.
struct Values {
  bool nan = false;
  std::set<double> numbers;
};

void AddScalars(const AtenStep& step, Values* values) {
  const auto add = [&](const Value& value) {
    const auto* real = std::get_if<double>(&value.v);
    const auto* integer = std::get_if<int64_t>(&value.v);
    if (real == nullptr && integer == nullptr) return;
    const double size = std::abs(real != nullptr ? *real : static_cast<double>(*integer));
    if (size >= kLeastLarge) values->numbers.insert(size);
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
  if (all || OneOf(name, kAskForInf)) values.numbers.insert(kInf);
  if (compares || OneOf(name, kBounded)) AddScalars(step, &values);
  return values;
}

// What is put into a tensor of this dtype.
std::vector<double> Planted(const std::vector<double>& asked, at::ScalarType dtype, double strength) {
  const double most = LargestOf(dtype);
  std::vector<double> planted;
  for (const double value : asked) {
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
      values[leaf].numbers.insert(asked.numbers.begin(), asked.numbers.end());
    }
    if (!IsLocal(plan, *step)) continue;
    for (const StorageId id : StoragesMade(plan, *step)) reached[id].insert(from.begin(), from.end());
  }
  AskedValues asked;
  for (const Values& of_leaf : values) {
    asked.emplace_back(of_leaf.numbers.begin(), of_leaf.numbers.end());
    if (of_leaf.nan) asked.back().push_back(kNan);
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
    if (asked[i].empty() || !at::isFloatingType(x.scalar_type()) || !x.is_non_overlapping_and_dense() ||
        x.numel() == 0 || IsTwoValued(x))
      continue;
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
