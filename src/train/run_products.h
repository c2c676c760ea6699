// How a run computes its products (chosen_products.h), the same on all ranks and in all of its pieces.
#pragma once

#include <optional>
#include <string>

#include "ranks/ranks.h"
#include "train/chosen_products.h"
#include "train/sft.h"
#include "train/trainer.h"

namespace tritogen::train {

// A run that begins (`products`: nothing yet) decides: by trial on rank 0 where train.choose_products says
// so, otherwise by ATen. One that goes on does as it did. What a rank's library or card refuses becomes
// ATen's on all, with a remark. Called by all ranks, before the first step.
void SetProducts(const SftOptions& options, const SftRun& run, Ranks* ranks, Trainer* trainer,
                 std::optional<ProductChoices>* products);

// Rank 0's choices, on all ranks.
ProductChoices ProductsOfFirst(Ranks* ranks, const ProductChoices& mine, at::Device device);

// What any rank refuses of `products`, which all have alike.
std::set<std::string> RefusedByAny(Ranks* ranks, const ProductChoices& products,
                                   const std::set<std::string>& mine, at::Device device);

}  // namespace tritogen::train
