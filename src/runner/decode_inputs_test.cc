#include "runner/decode_inputs.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <numeric>

namespace tritogen {
namespace {

constexpr int32_t kRows = 12;
constexpr SharingOptions kSharing = {
    .block_tokens = 64, .rows_of_item = 4, .wanted_items = 4, .least_saved = 4};

struct Fixture {
  Fixture() : slots(kRows + 1) {
    for (int32_t i = 0; i < kRows; ++i) {
      tables.push_back({1, 2, 10 + i});
      slots[i].seed = (uint64_t{7} << 32) + i;
      slots[i].top_k = i;
    }
    slots[kRows].temperature = 0.5;
    limits.slots = limits.decode_rows = kRows, limits.context = 200, limits.blocks = 99;
  }
  std::vector<DecodeRow> Rows(int32_t count) const {
    std::vector<DecodeRow> rows;
    for (int32_t i = 0; i < count; ++i)
      rows.push_back({.slot = i, .position = 130 + i, .token = 50 + i, .draw = 3, .blocks = tables[i]});
    return rows;
  }
  RunnerLimits limits;
  std::vector<SamplingOptions> slots;
  std::vector<std::vector<int32_t>> tables;
};

template <typename T>
std::vector<T> Values(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.contiguous().view({-1});
  return {flat.const_data_ptr<T>(), flat.const_data_ptr<T>() + flat.numel()};
}

TEST(DecodeInputs, RowsAndPadding) {
  const Fixture f;
  DecodeInputs inputs(f.limits, {}, at::kCPU);
  const DecodeInputs::Filled filled = inputs.Fill(f.Rows(3), f.slots);
  EXPECT_EQ(filled.shape, (DecodeShape{.rows = 4, .items = 0, .cuts = true}));
  EXPECT_TRUE(filled.fresh);
  EXPECT_FALSE(filled.tops);
  EXPECT_EQ(filled.sampling, (std::vector<std::pair<int32_t, int32_t>>{{0, 0}, {1, 0}, {2, 0}}));
  const DecodeRows rows = inputs.Rows(filled.shape, at::Tensor());
  EXPECT_EQ(Values<int32_t>(rows.tokens), (std::vector<int32_t>{50, 51, 52, 0}));
  EXPECT_EQ(Values<int32_t>(rows.slots), (std::vector<int32_t>{0, 1, 2, kRows}));
  EXPECT_EQ(Values<int32_t>(rows.positions), (std::vector<int32_t>{130, 131, 132, 0}));
  EXPECT_EQ(Values<int32_t>(rows.tables[2].narrow(0, 0, 3)), (std::vector<int32_t>{1, 2, 12}));
  EXPECT_EQ(rows.tables[3][0].item<int32_t>(), 99);
  EXPECT_FALSE(rows.items.defined());
  const SampleRows sampling = inputs.Sampling(filled.shape);
  EXPECT_EQ(Values<int32_t>(sampling.whole[2]), (std::vector<int32_t>{2, 3, 2, 7, 2}));
  EXPECT_EQ(sampling.whole[3][1].item<int32_t>(), -1);
  EXPECT_EQ(sampling.numbers[3][0].item<float>(), 0.5);
}

TEST(DecodeInputs, TwoRowsOfASequenceAreNotFreshAndShareNothing) {
  const Fixture f;
  DecodeInputs inputs(f.limits, kSharing, at::kCPU);
  std::vector<DecodeRow> rows = f.Rows(5);
  rows[4].slot = 3;
  const DecodeInputs::Filled filled = inputs.Fill(rows, f.slots);
  EXPECT_FALSE(filled.fresh);
  EXPECT_EQ(filled.shape.items, 0);
  EXPECT_TRUE(inputs.Fill(f.Rows(5), f.slots).fresh);
}

TEST(DecodeInputs, SharedBlocksAndPadding) {
  const Fixture f;
  DecodeInputs inputs(f.limits, kSharing, at::kCPU);
  inputs.Fill(f.Rows(kRows), f.slots);  // leaves numbers where the next step has padding
  const DecodeInputs::Filled filled = inputs.Fill(f.Rows(9), f.slots);
  EXPECT_EQ(filled.shape, (DecodeShape{.rows = 12, .items = 32, .cuts = true}));
  const DecodeRows rows = inputs.Rows(filled.shape, at::Tensor());
  const auto items = Values<int32_t>(rows.items.narrow(0, 0, 3));
  EXPECT_EQ(items, (std::vector<int32_t>{0, 4, 0, 2, 4, 4, 0, 2, 8, 1, 0, 2}));
  EXPECT_EQ(rows.items.narrow(0, 3, 29).count_nonzero().item<int64_t>(), 0);
  EXPECT_EQ(Values<int32_t>(rows.shares[5]), (std::vector<int32_t>{2, 1, 1, 1}));
  EXPECT_EQ(rows.shares.narrow(0, 9, 3).count_nonzero().item<int64_t>(), 0);
}

}  // namespace
}  // namespace tritogen
