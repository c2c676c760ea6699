// Products of which a triangle is kept.
#include <gtest/gtest.h>

#include <functional>

#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

const std::vector<int64_t> kSizes = {300, 300};

// What the first answer says of x·y with `work` behind it, whose result is not the product itself.
std::string SourceOf(const std::function<NodeId(Maker&, NodeId)>& work, bool product_too = false) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", kSizes), y = m.Leaf(NodeKind::kInput, "y", kSizes);
  NodeId product = m.Op("aten::mm", {Ref(x), Ref(y)}, kSizes);
  Program program = m.Finish(work(m, product));
  if (product_too) {
    program.outputs.push_back({product});
    program.structure = "(*, *)";
  }
  const auto answers = TeachFunction(program, true);
  return answers.empty() ? "" : answers[0].source;
}

NodeId Lower(Maker& m, NodeId product) {
  return m.Op("aten::tril", {Ref(product), Arg{int64_t{-3}}}, kSizes);
}

TEST(Triangle, TilesOfZerosMakeNoSums) {
  EXPECT_TRUE(Says(SourceOf(Lower), "end = tl.where(pid_n * BLOCK_N < (pid_m + 1) * BLOCK_M - 3, K, 0)"))
      << SourceOf(Lower);
  const auto upper = [](Maker& m, NodeId product) {
    NodeId half = m.Op("aten::mul.Tensor", {Ref(product), Arg{0.5}}, kSizes);
    return m.Op("aten::triu", {Ref(half)}, kSizes);
  };
  EXPECT_TRUE(Says(SourceOf(upper), "end = tl.where(pid_m * BLOCK_M < (pid_n + 1) * BLOCK_N, K, 0)"));
  const auto band = [](Maker& m, NodeId product) {
    return m.Op("aten::triu", {Ref(Lower(m, product)), Arg{int64_t{-9}}}, kSizes);
  };
  EXPECT_TRUE(Says(SourceOf(band), "(pid_m * BLOCK_M < (pid_n + 1) * BLOCK_N + 9), K, 0)")) << SourceOf(band);
}

TEST(Triangle, WhatIsNotZeroThereIsMade) {
  const auto shifted = [](Maker& m, NodeId product) {
    return m.Op("aten::add.Tensor", {Ref(Lower(m, product)), Ref(product)}, kSizes);
  };
  EXPECT_FALSE(Says(SourceOf(shifted), "end = ")) << SourceOf(shifted);
  EXPECT_FALSE(Says(SourceOf(Lower, true), "end = "));
  // An infinite product times a mask is no number.
  const auto masked = [](Maker& m, NodeId product) {
    NodeId ones = m.Op("aten::ones_like", {Ref(product)}, kSizes);
    return m.Op("aten::mul.Tensor", {Ref(product), Ref(Lower(m, ones))}, kSizes);
  };
  EXPECT_FALSE(Says(SourceOf(masked), "end = "));
}

}  // namespace
}  // namespace tritogen::teach
