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

// A table that all of a tensor is multiplied by, neighbours by neighbours, is made once; of a small tensor,
// or of what is cheap, each element makes its own.
TEST(Partition, TablesOfLongFunctionsAreStored) {
  const auto kernels = [](const char* function, int64_t rows) {
    Maker m;
    const NodeId x = m.Leaf(NodeKind::kInput, "x", {rows, 1024}), w = m.Leaf(NodeKind::kInput, "w", {1024});
    const NodeId angle = m.Op(function, {Ref(w)}, {1024}), sine = m.Op("aten::sin", {Ref(angle)}, {1024});
    return Groups(m.Finish(m.Op("aten::mul.Tensor", {Ref(x), Ref(sine)}, {rows, 1024}))).size();
  };
  EXPECT_EQ(kernels("aten::cos", 1 << 14), 2u);
  EXPECT_EQ(kernels("aten::cos", 1 << 10), 1u);
  EXPECT_EQ(kernels("aten::neg", 1 << 14), 1u);
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

// A cut would pass values through memory, and save none.
TEST(Partition, LongPointwiseWorkStaysWhole) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {8, 16}), sum = x;
  for (int i = 0; i < 60; ++i)
    sum = m.Op("aten::add.Tensor", {Ref(m.Op("aten::sin", {Ref(sum)}, {8, 16})), Ref(x)}, {8, 16});
  EXPECT_EQ(Groups(m.Finish(sum)).size(), 1u);
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

TEST(Partition, WhatRowsReadOnceForEachComesAlong) {
  // A running mean: kept · 0.9 starts as a kernel of its own, the batch's mean as one over rows.
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {16, 64}), kept = m.Leaf(NodeKind::kBuffer, "kept", {16});
  Arg dims{Arg::List{Arg{int64_t{1}}}};
  NodeId mean = m.Op("aten::mean.dim", {Ref(x), dims}, {16});
  NodeId old = m.Op("aten::mul.Tensor", {Ref(kept), Arg{0.9}}, {16});
  auto groups = Groups(m.Finish(m.Op("aten::add.Tensor", {Ref(old), Ref(mean)}, {16})));
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].stores.size(), 1u);
}

TEST(Partition, AProductReadsBehindCopies) {
  // linear(x).view(4, 8, 2, 8).transpose(1, 2).reshape(4, 16, 8): the reshape is a copy of what is stored
  // already.
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {32, 24}), w = m.Leaf(NodeKind::kParameter, "w", {16, 24});
  NodeId bias = m.Leaf(NodeKind::kParameter, "b", {16}), y = m.Leaf(NodeKind::kInput, "y", {64, 40});
  NodeId linear = m.Op("aten::linear", {Ref(x), Ref(w), Ref(bias)}, {32, 16});
  NodeId heads = m.Op("aten::view", {Ref(linear), Ints({8, 4, 2, 8})}, {8, 4, 2, 8});
  NodeId turned = m.Op("aten::permute", {Ref(heads), Ints({2, 1, 0, 3})}, {2, 4, 8, 8});
  NodeId flat = m.Op("aten::reshape", {Ref(turned), Ints({8, 64})}, {8, 64});
  EXPECT_EQ(Groups(m.Finish(m.Op("aten::mm", {Ref(flat), Ref(y)}, {8, 40}))).size(), 2u);
}

TEST(Partition, ALittleWorkOnAPartIsItsReaders) {
  // softmax(x)[:, :8] · 2, transposed: no kernel for the multiplication.
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {16, 16}), y = m.Leaf(NodeKind::kInput, "y", {8, 16});
  NodeId soft = m.Op("aten::_softmax", {Ref(x), Arg{int64_t{1}}, Arg{false}}, {16, 16});
  NodeId part =
      m.Op("aten::slice.Tensor", {Ref(soft), Arg{int64_t{1}}, Arg{int64_t{0}}, Arg{int64_t{8}}}, {16, 8});
  NodeId twice = m.Op("aten::mul.Tensor", {Ref(part), Arg{2.0}}, {16, 8});
  NodeId turned = m.Op("aten::t", {Ref(twice)}, {8, 16});
  EXPECT_EQ(Groups(m.Finish(m.Op("aten::add.Tensor", {Ref(turned), Ref(y)}, {8, 16}))).size(), 2u);
}

TEST(Partition, NormalisationBehindAProductIsPartOfIt) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {2, 3, 8, 8}), w = m.Leaf(NodeKind::kParameter, "w", {4, 3, 3, 3});
  NodeId mean = m.Leaf(NodeKind::kBuffer, "mean", {4}), variance = m.Leaf(NodeKind::kBuffer, "variance", {4});
  NodeId y = m.Op("aten::conv2d", {Ref(x), Ref(w)}, {2, 4, 6, 6});
  NodeId out =
      m.Op("aten::batch_norm",
           {Ref(y), Arg{}, Arg{}, Ref(mean), Ref(variance), Arg{false}, Arg{0.1}, Arg{1e-5}, Arg{true}},
           {2, 4, 6, 6});
  EXPECT_EQ(Groups(m.Finish(out)).size(), 1u);
}

TEST(Partition, NoCircularWait) {
  // a feeds a call whose result joins a again: the last add must not enter a's kernel.
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {8, 8});
  NodeId a = m.Op("aten::exp", {Ref(x)}, {8, 8});
  NodeId noise = m.Op("aten::bernoulli", {Ref(a)}, {8, 8});
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

// Kernels for conv(`between`(relu(conv(x)))), large enough to be products of parts; relu's result is returned
// too where it is `kept`.
using Products = LowerOptions::Products;
enum class Between { kNothing, kPool, kSoftmax };
std::vector<Group> ConvolutionsOfParts(int64_t channels, int64_t images, Between what, bool kept = false,
                                       bool turns = true, Products products = Products::kBfloat16Parts) {
  Maker m;
  const Arg one{Arg::List{Arg{int64_t{1}}, Arg{int64_t{1}}}},
      three{Arg::List{Arg{int64_t{3}}, Arg{int64_t{3}}}};
  const std::vector<int64_t> sizes = {images, channels, 32, 32};
  NodeId x = m.Leaf(NodeKind::kInput, "x", {images, 64, 32, 32});
  NodeId v = m.Leaf(NodeKind::kParameter, "v", {channels, 64, 3, 3}),
         w = m.Leaf(NodeKind::kParameter, "w", {72, channels, 3, 3});
  NodeId relu =
      m.Op("aten::relu", {Ref(m.Op("aten::conv2d", {Ref(x), Ref(v), Arg{}, one, one}, sizes))}, sizes);
  NodeId between = relu;
  if (what == Between::kPool) between = m.Op("aten::max_pool2d", {Ref(relu), three, one, one}, sizes);
  if (what == Between::kSoftmax)
    between = m.Op("aten::_softmax", {Ref(relu), Arg{int64_t{-1}}, Arg{false}}, sizes);
  Program program =
      m.Finish(m.Op("aten::conv2d", {Ref(between), Ref(w), Arg{}, one, one}, {images, 72, 32, 32}));
  if (kept) program.outputs.push_back({relu});
  return Partition(InlineViews(*Lower(program, {.products = products})), turns);
}

TEST(Partition, AProductMakesThePartsOfItsResultThatTheNextOneReads) {
  const auto groups = ConvolutionsOfParts(64, 2, Between::kNothing);
  // x's parts and both weights' are kernels; relu(conv(x)) itself is not stored.
  ASSERT_EQ(groups.size(), 5u);
  const auto product = std::ranges::find(groups, GroupKind::kMatmul, &Group::kind);
  EXPECT_EQ(product->stores.size(), 3u);
  EXPECT_EQ(ConvolutionsOfParts(64, 2, Between::kNothing, /*kept=*/true).size(), 5u);
  // Twelve channels are made sixteen: their parts are no elements of the product's tile.
  EXPECT_EQ(ConvolutionsOfParts(12, 12, Between::kNothing).size(), 6u);
  EXPECT_EQ(ConvolutionsOfParts(64, 2, Between::kNothing, false, /*turns=*/false).size(), 6u);
}

TEST(Partition, AProductStoresItsResultAsTheNextOneReadsIt) {
  const auto groups = ConvolutionsOfParts(64, 2, Between::kNothing, false, true, Products::kTf32);
  // Copies of x and of both weights are kernels.
  ASSERT_EQ(groups.size(), 5u);
  EXPECT_EQ(std::ranges::find(groups, GroupKind::kMatmul, &Group::kind)->stores.size(), 1u);
  EXPECT_EQ(ConvolutionsOfParts(64, 2, Between::kNothing, true, true, Products::kTf32).size(), 5u);
  EXPECT_EQ(ConvolutionsOfParts(64, 16, Between::kPool, false, true, Products::kTf32).size(), 6u);
}

TEST(Partition, APoolMakesThePartsOfItsResult) {
  EXPECT_EQ(ConvolutionsOfParts(64, 16, Between::kPool).size(), 6u);
}

TEST(Partition, RowsThatHaveNoNeighboursMakeFewParts) {
  EXPECT_EQ(ConvolutionsOfParts(64, 2, Between::kSoftmax).size(), 6u);
  EXPECT_EQ(ConvolutionsOfParts(64, 16, Between::kSoftmax).size(), 7u);
}

TEST(Partition, WhatIsPutTogetherIsTakenApartInTheSameKernel) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {8, 32, 32, 32}),
         y = m.Leaf(NodeKind::kInput, "y", {8, 16, 32, 32});
  NodeId w = m.Leaf(NodeKind::kParameter, "w", {72, 48, 3, 3});
  NodeId cat = m.Op("aten::cat", {Arg{Arg::List{Ref(x), Ref(y)}}, Arg{int64_t{1}}}, {8, 48, 32, 32});
  const auto groups = Groups(m.Finish(m.Op("aten::conv2d", {Ref(cat), Ref(w)}, {8, 72, 30, 30})),
                             {.products = LowerOptions::Products::kBfloat16Parts});
  EXPECT_EQ(groups.size(), 3u);
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
