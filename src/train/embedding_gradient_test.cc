#include "train/embedding_gradient.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <vector>

namespace tritogen::train {
namespace {

// `lengths` places of each id, in places that do not lie together.
at::Tensor Ids(const std::vector<int64_t>& lengths) {
  std::vector<int32_t> ids;
  for (size_t id = 0; id < lengths.size(); ++id)
    ids.insert(ids.end(), static_cast<size_t>(lengths[id]), static_cast<int32_t>(id));
  const auto count = static_cast<int64_t>(ids.size());
  return at::tensor(ids, at::kInt).index_select(0, at::arange(count).mul(7).remainder(count));
}

TEST(EmbeddingGradient, IsTheSumOfEachTokensRows) {
  at::manual_seed(1);
  const std::vector<int64_t> cases[] = {
      {1},
      {64, 64, 5},                // ids end where chunks end
      {63, 2, 63, 1, 0, 128, 9},  // and do not; one of all chunks that it is in
      {3, 2500, 1, 70},           // in more chunks than are added up at once
      {4000},
      {0, 1, 1, 1, 1, 1, 1, 0, 1},
  };
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    for (const std::vector<int64_t>& lengths : cases) {
      for (const int64_t hidden : {32, 208}) {
        const at::Tensor ids = Ids(lengths), d_x = at::randn({ids.numel(), hidden}).to(dtype);
        const at::Tensor gradient = at::randn({static_cast<int64_t>(lengths.size()), hidden});
        const at::Tensor expected =
            gradient.to(at::kDouble).index_add(0, ids.to(at::kLong), d_x.to(at::kDouble));
        EmbeddingGradient sums(ids.numel(), hidden, dtype, at::kCPU);
        sums.Add(ids, d_x, gradient);
        EXPECT_TRUE(at::allclose(gradient.to(at::kDouble), expected, 1e-5, 1e-4))
            << "ids " << lengths.size() << " tokens " << ids.numel() << " hidden " << hidden;
      }
    }
  }
}

}  // namespace
}  // namespace tritogen::train
