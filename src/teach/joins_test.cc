// Which kernels over rows become one, and what does not join them.
#include "teach/joins.h"

#include <gtest/gtest.h>

#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

const std::vector<int64_t> kSizes = {512, 1024};

TEST(Joins, TwoSoftmaxesAndTheirProductAreOneKernel) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", kSizes), y = m.Leaf(NodeKind::kInput, "y", kSizes);
  NodeId a = m.Op("aten::_log_softmax", {Ref(x), Arg{int64_t{1}}, Arg{false}}, kSizes);
  NodeId c = m.Op("aten::_softmax", {Ref(y), Arg{int64_t{1}}, Arg{false}}, kSizes);
  auto groups = Groups(m.Finish(m.Op("aten::mul.Tensor", {Ref(a), Ref(c)}, kSizes)));
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].stores.size(), 1u);
}

// Two lines of 32,768 elements are more than a program's registers.
TEST(Joins, LongHeldLinesStayApart) {
  Maker m;
  const std::vector<int64_t> sizes = {512, 32768};
  NodeId x = m.Leaf(NodeKind::kInput, "x", sizes), y = m.Leaf(NodeKind::kInput, "y", sizes);
  NodeId a = m.Op("aten::_softmax", {Ref(x), Arg{int64_t{1}}, Arg{false}}, sizes);
  NodeId c = m.Op("aten::_softmax", {Ref(y), Arg{int64_t{1}}, Arg{false}}, sizes);
  EXPECT_EQ(Groups(m.Finish(m.Op("aten::mul.Tensor", {Ref(a), Ref(c)}, sizes))).size(), 2u);
}

TEST(Joins, RunningSumsStayApart) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", kSizes), y = m.Leaf(NodeKind::kInput, "y", kSizes);
  NodeId a = m.Op("aten::cumsum", {Ref(x), Arg{int64_t{1}}}, kSizes);
  NodeId c = m.Op("aten::_softmax", {Ref(y), Arg{int64_t{1}}, Arg{false}}, kSizes);
  EXPECT_EQ(Groups(m.Finish(m.Op("aten::mul.Tensor", {Ref(a), Ref(c)}, kSizes))).size(), 2u);
}

// Losses and their count: each sum has two steps, and neither needs the other's.
TEST(Joins, SmallReductionsOfLikeLinesShareLaunches) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {16, 21, 64, 64});
  NodeId target = m.Leaf(NodeKind::kInput, "target", {16, 64, 64}, Dtype::kInt64);
  auto groups = Groups(m.Finish(m.Op("aten::cross_entropy_loss",
                                     {Ref(x), Ref(target), Arg{}, Arg{int64_t{1}}, Arg{int64_t{-100}}}, {})));
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[1].stores.size(), 2u);
  EXPECT_EQ(groups[2].stores.size(), 1u);
}

// What the second reduces is made of what the first made, and what is large takes its time anyway.
TEST(Joins, ReductionsThatWaitOrAreLongShareNoLaunches) {
  for (const int64_t rows : {64, 4096}) {
    Maker m;
    const std::vector<int64_t> sizes = {rows, 1024};
    NodeId x = m.Leaf(NodeKind::kInput, "x", sizes), y = m.Leaf(NodeKind::kInput, "y", sizes);
    NodeId a = m.Op("aten::sum.dim_IntList", {Ref(x), Ints({1})}, {rows});
    NodeId b = m.Op("aten::sum.dim_IntList", {Ref(y), Ints({1})}, {rows});
    EXPECT_EQ(Groups(m.Finish(m.Op("aten::outer", {Ref(a), Ref(b)}, {rows, rows}))).size(),
              rows == 64 ? 2u : 3u);
  }
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {64, 64});
  NodeId rows = m.Op("aten::sum.dim_IntList", {Ref(x), Ints({1}), Arg{true}}, {64, 1});
  NodeId square =
      m.Op("aten::square",
           {Ref(m.Op("aten::t", {Ref(m.Op("aten::div.Tensor", {Ref(x), Ref(rows)}, {64, 64}))}, {64, 64}))},
           {64, 64});
  EXPECT_EQ(Groups(m.Finish(m.Op("aten::sum.dim_IntList", {Ref(square), Ints({1})}, {64}))).size(), 2u);
}

// The loss of a softmax over lines is a sum of all: lines are summed up where they are made.
TEST(Joins, ASumOfAllTakesTheLinesThatItsElementsAreMadeOf) {
  Maker m;
  const std::vector<int64_t> sizes = {512, 10000};
  NodeId x = m.Leaf(NodeKind::kInput, "x", sizes);
  NodeId softmax = m.Op("aten::_softmax", {Ref(x), Arg{int64_t{1}}, Arg{false}}, sizes);
  NodeId square = m.Op("aten::square", {Ref(softmax)}, sizes);
  auto groups = Groups(m.Finish(m.Op("aten::sum", {Ref(square)}, {})));
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].Size(AxisKind::kRow), 512);
  EXPECT_EQ(groups[0].stores.size(), 1u);
}

// x³ joined the kernel of the mean, which reads x, too, and was stored for the sum over the other dimension.
TEST(Joins, WhatOtherLinesAreMadeOfIsMadeThere) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", kSizes);
  NodeId mean = m.Op("aten::mean.dim", {Ref(x), Ints({1})}, {512});
  NodeId cubes = m.Op("aten::pow.Tensor_Scalar", {Ref(x), Arg{3.5}}, kSizes);
  NodeId sum = m.Op("aten::sum.dim_IntList", {Ref(cubes), Ints({0})}, {1024});
  Program program = m.Finish(mean);
  program.outputs.push_back({sum});
  program.structure = "(*, *)";
  const auto groups = Groups(program);
  int64_t stored = 0;
  const Graph graph = InlineViews(*Lower(program, {}));
  for (const Group& group : groups) {
    for (PrimId id : group.stores) stored += Product(graph[id].sizes);
  }
  EXPECT_LT(stored, 512 * 1024 / 2);
}

// y + (x·w)ᵀ: the product's tiles have neighbours in memory both ways.
TEST(Joins, AResidualInAnotherOrderIsAddedByTheProduct) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {256, 128}), w = m.Leaf(NodeKind::kInput, "w", {128, 512});
  NodeId y = m.Leaf(NodeKind::kInput, "y", {512, 256});
  NodeId product = m.Op("aten::mm", {Ref(x), Ref(w)}, {256, 512});
  NodeId turned = m.Op("aten::t", {Ref(product)}, {512, 256});
  EXPECT_EQ(Groups(m.Finish(m.Op("aten::add.Tensor", {Ref(y), Ref(turned)}, {512, 256}))).size(), 1u);
}

// What is stored is squared by who sums the squares up, not stored a second time.
TEST(Joins, AKernelStoresNothingThatItsReaderMakesOfTheRest) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {256, 128}), w = m.Leaf(NodeKind::kInput, "w", {128, 512});
  NodeId product = m.Op("aten::mm", {Ref(x), Ref(w)}, {256, 512});
  NodeId half = m.Op("aten::mul.Tensor", {Ref(product), Arg{0.5}}, {256, 512});
  NodeId square = m.Op("aten::square", {Ref(half)}, {256, 512});
  NodeId sum = m.Op("aten::sum.dim_IntList", {Ref(square), Ints({1}), Arg{true}}, {256, 1});
  const auto groups = Groups(m.Finish(m.Op("aten::div.Tensor", {Ref(half), Ref(sum)}, {256, 512})));
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].stores.size(), 1u);
}

// The sorted lines of a product that is stored in another order have other numbers of elements than it.
TEST(Joins, WhatIsSortedOfATurnedProductHasAnswers) {
  Maker m;
  const std::vector<int64_t> sizes = {3, 384, 70, 9};
  NodeId x = m.Leaf(NodeKind::kInput, "x", {3, 512, 64, 3}),
         w = m.Leaf(NodeKind::kInput, "w", {512, 192, 7, 2});
  NodeId product = m.Op("aten::convolution",
                        {Ref(x), Ref(w), Arg{}, Ints({1, 3}), Ints({0, 0}), Ints({1, 2}), Arg{true},
                         Ints({0, 0}), Arg{int64_t{2}}},
                        sizes);
  const Program program = m.Finish(m.Op("aten::argsort", {Ref(product)}, sizes, Dtype::kInt64));
  EXPECT_GT(Teach({.program = &program, .is_function = true, .strict = true}).size(), 1u);
}

}  // namespace
}  // namespace tritogen::teach
