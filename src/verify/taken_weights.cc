#include "verify/taken_weights.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "verify/local_flow.h"
#include "verify/work.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

class Walk {
 public:
  explicit Walk(const Plan& plan) : plan_(plan) {
    for (const StateEntry& entry : plan.state) {
      const TensorMeta& meta = plan.tensors[entry.tensor];
      if (entry.is_parameter && IsFloating(meta.dtype) && meta.sizes.size() > 1)
        weights_[meta.storage] = meta.storage;
    }
  }

  TakenWeights Run() {
    for (const Step& each : plan_.run) {
      if (const auto* step = std::get_if<AtenStep>(&each)) Pass(*step);
    }
    return std::move(taken_);
  }

 private:
  // What is behind a tensor.
  struct Products {
    std::vector<std::pair<StorageId, int64_t>> weights;  // with their terms
    bool paired = false;
  };

  void Pass(const AtenStep& step) {
    const std::vector<TensorId> factors = FloatingFactors(plan_, step);
    if (IsAttention(step) && factors.size() == 3) {
      for (const size_t i : {0, 1}) Take(plan_.tensors[factors[i]].storage, /*attends=*/true);
    } else if (IsExtremum(step)) {
      for (const StorageId id : StoragesRead(plan_, step)) Take(id, /*attends=*/false);
    } else if (factors.size() == 2) {
      Multiply(step, factors);
    } else if (IsLocal(plan_, step)) {
      const bool moves = KindOf(plan_, step) != OpKind::kCompute || step.op == "aten::_to_copy";
      for (const StorageId id : StoragesRead(plan_, step)) {
        for (const StorageId made : StoragesMade(plan_, step)) {
          if (moves && weights_.contains(id)) weights_[made] = weights_[id];
          if (products_.contains(id)) products_.insert({made, products_[id]});
          if (of_results_.contains(id)) of_results_.insert(made);
        }
      }
    }
  }

  void Multiply(const AtenStep& step, const std::vector<TensorId>& factors) {
    const StorageId one = plan_.tensors[factors[0]].storage, other = plan_.tensors[factors[1]].storage;
    const std::vector<int64_t>& sizes = plan_.tensors[factors[0]].sizes;
    if (!weights_.contains(one) && !weights_.contains(other)) of_results_.merge(StoragesMade(plan_, step));
    Products made;
    if (products_.contains(one) && products_.contains(other)) {
      made = products_[one];
      made.weights.insert(made.weights.end(), products_[other].weights.begin(),
                          products_[other].weights.end());
      made.paired = true;
    } else if (weights_.contains(other) && !IsConvolution(step) && !sizes.empty() &&
               !HasBias(step, factors)) {
      made.weights.push_back({weights_[other], sizes.back()});
    }
    if (made.weights.empty()) return;
    for (const StorageId id : StoragesMade(plan_, step)) products_[id] = made;
  }

  static bool IsConvolution(const AtenStep& step) { return step.op.find("conv") != std::string::npos; }

  static bool HasBias(const AtenStep& step, const std::vector<TensorId>& factors) {
    return std::ranges::any_of(step.args, [&](const Value& value) {
      const auto* tensor = std::get_if<TensorRef>(&value.v);
      return tensor != nullptr && std::ranges::find(factors, tensor->id) == factors.end();
    });
  }

  void Take(StorageId id, bool attends) {
    taken_.multiplies_results |= of_results_.contains(id);
    const auto found = products_.find(id);
    if (found == products_.end()) return;
    for (const auto& weight : found->second.weights) {
      if (!attends && !found->second.paired) {
        taken_.directly.insert(weight);
      } else if (std::ranges::find(taken_.in_pairs, weight) == taken_.in_pairs.end()) {
        taken_.in_pairs.push_back(weight);
      }
    }
  }

  const Plan& plan_;
  std::map<StorageId, StorageId> weights_;  // a tensor that holds a weight's numbers, and which
  std::map<StorageId, Products> products_;
  Storages of_results_;  // products of two results, and what local calls make of them
  TakenWeights taken_;
};

}  // namespace

TakenWeights TakenWeightsOf(const Plan& plan) {
  return Walk(plan).Run();
}

}  // namespace tritogen
