// Small pointwise kernels that share launches. Whether they compute the right numbers: tests/teacher.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

// The statement that launches a kernel on `tensor`, of the first answer whose launches stand in forward.
std::string LaunchOn(const std::string& source, const std::string& tensor) {
  const size_t at = source.find(tensor + ",", source.find("def forward"));
  if (at == std::string::npos) return "";
  const size_t begin = source.rfind("_kernel", at);
  return source.substr(begin, source.find("num_warps", at) - begin);
}

// Three layers whose products are large enough to be made of bfloat16 parts.
Program ThreeLayers() {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {4096, 512});
  for (const char* name : {"w", "v", "u"}) {
    const NodeId weight = m.Leaf(NodeKind::kParameter, name, {512, 512});
    x = m.Op("aten::relu", {Ref(m.Op("aten::linear", {Ref(x), Ref(weight)}, {4096, 512}))}, {4096, 512});
  }
  return m.Finish(x);
}

Program WithOutputs(Maker& m, const std::vector<NodeId>& outputs) {
  Program program = m.Finish(outputs.at(0));
  program.outputs.clear();
  program.structure.clear();
  for (NodeId output : outputs) {
    program.outputs.push_back({output});
    program.structure += program.structure.empty() ? "(*" : ",*";
  }
  program.structure += ")";
  return program;
}

struct Arranged {
  Graph graph;
  std::vector<Group> groups;
};

Arranged Arrange(const Program& program) {
  Graph graph = InlineViews(*Lower(program, {}));
  std::vector<Group> groups = SideBySide(graph, Partition(graph));
  return {std::move(graph), std::move(groups)};
}

size_t Shared(const std::vector<Group>& groups) {
  return std::count_if(groups.begin(), groups.end(),
                       [](const Group& group) { return group.kind == GroupKind::kSideBySide; });
}

TEST(SideBySide, OneLaunchMakesThePartsOfAllWeights) {
  const auto answers = TeachFunction(ThreeLayers(), true);
  ASSERT_FALSE(answers.empty());
  EXPECT_EQ(answers[0].strategy, "products of bfloat16 parts");
  const std::string launch = LaunchOn(answers[0].source, "self.w");
  for (const char* tensor : {"self.w,", "self.v,", "self.u,"})
    EXPECT_NE(launch.find(tensor), std::string::npos) << tensor << " in " << launch;
  EXPECT_NE(answers[0].plan.find("side by side"), std::string::npos) << answers[0].plan;
}

TEST(SideBySide, SomeAnswersLaunchEveryKernelByItself) {
  Maker m;
  const NodeId x = m.Leaf(NodeKind::kInput, "x", {40, 30}), y = m.Leaf(NodeKind::kInput, "y", {50});
  const auto answers = TeachFunction(
      WithOutputs(m, {m.Op("aten::relu", {Ref(x)}, {40, 30}), m.Op("aten::exp", {Ref(y)}, {50})}));
  const auto shares = [](const Answer& answer) { return answer.source.find("_block(") != std::string::npos; };
  ASSERT_GE(answers.size(), 2u);
  EXPECT_TRUE(shares(answers[0]));
  EXPECT_FALSE(shares(answers[1]));
}

TEST(SideBySide, WorksThatDifferInSizesAreCallsOfOneFunction) {
  Maker m;
  std::vector<NodeId> outputs;
  for (int64_t n : {3, 5, 7}) {
    const NodeId x = m.Leaf(NodeKind::kInput, "x" + std::to_string(n), {n, 2 * n});
    const Arg dims{Arg::List{Arg{int64_t{1}}}};
    outputs.push_back(m.Op("aten::flip", {Ref(x), dims}, {n, 2 * n}));
  }
  // Fractions are no sizes: 1e-05 and 1e-06 make other functions.
  for (double number : {1e-05, 1e-06}) {
    const NodeId x = m.Leaf(NodeKind::kInput, number < 5e-6 ? "a" : "b", {11});
    outputs.push_back(m.Op("aten::add.Tensor", {Ref(x), Arg{number}}, {11}));
  }
  const std::string source = TeachFunction(WithOutputs(m, outputs)).at(0).source;
  size_t functions = 0;
  for (size_t at = 0; (at = source.find("@triton.jit", at)) != std::string::npos; ++at) ++functions;
  EXPECT_EQ(functions, 4u) << source;
  EXPECT_NE(source.find("1e-05"), std::string::npos) << source;
  EXPECT_NE(source.find("1e-06"), std::string::npos) << source;
}

TEST(SideBySide, WhatWaitsForOthersComesBehindThem) {
  // x scaled by its sum, and that turned and added to exp(w): the second work reads the first one's.
  Maker m;
  const std::vector<int64_t> sizes = {256, 1024}, turned_sizes = {1024, 256};
  NodeId x = m.Leaf(NodeKind::kInput, "x", sizes), w = m.Leaf(NodeKind::kInput, "w", turned_sizes);
  NodeId total = m.Op("aten::sum", {Ref(x)}, {});
  NodeId scaled = m.Op("aten::mul.Tensor", {Ref(x), Ref(total)}, sizes);
  NodeId turned = m.Op("aten::t", {Ref(scaled)}, turned_sizes);
  NodeId exp = m.Op("aten::exp", {Ref(w)}, turned_sizes);
  NodeId sum = m.Op("aten::add.Tensor", {Ref(exp), Ref(turned)}, turned_sizes);
  NodeId other = m.Leaf(NodeKind::kInput, "other", {77});
  NodeId free = m.Op("aten::relu", {Ref(other)}, {77});
  const Arranged arranged = Arrange(WithOutputs(m, {sum, free}));
  EXPECT_EQ(Shared(arranged.groups), 1u);  // scaled and free
  std::set<PrimId> made;
  for (const Group& group : arranged.groups) {
    for (PrimId member : group.members) {
      const auto of_own = [&](PrimId id) {
        return group.side.empty() ? group.per_row.count(id) > 0
                                  : std::any_of(group.side.begin(), group.side.end(), [&](const Group& one) {
                                      return one.per_row.count(id) > 0 && one.per_row.count(member) > 0;
                                    });
      };
      for (const View& view : Reads(arranged.graph, arranged.graph[member])) {
        EXPECT_TRUE(view.prim < 0 || arranged.graph[view.prim].kind == PrimKind::kSource ||
                    made.count(view.prim) > 0 || of_own(view.prim));
      }
    }
    made.insert(group.stores.begin(), group.stores.end());
  }
}

TEST(SideBySide, KernelsOfManyElementsAndSingleOnesStayAsTheyAre) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {1 << 23}), y = m.Leaf(NodeKind::kInput, "y", {50});
  const Program program =
      WithOutputs(m, {m.Op("aten::relu", {Ref(x)}, {1 << 23}), m.Op("aten::exp", {Ref(y)}, {50})});
  EXPECT_EQ(Shared(Arrange(program).groups), 0u);
}

TEST(SideBySide, ALaunchTakesAtMostSixtyTensors) {
  Maker m;
  std::vector<NodeId> outputs;
  for (int64_t n = 0; n < 50; ++n) {
    const NodeId x = m.Leaf(NodeKind::kInput, "x" + std::to_string(n), {n + 10});
    outputs.push_back(m.Op("aten::relu", {Ref(x)}, {n + 10}));
  }
  const Arranged arranged = Arrange(WithOutputs(m, outputs));
  EXPECT_EQ(arranged.groups.size(), 2u);
  for (const Group& group : arranged.groups) EXPECT_LE(2 * group.members.size(), 60u);
}

}  // namespace
}  // namespace tritogen::teach
