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

// Beyond -10000, which is what blocks and masks are filled up with at most where it is not -Inf. More would
// leave float32 too few places for what tells one product from the next.
constexpr double kLeastDepth = 12000, kMostDepth = 40000;
constexpr double kApart = 2;  // how far products differ, about

using Leaves = std::set<size_t>;

struct Factors {
  Leaves one, other;
  int64_t terms;
};

// The inputs behind both factors of a product; nothing where some input is behind both.
std::optional<Factors> FactorsOf(const Plan& plan, const AtenStep& step,
                                 const std::map<StorageId, Leaves>& reached) {
  const std::vector<TensorId> factors = Float32Factors(plan, step);
  if (factors.size() < 2) return std::nullopt;
  const auto one = reached.find(plan.tensors[factors[0]].storage),
             other = reached.find(plan.tensors[factors[1]].storage);
  if (one == reached.end() || other == reached.end()) return std::nullopt;
  const auto shared = [&](size_t leaf) { return other->second.contains(leaf); };
  const std::vector<int64_t>& sizes = plan.tensors[factors[0]].sizes;
  if (sizes.empty() || sizes.back() == 0 || std::ranges::any_of(one->second, shared)) return std::nullopt;
  return Factors{one->second, other->second, sizes.back()};
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

}  // namespace

OpposedFactors OpposedFactorsOf(const Plan& plan) {
  const std::vector<TensorId> leaves = TensorLeaves(plan.inputs);
  std::map<StorageId, Leaves> reached;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (plan.tensors[leaves[i]].dtype == Dtype::kFloat32) reached[plan.tensors[leaves[i]].storage].insert(i);
  }
  const auto factors = Find(plan, std::move(reached));
  if (!factors) return {};
  OpposedFactors opposed{std::vector<int>(leaves.size(), 0), factors->terms};
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
    const double depth = random.Magnitude(kLeastDepth, kMostDepth) * strength;
    const double size = std::sqrt(depth / std::sqrt(static_cast<double>(factors.terms)));
    const double side = factors.sides[i] * (random.Number(0, 1) < 0.5 ? -1 : 1);
    const at::Tensor wide = x.to(at::kDouble);
    const at::Tensor apart = (wide - wide.mean()) / wide.std().clamp_min(1e-30) * (kApart / size);
    x = at::empty_like(x).copy_((apart + size) * side);
  }
  return inputs;
}

}  // namespace tritogen
