// Which inputs that a program writes to are written by the kernel that makes the new values. Whether the
// kernels are right: tests/teacher.
#include "teach/updates.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tritogen::teach
