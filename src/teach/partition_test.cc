#include <gtest/gtest.h>

#include <algorithm>

#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

TEST(Partition, SoftmaxWithScaleAndMaskIsOneKernel) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {4, 8, 128}), mask = m.Leaf(NodeKind::kInput, "mask", {8, 128});
  NodeId scaled = m.Op("aten::mul.Tensor", {Ref(x), Arg{0.5}}, {4, 8, 128});
  NodeId added = m.Op("aten::add.Tensor", {Ref(scaled), Ref(mask)}, {4, 8, 128});
  NodeId out = m.Op("aten::_softmax", {Ref(added), Arg{int64_t{-1}}, Arg{false}}, {4, 8, 128});
  auto groups = Groups(m.Finish(out));
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].kind, GroupKind::kRows);
  EXPECT_EQ(groups[0].Size(AxisKind::kRow), 32);
  EXPECT_EQ(groups[0].Size(AxisKind::kColumn), 128);
  EXPECT_EQ(groups[0].stores.size(), 1u);
}

TEST(Partition, LinearWithEpilogueIsOneKernel) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {64, 32}), w = m.Leaf(NodeKind::kParameter, "w", {48, 32});
  NodeId bias = m.Leaf(NodeKind::kParameter, "b", {48});
  NodeId t = m.Op("aten::t", {Ref(w)}, {32, 48});
  NodeId y = m.Op("aten::addmm", {Ref(bias), Ref(x), Ref(t)}, {64, 48});
  NodeId out = m.Op("aten::relu", {Ref(y)}, {64, 48});
  auto groups = Groups(m.Finish(out));
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].kind, GroupKind::kMatmul);
}

TEST(Partition, PointwiseOperandsComeAlong) {
  // exp(x) and the broadcast sin(y) start as kernels of their own; their product brings them together.
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {8, 16}), y = m.Leaf(NodeKind::kInput, "y", {16});
  NodeId a = m.Op("aten::exp", {Ref(x)}, {8, 16}), c = m.Op("aten::sin", {Ref(y)}, {16});
  EXPECT_EQ(Groups(m.Finish(m.Op("aten::mul.Tensor", {Ref(a), Ref(c)}, {8, 16}))).size(), 1u);
}

TEST(Partition, WhatIsReadInAnotherOrderStaysAKernelOfItsOwn) {
  // Scaled by a sum of all, x cannot be computed again where it is read, and its transpose is at other
  // places.
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {1024, 1024}), w = m.Leaf(NodeKind::kInput, "w", {1024, 1024});
  NodeId total = m.Op("aten::sum", {Ref(x)}, {});
  NodeId scaled = m.Op("aten::mul.Tensor", {Ref(x), Ref(total)}, {1024, 1024});
  NodeId turned = m.Op("aten::t", {Ref(scaled)}, {1024, 1024});
  NodeId exp = m.Op("aten::exp", {Ref(w)}, {1024, 1024});
  NodeId product = m.Op("aten::mul.Tensor", {Ref(exp), Ref(turned)}, {1024, 1024});
  EXPECT_EQ(Groups(m.Finish(product)).size(), 4u);
}

TEST(Partition, NoCircularWait) {
  // a feeds a call whose result joins a again: the last add must not enter a's kernel.
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {8, 8});
  NodeId a = m.Op("aten::exp", {Ref(x)}, {8, 8});
  NodeId noise = m.Op("aten::rand_like", {Ref(a)}, {8, 8});
  NodeId out = m.Op("aten::add.Tensor", {Ref(a), Ref(noise)}, {8, 8});
  auto groups = Groups(m.Finish(out));
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[1].kind, GroupKind::kCall);
}

TEST(Partition, CallsStayInTheirOrder) {
  // The first kernel takes in what needs the second draw, and runs before the first draw's own.
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {8, 8}), y = m.Leaf(NodeKind::kInput, "y", {5});
  NodeId a = m.Op("aten::exp", {Ref(x)}, {8, 8});
  NodeId one = m.Op("aten::rand_like", {Ref(y)}, {5}), two = m.Op("aten::rand_like", {Ref(x)}, {8, 8});
  NodeId sum = m.Op("aten::add.Tensor", {Ref(a), Ref(two)}, {8, 8}), sin = m.Op("aten::sin", {Ref(one)}, {5});
  Program program = m.Finish(sum);
  program.outputs.push_back({sin});
  const Graph graph = InlineViews(*Lower(program, {}));
  std::vector<NodeId> calls;
  for (const Group& group : Partition(graph)) {
    if (group.kind == GroupKind::kCall) calls.push_back(graph[group.members[0]].node.id);
  }
  EXPECT_EQ(calls, (std::vector<NodeId>{one, two}));
}

TEST(Partition, LongReductionToAScalarIsCutInTwo) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {1024, 1024});
  auto groups = Groups(m.Finish(m.Op("aten::sum", {Ref(x)}, {})));
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_GE(groups[0].Size(AxisKind::kRow), 64);
  EXPECT_EQ(groups[1].Size(AxisKind::kRow), 1);
}

TEST(Partition, ReluBeforeAPoolIsReadThroughTheWindows) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {2, 3, 8, 8});
  NodeId a = m.Op("aten::relu", {Ref(x)}, {2, 3, 8, 8});
  Arg two{Arg::List{Arg{int64_t{2}}, Arg{int64_t{2}}}};
  EXPECT_EQ(Groups(m.Finish(m.Op("aten::max_pool2d", {Ref(a), two}, {2, 3, 4, 4}))).size(), 1u);
}

TEST(Partition, ConvolutionWithBiasAndActivationIsOneProduct) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {2, 3, 8, 8}), w = m.Leaf(NodeKind::kParameter, "w", {4, 3, 3, 3});
  NodeId bias = m.Leaf(NodeKind::kParameter, "b", {4});
  NodeId y = m.Op("aten::conv2d", {Ref(x), Ref(w), Ref(bias)}, {2, 4, 6, 6});
  auto groups = Groups(m.Finish(m.Op("aten::relu", {Ref(y)}, {2, 4, 6, 6})));
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].kind, GroupKind::kMatmul);
}

TEST(Partition, AnIndexedLoadWaitsForWhatItReads) {
  // softmax(x) read backwards: no program may read a row that another one still writes.
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {8, 16});
  NodeId soft = m.Op("aten::_softmax", {Ref(x), Arg{int64_t{1}}, Arg{false}}, {8, 16});
  Arg dims{Arg::List{Arg{int64_t{0}}}};
  NodeId turned = m.Op("aten::flip", {Ref(soft), dims}, {8, 16});
  EXPECT_EQ(Groups(m.Finish(m.Op("aten::add.Tensor", {Ref(soft), Ref(turned)}, {8, 16}))).size(), 2u);
}

TEST(Partition, AProductDoesNotTakeInWhatItReadsWhole) {
  // h = tanh(a) and h @ w + a·2 have as many elements; still h must be complete before the product starts.
  Maker m;
  NodeId a = m.Leaf(NodeKind::kInput, "a", {16, 16}), w = m.Leaf(NodeKind::kParameter, "w", {16, 16});
  NodeId h =
      m.Op("aten::gelu", {Ref(m.Op("aten::gelu", {Ref(m.Op("aten::gelu", {Ref(a)}, {16, 16}))}, {16, 16}))},
           {16, 16});
  NodeId product = m.Op("aten::mm", {Ref(h), Ref(w)}, {16, 16});
  auto groups = Groups(m.Finish(m.Op("aten::add.Tensor", {Ref(product), Ref(h)}, {16, 16})));
  EXPECT_EQ(groups.size(), 2u);
}

}  // namespace
}  // namespace tritogen::teach
