#include "verify/opposed_factors.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "device/random.h"
#include "plan/visit.h"
#include "verify/local_flow.h"
#include "verify/work.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

// Beyond -10000, which is what blocks and masks are filled up with at most where it is not -Inf (or -10^6,
// which many take for it). Float16 holds products before they are divided, too.
constexpr double kDepth = 1 << 15, kMostInFloat16 = 1 << 15;
constexpr double kApart = 2;  // how far products differ, about
// What the program itself fills masks up with; products that lie below are another case to it.
constexpr double kLeastFill = 1000, kAboveFill = 4;

using Leaves = std::set<size_t>;

struct Factors {
  Leaves one, other;
  int64_t terms;
  Dtype dtype;
};

// The inputs behind both factors of a product; nothing where some input is behind both.
std::optional<Factors> FactorsOf(const Plan& plan, const AtenStep& step,
                                 const std::map<StorageId, Leaves>& reached) {
  const std::vector<TensorId> factors = FloatingFactors(plan, step);
  if (factors.size() < 2) return std::nullopt;
  const auto one = reached.find(plan.tensors[factors[0]].storage),
             other = reached.find(plan.tensors[factors[1]].storage);
  if (one == reached.end() || other == reached.end()) return std::nullopt;
  const auto shared = [&](size_t leaf) { return other->second.contains(leaf); };
  const std::vector<int64_t>& sizes = plan.tensors[factors[0]].sizes;
  if (sizes.empty() || sizes.back() == 0 || std::ranges::any_of(one->second, shared)) return std::nullopt;
  return Factors{one->second, other->second, sizes.back(), plan.tensors[factors[0]].dtype};
}

std::optional<Factors> Find(const Plan& plan, std::map<StorageId, Leaves> reached) {
  std::map<StorageId, Factors> products;
  for (const Step& each : plan.run) {
    const auto* step = std::get_if<AtenStep>(&each);
    if (step == nullptr) continue;
    if (const auto factors = FactorsOf(plan, *step, reached)) {
      if (IsAttention(*step)) return factors;
      for (const StorageId id : StoragesMade(plan, *step)) products.insert_or_assign(id, *factors);
      continue;
    }
    for (const StorageId id : StoragesRead(plan, *step)) {
      const auto product = products.find(id);
      if (product != products.end() && IsExtremum(*step)) return product->second;
      if (!IsLocal(plan, *step)) continue;
      for (const StorageId made : StoragesMade(plan, *step)) {
        if (const auto from = reached.find(id); from != reached.end() && made != id)
          reached[made].insert(from->second.begin(), from->second.end());
        if (product != products.end()) products.insert({made, product->second});
      }
    }
  }
  return std::nullopt;
}

double DepthFor(const Plan& plan, const Factors& factors) {
  const double most = MostDepth(plan), root = std::sqrt(static_cast<double>(factors.terms));
  return factors.dtype == Dtype::kFloat16 ? std::min(most, kMostInFloat16 / root) : most;
}

}  // namespace

double MostDepth(const Plan& plan) {
  double depth = kDepth;
  const auto spare = [&](const Value& value) {
    const auto* number = std::get_if<double>(&value.v);
    if (number != nullptr && *number <= -kLeastFill) depth = std::min(depth, -*number / kAboveFill);
  };
  for (const Step& each : plan.run) {
    const auto* step = std::get_if<AtenStep>(&each);
    if (step == nullptr) continue;
    std::ranges::for_each(step->args, spare);
    for (const auto& [name, value] : step->kwargs) spare(value);
  }
  return depth;
}

OpposedFactors OpposedFactorsOf(const Plan& plan) {
  const std::vector<TensorId> leaves = TensorLeaves(plan.inputs);
  std::map<StorageId, Leaves> reached;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (IsFloating(plan.tensors[leaves[i]].dtype)) reached[plan.tensors[leaves[i]].storage].insert(i);
  }
  const auto factors = Find(plan, std::move(reached));
  if (!factors) return {};
  OpposedFactors opposed{std::vector<int>(leaves.size(), 0), factors->terms, DepthFor(plan, *factors)};
  opposed.apart = std::ranges::any_of(plan.run, [](const Step& step) {
    const auto* aten = std::get_if<AtenStep>(&step);
    return aten != nullptr && OrdersFreely(*aten);
  });
  for (const size_t leaf : factors->one) opposed.sides[leaf] = 1;
  for (const size_t leaf : factors->other) opposed.sides[leaf] = -1;
  return opposed;
}

std::vector<at::Tensor> Oppose(const OpposedFactors& factors, const std::vector<at::Tensor>& generated,
                               uint64_t seed, double strength) {
  std::vector<at::Tensor> inputs = generated;
  for (size_t i = 0; i < inputs.size(); ++i) {
    at::Tensor& x = inputs[i];
    if (factors.sides[i] == 0 || x.numel() < 2 || !x.is_non_overlapping_and_dense()) continue;
    const Random random(seed, x.device());  // the same sizes and signs for all
    const double side = factors.sides[i] * (random.Number(0, 1) < 0.5 ? -1 : 1);
    // One is as large as the other, or twice as large.
    const double product = factors.depth * strength / std::sqrt(static_cast<double>(factors.terms));
    const double places = std::floor(std::log2(product));
    const double size = std::exp2(side < 0 ? std::floor(places / 2) : std::ceil(places / 2));
    const at::Tensor wide = x.to(at::kDouble);
    const at::Tensor apart = (wide - wide.mean()) / wide.std().clamp_min(1e-30) * (kApart / size);
    x = at::empty_like(x).copy_((factors.apart ? apart + size : at::full_like(wide, size)) * side);
  }
  return inputs;
}

}  // namespace tritogen
