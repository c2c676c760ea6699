// Which inputs that a program writes to are written by the kernel that makes the new values. Whether the
// kernels are right: tests/teacher.
#include "teach/updates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

// `value` goes into `x`; `result` is returned.
std::string Updated(Maker* m, NodeId x, NodeId value, NodeId result) {
  Program program = m->Finish(result);
  program.outputs.push_back({value});
  program.updates = {x};
  const auto answers = TeachFunction(program, true);
  return answers.empty() ? "" : answers[0].source;
}

TEST(Updates, PlaceByPlaceIsStoredWhereItStood) {
  Maker m;
  const NodeId x = m.Leaf(NodeKind::kInput, "x", {8, 16}), y = m.Leaf(NodeKind::kInput, "y", {8, 16});
  const NodeId mul = m.Op("aten::mul.Tensor", {Ref(x), Ref(y)}, {8, 16}),
               add = m.Op("aten::add.Tensor", {Ref(mul), Ref(x)}, {8, 16}),
               relu = m.Op("aten::relu", {Ref(y)}, {8, 16});
  const std::string source = Updated(&m, x, add, relu);
  EXPECT_FALSE(Says(source, "copy_(")) << source;
  EXPECT_EQ(CountOf(source, "torch.empty("), 1) << source;
  EXPECT_TRUE(Says(Updated(&m, x, add, add), "return x\n"));
}

TEST(Updates, RowsToo) {
  Maker m;
  const NodeId x = m.Leaf(NodeKind::kInput, "x", {8, 64}), y = m.Leaf(NodeKind::kInput, "y", {8, 64});
  const NodeId add = m.Op("aten::add.Tensor", {Ref(x), Ref(y)}, {8, 64}),
               softmax = m.Op("aten::softmax.int", {Ref(add), Arg{int64_t{1}}}, {8, 64});
  Program program = m.Finish(softmax);
  program.outputs = {{softmax}, {add}};
  program.updates = {x};
  for (const Answer& answer : TeachFunction(program, true))
    EXPECT_FALSE(Says(answer.source, "copy_(")) << answer.source;
}

TEST(Updates, NotWhereTheKernelReadsInAnotherOrder) {
  Maker m;
  const NodeId x = m.Leaf(NodeKind::kInput, "x", {8, 8});
  const NodeId exp = m.Op("aten::exp", {Ref(x)}, {8, 8}), t = m.Op("aten::t", {Ref(exp)}, {8, 8}),
               add = m.Op("aten::add.Tensor", {Ref(t), Arg{1.0}}, {8, 8});
  EXPECT_TRUE(Says(Updated(&m, x, add, add), "x.copy_("));
}

TEST(Updates, WhereOthersReadTheOldOnesTheNewOnesAreCopied) {
  Maker m;
  const NodeId x = m.Leaf(NodeKind::kInput, "x", {8, 8});
  const NodeId t = m.Op("aten::t", {Ref(x)}, {8, 8}),
               add = m.Op("aten::add.Tensor", {Ref(t), Ref(x)}, {8, 8});
  const std::string source = Updated(&m, x, add, add);
  EXPECT_TRUE(Says(source, "    x.copy_(add)\n")) << source;
}

TEST(Updates, AValueThatGoesToTwoPlacesIsCopiedToTheOther) {
  Maker m;
  const NodeId x = m.Leaf(NodeKind::kInput, "x", {8}), y = m.Leaf(NodeKind::kInput, "y", {8});
  const NodeId relu = m.Op("aten::relu", {Ref(x)}, {8});
  Program program = m.Finish(relu);
  program.outputs = {{relu}, {relu}, {relu}};
  program.updates = {x, y};
  const std::string source = TeachFunction(program, true)[0].source;
  EXPECT_EQ(CountOf(source, ".copy_("), 1) << source;
}

// A batch norm in training, whose weight is `weight` where there is one.
NodeId BatchNorm(Maker* m, NodeId x, NodeId mean, NodeId var, std::optional<NodeId> weight = {}) {
  const Arg none{std::monostate{}};
  return m->Op("aten::batch_norm",
               {Ref(x), weight ? Ref(*weight) : none, none, Ref(mean), Ref(var), Arg{true}, Arg{0.1},
                Arg{1e-5}, Arg{true}},
               {16, 8});
}

struct NormInputs {
  explicit NormInputs(Maker* m)
      : x(m->Leaf(NodeKind::kInput, "x", {16, 8})),
        mean(m->Leaf(NodeKind::kInput, "mean", {8})),
        var(m->Leaf(NodeKind::kInput, "var", {8})) {}
  NodeId x, mean, var;
};

TEST(Updates, StatisticsThatNobodyElseReadsAreStoredByTheirKernel) {
  Maker m;
  const NormInputs in(&m);
  for (const Answer& answer : TeachFunction(m.Finish(BatchNorm(&m, in.x, in.mean, in.var)), true))
    EXPECT_FALSE(Says(answer.source, "copy_(")) << answer.source;
}

TEST(Updates, WhoReadsStatisticsBeforeTheyMoveReadsOldOnes) {
  Maker m;
  const NormInputs in(&m);
  const NodeId mul = m.Op("aten::mul.Tensor", {Ref(in.x), Ref(in.mean)}, {16, 8}),
               norm = BatchNorm(&m, in.x, in.mean, in.var);
  for (const Answer& answer :
       TeachFunction(m.Finish(m.Op("aten::add.Tensor", {Ref(norm), Ref(mul)}, {16, 8})), true)) {
    EXPECT_EQ(CountOf(answer.source, "mean.copy_("), 1) << answer.source;
    EXPECT_FALSE(Says(answer.source, "var.copy_(")) << answer.source;
  }
}

// What is read behind an update is the value that goes there, at whatever view of it.
TEST(Updates, WhoReadsStatisticsBehindReadsNewOnes) {
  for (const bool viewed : {false, true}) {
    Maker m;
    const NormInputs in(&m);
    const NodeId view = m.Op("aten::view", {Ref(in.mean), Ints({1, 8})}, {1, 8}),
                 norm = BatchNorm(&m, in.x, in.mean, in.var);
    const NodeId mul = m.Op("aten::mul.Tensor", {Ref(norm), Ref(viewed ? view : in.mean)}, {16, 8});
    const auto graph = Lower(m.Finish(mul), {});
    ASSERT_EQ(graph->updates.size(), 1u);
    const PrimId made = graph->outputs.back().prim;
    EXPECT_EQ(graph->prims[graph->updates[0]].name, "mean");
    EXPECT_EQ(std::ranges::count(graph->prims[graph->outputs[0].prim].operands, made, &View::prim), 1);
  }
}

TEST(Updates, ACopyTakenBeforeKeepsWhatWasThere) {
  Maker m;
  const NormInputs in(&m);
  const NodeId clone = m.Op("aten::clone", {Ref(in.mean)}, {8}), norm = BatchNorm(&m, in.x, in.mean, in.var);
  const auto graph = Lower(m.Finish(m.Op("aten::mul.Tensor", {Ref(norm), Ref(clone)}, {16, 8})), {});
  ASSERT_EQ(graph->updates.size(), 1u);
  const PrimId made = graph->outputs.back().prim;
  EXPECT_EQ(std::ranges::count(graph->prims[graph->outputs[0].prim].operands, made, &View::prim), 0);
}

// As PyTorch does it: both statistics move, then values are scaled.
TEST(Updates, AWeightThatIsAStatisticHasMoved) {
  Maker m;
  const NormInputs in(&m);
  const auto graph = Lower(m.Finish(BatchNorm(&m, in.x, in.mean, in.var, in.mean)), {});
  ASSERT_EQ(graph->updates.size(), 1u);
  const PrimId made = graph->outputs.back().prim;
  EXPECT_EQ(std::ranges::count(graph->prims[graph->outputs[0].prim].operands, made, &View::prim), 1);
}

TEST(Updates, StatisticsThatMoveTwiceAreWrittenOnce) {
  Maker m;
  const NormInputs in(&m);
  const NodeId other = m.Leaf(NodeKind::kInput, "other", {8});
  const NodeId first = BatchNorm(&m, in.x, in.mean, in.var), second = BatchNorm(&m, first, in.mean, other);
  const auto graph = Lower(m.Finish(second), {});
  EXPECT_EQ(graph->writes.size() + graph->updates.size(), 3u);
}

// As an instance norm with running statistics says it: they are repeated for each image, and their mean is
// kept.
TEST(Updates, StatisticsThatAnOperatorHasMadeAreReadAsMovedAndWrittenNowhere) {
  Maker m;
  const NormInputs in(&m);
  const NodeId mean = m.Op("aten::mul.Scalar", {Ref(in.mean), Arg{2.0}}, {8}),
               var = m.Op("aten::mul.Scalar", {Ref(in.var), Arg{2.0}}, {8});
  const NodeId norm = BatchNorm(&m, in.x, mean, var);
  const NodeId read = m.Op("aten::mul.Tensor", {Ref(norm), Ref(mean)}, {16, 8});
  const auto graph = Lower(m.Finish(read), {});
  EXPECT_TRUE(graph->writes.empty() && graph->updates.empty());
  const auto& operands = graph->prims[graph->outputs[0].prim].operands;
  EXPECT_TRUE(std::ranges::any_of(operands, [&](const View& view) {
    return view.prim >= 0 && graph->prims[view.prim].expr.find("+") != std::string::npos &&
           graph->prims[view.prim].sizes == std::vector<int64_t>{8};
  })) << "the sum of what was there and of the batch's";
}

}  // namespace
}  // namespace tritogen::teach
