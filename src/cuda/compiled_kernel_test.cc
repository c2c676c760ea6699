#include "cuda/compiled_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"

namespace tritogen::cuda {
namespace {

using nlohmann::json;

json GoodReply() {
  const json map = {
      {"swizzle", 3}, {"elem_size", 2}, {"elem_type", 6}, {"block_size", {32, 64}}, {"fp4_padded", false}};
  return {
      {"ok", true},
      {"kernel",
       {{"name", "k"},
        {"cubin", json::binary({1, 2, 3})},
        {"signature", {"*f16", "f32", "!tt.tensordesc<tensor<32x64xf16>>", "i32", "i32", "i64", "i64", "i1"}},
        {"slots", {{8, 8}, {4, 4}, {128, 64}, {4, 4}, {4, 4}, {8, 8}, {8, 8}, {1, 1}, {8, 8}, {8, 8}}},
        {"descriptors", {map}},
        {"num_warps", 4},
        {"num_ctas", 1},
        {"shared", 1024},
        {"tensor_memory", 0},
        {"global_scratch", {0, 1}},
        {"profile_scratch", {0, 1}},
        {"launch_pdl", false},
        {"launch_cooperative_grid", false},
        {"registers", 32},
        {"spill_bytes", 0}}}};
}

CompileOutcome Decode(const json& reply) {
  std::string bytes;
  json::to_msgpack(reply, bytes);
  return DecodeOutcome(bytes);
}

TEST(CompiledKernel, GoodRepliesAreRead) {
  const auto kernel = std::get<CompiledKernel>(Decode(GoodReply()));
  EXPECT_EQ(kernel.cubin, "\x01\x02\x03");
  EXPECT_EQ(kernel.parameters.size(), 8u);
  EXPECT_EQ(kernel.parameters[2].rank, 2);
  EXPECT_EQ(kernel.scratch_parameters, 2);
  EXPECT_EQ(kernel.shared_bytes, 1024);
}

TEST(CompiledKernel, FailuresSurviveTheCache) {
  const CompileFailure failure{CompileFailure::Reason::kPtxas, "no such instruction \x1b[31m"};
  const auto back = std::get<CompileFailure>(DecodeOutcome(EncodeFailure(failure)));
  EXPECT_EQ(back.reason, CompileFailure::Reason::kPtxas);
  EXPECT_EQ(back.detail, "no such instruction ?[31m");
}

// Each edit makes one thing wrong.
TEST(CompiledKernel, WhatDoesNotAddUpIsNoKernel) {
  const std::pair<const char*, json> edits[] = {
      {"/kernel/slots/1", {8, 8}},
      {"/kernel/slots/10", {8, 8}},
      {"/kernel/slots", json::array()},
      {"/kernel/signature/1", "f33"},
      {"/kernel/signature/2", "!tt.tensordesc<tensor<f16>>"},
      {"/kernel/descriptors", json::array()},
      {"/kernel/descriptors/0/block_size", {32}},
      {"/kernel/descriptors/1", GoodReply()["kernel"]["descriptors"][0]},
      {"/kernel/num_warps", 0},
      {"/kernel/shared", -1},
      {"/kernel/cubin", "text"},
      {"/kernel/unknown", 1},
      {"/ok", 1},
  };
  for (const auto& [place, value] : edits) {
    json reply = GoodReply();
    reply[json::json_pointer(place)] = value;
    EXPECT_THROW(Decode(reply), FormatError) << place;
  }
  EXPECT_THROW(DecodeOutcome(""), FormatError);
}

TEST(CompiledKernel, HostileBytesNeverCrashTheReader) {
  std::string good;
  json::to_msgpack(GoodReply(), good);
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good;
    for (int change = 0; change < 3; ++change) bytes[random() % bytes.size()] = static_cast<char>(random());
    if (i % 5 == 0) bytes.resize(random() % bytes.size());
    try {
      DecodeOutcome(bytes);
    } catch (const FormatError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 10000);
}

}  // namespace
}  // namespace tritogen::cuda
