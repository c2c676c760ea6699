#include "runner/batch_bytes.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tritogen {
namespace {

std::vector<int32_t> Vector(std::span<const int32_t> run) {
  return {run.begin(), run.end()};
}

TEST(BatchBytes, RoundTrip) {
  const std::vector<int32_t> a = {1, 2, 3}, b = {7}, none;
  SamplingOptions sampling;
  sampling.seed = 0x123456789abcdefULL;
  sampling.top_k = 5, sampling.temperature = 0.25f;
  SamplingOptions penalty = sampling;
  penalty.repetition_penalty = 1.5f;
  Batch batch;
  batch.starts = {{3, sampling, a, 2}, {4, penalty, a, 3}};
  batch.copies = {{1, 9}, {2, 8}};
  batch.prefill = {{64, a, b, 9000}, {0, none, none}};
  batch.decode = {{2, 17, DecodeRow::kLast, 5, a}, {3, 1, 99, -1, b}};
  const std::string bytes = EncodeBatch(batch);
  const DecodedBatch decoded(bytes);
  const Batch& got = decoded.batch;
  ASSERT_EQ(got.starts.size(), 2u);
  EXPECT_EQ(got.starts[0].sampling.seed, sampling.seed);
  EXPECT_EQ(got.starts[0].sampling.top_k, 5);
  EXPECT_EQ(got.starts[0].sampling.temperature, 0.25f);
  EXPECT_TRUE(got.starts[0].seen.empty()) << "nobody asks";
  EXPECT_EQ(got.starts[0].prompt_tokens, 2);
  EXPECT_EQ(got.starts[1].slot, 4);
  EXPECT_EQ(Vector(got.starts[1].seen), a);
  ASSERT_EQ(got.copies.size(), 2u);
  EXPECT_EQ(got.copies[1].from, 2);
  EXPECT_EQ(got.copies[1].to, 8);
  ASSERT_EQ(got.prefill.size(), 2u);
  EXPECT_EQ(got.prefill[0].start, 64);
  EXPECT_EQ(got.prefill[0].stretch, 9000);
  EXPECT_EQ(Vector(got.prefill[0].tokens), a);
  EXPECT_EQ(Vector(got.prefill[0].blocks), b);
  ASSERT_EQ(got.decode.size(), 2u);
  EXPECT_EQ(got.decode[0].token, DecodeRow::kLast);
  EXPECT_EQ(got.decode[0].position, 17);
  EXPECT_EQ(got.decode[1].draw, -1);
  EXPECT_EQ(Vector(got.decode[0].blocks), a);
}

TEST(BatchBytes, WhatIsCutOffOrTooLongIsRefused) {
  const std::vector<int32_t> a = {1, 2, 3};
  Batch batch;
  batch.starts = {{3, {}, {}}};
  batch.prefill = {{64, a, a}};
  batch.decode = {{2, 17, DecodeRow::kLast, 5, a}};
  const std::string bytes = EncodeBatch(batch);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(DecodedBatch(std::string_view(bytes).substr(0, size)), FormatError) << size;
  EXPECT_THROW(DecodedBatch(bytes + std::string(4, '\0')), FormatError);
}

}  // namespace
}  // namespace tritogen
