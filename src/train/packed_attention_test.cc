#include "train/packed_attention.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/rounding.h"
#include "device/builtin_launch.h"
#include "train/train_test_util.h"

namespace tritogen::train {
namespace {

// Tiles by what `work` says of them, most first; those with as much in their order.
std::vector<int32_t> Sorted(const std::vector<int64_t>& work) {
  std::vector<int32_t> order(work.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(), [&](int32_t tile) { return work[tile]; });
  return order;
}

std::vector<int32_t> ToVector(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<int32_t>(), tensor.const_data_ptr<int32_t>() + tensor.numel()};
}

TEST(OrderTiles, MostWorkFirst) {
  constexpr int64_t kRows = 32;
  for (const std::vector<int64_t>& lengths :
       {std::vector<int64_t>{200, 1, 31, 500, 64, 64, 3, 0}, {7}, {32, 32, 32}, {40000, 1, 2000, 0}}) {
    const DeviceBatch batch = RandomBatch(1, lengths, 83, false);
    const int64_t tokens = batch.tokens.numel(), tiles = CeilDiv(tokens, kRows);
    const at::Tensor ends = at::empty({tokens}, at::kInt), by_keys = at::full({tiles}, -1, at::kInt),
                     by_queries = at::full({tiles}, -1, at::kInt);
    LaunchBuiltin("document_ends", batch.starts.numel() - 1, {batch.starts, ends});
    LaunchBuiltin("order_tiles", tiles, {batch.positions, ends, by_keys, by_queries, tokens, kRows, tiles});
    const std::vector<int32_t> positions = ToVector(batch.positions), end_of = ToVector(ends);
    std::vector<int64_t> keys, queries;
    for (int64_t start = 0; start < tokens; start += kRows) {
      const int64_t end = std::min(start + kRows, tokens);
      keys.push_back(end - (start - positions[start]));
      queries.push_back(end_of[end - 1] - start);
    }
    EXPECT_EQ(ToVector(by_keys), Sorted(keys));
    EXPECT_EQ(ToVector(by_queries), Sorted(queries));
  }
}

}  // namespace
}  // namespace tritogen::train
