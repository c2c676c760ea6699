// Weights whose products are taken for their size (by a softmax, an extremum, as queries and keys), where no
// bias is added that could be displaced in their place.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace tritogen {

struct TakenWeights {
  // By storage: of how many terms the sums are that it is a factor of.
  std::map<StorageId, int64_t> directly;
  // Likewise, where two such products are multiplied with each other first; in the order of their use.
  std::vector<std::pair<StorageId, int64_t>> in_pairs;
  // Products of two results, none of them a weight, are taken for their size, as attention's scores are that a
  // program computes itself.
  bool multiplies_results = false;

  bool empty() const { return directly.empty() && in_pairs.empty(); }
};

TakenWeights TakenWeightsOf(const Plan& plan);

}  // namespace tritogen
