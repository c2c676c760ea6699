// Loops over steps that become layers. Whether the numbers are right: tests/teacher/test_loops.py.
#include "teach/rewrite.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

constexpr int64_t kSteps = 5;

int64_t CountOps(const Program& program, std::string_view op) {
  return std::ranges::count_if(program.nodes, [&](const Node& node) { return node.op == op; });
}

Arg Refs(const std::vector<NodeId>& ids) {
  Arg::List list;
  for (NodeId id : ids) list.push_back(Ref(id));
  return Arg{std::move(list)};
}

struct Loop {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {2, kSteps, 3}), h = m.Leaf(NodeKind::kInput, "h", {2, 4}),
         weight = m.Leaf(NodeKind::kParameter, "w", {4, 7}), bias = m.Leaf(NodeKind::kParameter, "b", {4}),
         head = m.Leaf(NodeKind::kParameter, "v", {6, 4});

  NodeId Input(int64_t step) {
    return m.Op("aten::select.int", {Ref(x), Arg{int64_t{1}}, Arg{step}}, {2, 3});
  }
  // h = tanh(linear(cat(x, h))).
  NodeId Next(NodeId input, NodeId state) {
    const NodeId cat = m.Op("aten::cat", {Refs({input, state}), Arg{int64_t{1}}}, {2, 7});
    const NodeId sum = m.Op("aten::linear", {Ref(cat), Ref(weight), Ref(bias)}, {2, 4});
    return m.Op("aten::tanh", {Ref(sum)}, {2, 4});
  }
  NodeId Head(NodeId state) { return m.Op("aten::linear", {Ref(state), Ref(head)}, {2, 6}); }
  NodeId Stack(const std::vector<NodeId>& all, std::vector<int64_t> sizes) {
    return m.Op("aten::stack", {Refs(all), Arg{int64_t{1}}}, std::move(sizes));
  }
};

TEST(RollLoops, CellsByHandAreALayerAndTheirHeadsOneProduct) {
  Loop loop;
  NodeId state = loop.h;
  std::vector<NodeId> heads;
  for (int64_t t = 0; t < kSteps; ++t) {
    state = loop.Next(loop.Input(t), state);
    heads.push_back(loop.Head(state));
  }
  const Program program = loop.m.Finish(loop.Stack(heads, {2, kSteps, 6}));
  const auto rolled = Rewrite(program);
  ASSERT_TRUE(rolled);
  EXPECT_EQ(CountOps(rolled->program, "aten::rnn_tanh.input"), 1);
  EXPECT_EQ(CountOps(rolled->program, "aten::linear"), 1);
  EXPECT_EQ(CountOps(rolled->program, "aten::stack"), 0);
  EXPECT_EQ(rolled->renumbered.at(loop.weight), loop.weight);
  const auto answers = TeachFunction(program, true);
  ASSERT_FALSE(answers.empty());
  EXPECT_LE(CountOf(answers[0].source, "@triton.jit"), 5) << answers[0].source;
}

TEST(RollLoops, StepsThatReadWhatTheOneBeforeGaveStayALoop) {
  Loop loop;
  NodeId state = loop.h, input = loop.Input(0);
  const NodeId back = loop.m.Leaf(NodeKind::kParameter, "back", {3, 4});
  for (int64_t t = 0; t < kSteps; ++t) {
    state = loop.Next(input, state);
    input = loop.m.Op("aten::linear", {Ref(state), Ref(back)}, {2, 3});
  }
  EXPECT_FALSE(Rewrite(loop.m.Finish(input)));
}

TEST(RollLoops, OtherWeightsAtEachStepAreNoLoop) {
  Loop loop;
  NodeId state = loop.h;
  for (int64_t t = 0; t < kSteps; ++t) {
    loop.weight = loop.m.Leaf(NodeKind::kParameter, "w" + std::to_string(t), {4, 7});
    state = loop.Next(loop.Input(t), state);
  }
  EXPECT_FALSE(Rewrite(loop.m.Finish(state)));
}

// Products of large steps use tensor cores, a layer's kernels do not.
TEST(RollLoops, LargeStepsStayALoop) {
  for (const int64_t batch : {16, 1024}) {
    Maker m;
    const NodeId x = m.Leaf(NodeKind::kInput, "x", {kSteps, batch, 8}),
                 in = m.Leaf(NodeKind::kParameter, "in", {1024, 8}),
                 own = m.Leaf(NodeKind::kParameter, "own", {1024, 1024});
    NodeId state = m.Leaf(NodeKind::kInput, "h", {batch, 1024});
    for (int64_t t = 0; t < kSteps; ++t) {
      const NodeId step = m.Op("aten::select.int", {Ref(x), Arg{int64_t{0}}, Arg{t}}, {batch, 8});
      const NodeId a = m.Op("aten::linear", {Ref(step), Ref(in)}, {batch, 1024}),
                   b = m.Op("aten::linear", {Ref(state), Ref(own)}, {batch, 1024});
      state =
          m.Op("aten::tanh", {Ref(m.Op("aten::add.Tensor", {Ref(a), Ref(b)}, {batch, 1024}))}, {batch, 1024});
    }
    EXPECT_EQ(Rewrite(m.Finish(state)).has_value(), batch == 16) << batch;
  }
}

TEST(RollLoops, WhatIsStackedFromTheLastStepOnIsFlipped) {
  Loop loop;
  std::vector<NodeId> steps;
  for (int64_t t = kSteps - 1; t >= 0; --t)
    steps.push_back(loop.m.Op("aten::relu", {Ref(loop.Input(t))}, {2, 3}));
  const auto rolled = Rewrite(loop.m.Finish(loop.Stack(steps, {2, kSteps, 3})));
  ASSERT_TRUE(rolled);
  EXPECT_EQ(CountOps(rolled->program, "aten::flip"), 1);
  EXPECT_EQ(CountOps(rolled->program, "aten::relu"), 1);
  EXPECT_EQ(CountOps(rolled->program, "aten::clone"), 1);
}

TEST(RollLoops, StepsThatDrawRandomNumbersKeepTheirOrder) {
  Loop loop;
  std::vector<NodeId> steps;
  for (int64_t t = 0; t < kSteps; ++t) {
    const NodeId noise = loop.m.Op("aten::randn_like", {Ref(loop.Input(t))}, {2, 3});
    steps.push_back(loop.m.Op("aten::relu", {Ref(noise)}, {2, 3}));
  }
  EXPECT_FALSE(Rewrite(loop.m.Finish(loop.Stack(steps, {2, kSteps, 3}))));
}

// Each step reads the one before it twice: ways to reach the first one double with every step.
TEST(RollLoops, LongLoopsOfPointwiseWorkEnd) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {2, 100, 8}), state = m.Leaf(NodeKind::kInput, "h", {2, 8});
  for (int64_t t = 0; t < 100; ++t) {
    const NodeId step = m.Op("aten::select.int", {Ref(x), Arg{int64_t{1}}, Arg{t}}, {2, 8});
    const NodeId more = m.Op("aten::mul.Tensor", {Ref(state), Ref(step)}, {2, 8});
    state = m.Op("aten::add.Tensor", {Ref(more), Ref(state)}, {2, 8});
  }
  EXPECT_FALSE(TeachFunction(m.Finish(state), true).empty());
}

TEST(DiagonalProducts, AreRowsTimesANumber) {
  Maker m;
  NodeId d = m.Leaf(NodeKind::kInput, "d", {64}), x = m.Leaf(NodeKind::kInput, "x", {64, 32});
  auto range = [&] { return m.Op("aten::arange", {Arg{int64_t{64}}}, {64}, Dtype::kInt64); };
  const NodeId columns = range();
  const NodeId rows = m.Op("aten::unsqueeze", {Ref(range()), Arg{int64_t{-1}}}, {64, 1}, Dtype::kInt64);
  const NodeId same = m.Op("aten::eq.Tensor", {Ref(columns), Ref(rows)}, {64, 64}, Dtype::kBool);
  const NodeId row = m.Op("aten::unsqueeze", {Ref(d), Arg{int64_t{0}}}, {1, 64});
  const NodeId zero = m.Op("aten::scalar_tensor", {Arg{0.0}}, {});
  const NodeId matrix = m.Op("aten::where.self", {Ref(same), Ref(row), Ref(zero)}, {64, 64});
  const auto answers = TeachFunction(m.Finish(m.Op("aten::mm", {Ref(matrix), Ref(x)}, {64, 32})), true);
  ASSERT_FALSE(answers.empty());
  EXPECT_EQ(CountOf(answers[0].source, "tl.dot("), 0) << answers[0].source;
  EXPECT_EQ(CountOf(answers[0].source, "@triton.jit"), 1) << answers[0].source;
}

}  // namespace
}  // namespace tritogen::teach
