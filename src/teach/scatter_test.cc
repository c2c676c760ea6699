// Which scatters compare all with all. Whether the kernels are right: tests/teacher,
// tests/e2e/test_large_indices.py.
#include <gtest/gtest.h>

#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

// Rows of messages, made of what they come from, go to the nodes that the index names.
std::string Messages(int64_t nodes, int64_t edges) {
  Maker m;
  const NodeId x = m.Leaf(NodeKind::kInput, "x", {nodes, 8}), y = m.Leaf(NodeKind::kInput, "y", {edges, 8}),
               index = m.Leaf(NodeKind::kInput, "index", {edges, 8}, Dtype::kInt64);
  const NodeId mul = m.Op("aten::mul.Tensor", {Ref(y), Ref(y)}, {edges, 8});
  const auto answers = TeachFunction(
      m.Finish(m.Op("aten::scatter_add", {Ref(x), Arg{int64_t{0}}, Ref(index), Ref(mul)}, {nodes, 8})), true);
  return answers.empty() ? "" : answers[0].source;
}

TEST(Scatter, SmallOnesNeedNoAtomics) {
  const std::string source = Messages(30, 50);
  EXPECT_FALSE(Says(source, "atomic")) << source;
  EXPECT_TRUE(Says(source, "tl.sum(")) << source;
}

TEST(Scatter, LargeOnesGoThroughTheirEntriesOnceAndMakeThemOnTheWay) {
  const std::string source = Messages(100000, 1000000);
  EXPECT_EQ(CountOf(source, "@triton.jit"), 1) << source;
  EXPECT_TRUE(Says(source, "x.clone()")) << source;
  EXPECT_TRUE(Says(source, "tl.atomic_add(")) << source;
  EXPECT_TRUE(Says(source, "< 100000)")) << "an index that is out of range writes nowhere: " << source;
}

TEST(Scatter, CrowdsMeetInSeveralCopies) {
  const std::string source = Messages(250, 3000000);
  EXPECT_TRUE(Says(source, "// 1024) % 65")) << source;
  EXPECT_TRUE(Says(source, "tl.sum(")) << source;
}

TEST(Scatter, OneAfterTheOtherGoOnInTheSameMemory) {
  Maker m;
  const std::vector<int64_t> nodes = {100000, 8}, edges = {1000000, 8};
  const NodeId x = m.Leaf(NodeKind::kInput, "x", nodes), y = m.Leaf(NodeKind::kInput, "y", edges),
               index = m.Leaf(NodeKind::kInput, "index", edges, Dtype::kInt64);
  NodeId sum = x;
  for (int i = 0; i < 3; ++i)
    sum = m.Op("aten::scatter_add", {Ref(sum), Arg{int64_t{0}}, Ref(index), Ref(y)}, nodes);
  const auto answers = TeachFunction(m.Finish(sum), true);
  ASSERT_FALSE(answers.empty());
  EXPECT_EQ(CountOf(answers[0].source, ".clone("), 1) << "the input's: " << answers[0].source;
}

// A tensor of this name may be read by a launch behind a line "grid = …".
TEST(Style, ALaunchsGridHasANameOfItsOwn) {
  Maker m;
  const NodeId x = m.Leaf(NodeKind::kInput, "x", {64}), grid = m.Leaf(NodeKind::kBuffer, "grid", {64});
  const NodeId a = m.Op("aten::add.Tensor", {Ref(x), Ref(grid)}, {64});
  const NodeId s = m.Op("aten::sum", {Ref(a)}, {});
  const Program program = m.Finish(m.Op("aten::mul.Tensor", {Ref(grid), Ref(s)}, {64}));
  Request request;
  request.program = &program;
  request.entry = "f";
  request.is_function = true;
  request.count = 8;
  for (request.seed = 1; request.seed < 12; ++request.seed) {
    for (const Answer& answer : Teach(request))
      EXPECT_FALSE(Says(answer.source, "    grid = (")) << answer.source;
  }
}

}  // namespace
}  // namespace tritogen::teach
