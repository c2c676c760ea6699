#include "plan/lift.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "plan/parse.h"
#include "plan/test_plans.h"
#include "program/print.h"

namespace tritogen {
namespace {

using nlohmann::json;

json T(int id) {
  return {{"t", id}};
}

json Aten(const char* op, json args, json outs, json kwargs = json::object()) {
  return {{"op", op}, {"args", args}, {"kwargs", kwargs}, {"outs", outs}, {"line", 1}};
}

// A reference with one input x (id 0: float32[4, 6]), state w (id 1: float32[6]), and scratch ids 2… as
// `tensors` says.
Plan Reference(json tensors, json run, json outputs, json setup = json::array()) {
  json map = SmallPlanMap();
  map["role"] = "reference";
  map["kernels"] = json::array();
  map["storages"] = {96, 24};
  map["tensors"] = {{0, "float32", {4, 6}, {6, 1}, 0, "cuda"}, {1, "float32", {6}, {1}, 0, "cuda"}};
  for (json tensor : tensors) {
    while (map["storages"].size() <= tensor[0].get<size_t>()) map["storages"].push_back(96);
    tensor.push_back("cuda");
    map["tensors"].push_back(tensor);
  }
  map["generate"] = {Aten("aten::randn", {{4, 6}}, {0})};
  map["setup"] = {Aten("aten::ones", {{6}}, {1})};
  for (const json& step : setup) map["setup"].push_back(step);
  map["run"] = run;
  map["init_inputs"] = json::array();
  map["state"] = {{"w", 1, "parameter"}};
  map["outputs"] = outputs;
  std::string structure = "[";
  for (size_t i = 0; i < outputs.size(); ++i) structure += i ? ",*" : "*";
  map["structure"] = structure + "]";
  return ParsePlan(map);
}

std::string Text(const Arg& arg) {
  if (const auto* ref = std::get_if<NodeRef>(&arg.v)) {
    return "%" + std::to_string(ref->id) + (ref->result ? "." + std::to_string(ref->result) : "");
  }
  if (const auto* i = std::get_if<int64_t>(&arg.v)) return std::to_string(*i);
  if (const auto* list = std::get_if<Arg::List>(&arg.v)) {
    std::string out = "[";
    for (const Arg& item : *list) out += (out.size() > 1 ? " " : "") + Text(item);
    return out + "]";
  }
  return "_";
}

// One line a node: "%2 = aten::relu(%0)".
std::string Text(const Program& program) {
  std::string out;
  for (size_t id = 0; id < program.nodes.size(); ++id) {
    const Node& node = program.nodes[id];
    out += "%" + std::to_string(id) + " = " + (node.kind == NodeKind::kOp ? node.op : node.name) + "(";
    for (size_t i = 0; i < node.args.size(); ++i) out += (i ? ", " : "") + Text(node.args[i]);
    out += ")\n";
  }
  out += "return";
  for (const NodeRef& output : program.outputs) out += " " + Text(Arg{output});
  return out;
}

const json kFull = {2, "float32", {4, 6}, {6, 1}, 0};  // id 2, memory of its own

// Set-up makes a table (storage 2) that nobody has a name for, and the call reads it.
TEST(LiftTest, WhatSetUpKeepsUnderNoNameTheCallMakesItself) {
  const json tensors = {
      {2, "float32", {6}, {1}, 0}, {2, "float32", {3}, {1}, 0}, {3, "float32", {4, 6}, {6, 1}, 0}};
  const json run = {Aten("aten::mul.Tensor", {T(0), T(2)}, {4})};
  const auto with = [&](const char* maker) {
    return Lift(Reference(tensors, run, {T(4)},
                          {Aten(maker, {{6}}, {2}), Aten("aten::slice.Tensor", {T(2), 0, 0, 3}, {3}),
                           Aten("aten::fill_.Scalar", {T(3), 5}, {3})}));
  };
  const auto has = [&](const Program& program, const char* op) {
    return std::ranges::any_of(program.nodes, [&](const Node& n) { return n.op.starts_with(op); });
  };
  const auto nameless = [](const Node& node) { return node.kind == NodeKind::kBuffer; };
  const Program made = with("aten::zeros");
  EXPECT_TRUE(std::ranges::none_of(made.nodes, nameless));
  EXPECT_TRUE(has(made, "aten::zeros"));
  EXPECT_TRUE(has(made, "aten::slice_scatter")) << "what was written through a view is there";
  const Program drawn = with("aten::rand");
  EXPECT_FALSE(has(drawn, "aten::rand")) << "a draw of each call's own would be another program";
  EXPECT_TRUE(std::ranges::any_of(drawn.nodes, nameless));
}

TEST(LiftTest, LeavesComeFirstAndDeadOperationsGo) {
  Plan plan = Reference({kFull, {3, "float32", {4, 6}, {6, 1}, 0}, {4, "float32", {4, 6}, {6, 1}, 0}},
                        {Aten("aten::relu", {T(0)}, {2}), Aten("aten::neg", {T(0)}, {3}),
                         Aten("aten::mul.Tensor", {T(2), T(1)}, {4})},
                        {T(4)});
  EXPECT_EQ(Text(Lift(plan)),
            "%0 = x0()\n%1 = w()\n%2 = aten::relu(%0)\n%3 = aten::mul.Tensor(%2, %1)\nreturn %3");
}

TEST(LiftTest, WritesBecomeFunctional) {
  Plan plan =
      Reference({kFull, {3, "float32", {4, 6}, {6, 1}, 0}},
                {Aten("aten::clone", {T(0)}, {2}), Aten("aten::relu_", {T(2)}, {2}),
                 Aten("aten::add_.Tensor", {T(2), T(1)}, {2}), Aten("aten::mul.Tensor", {T(2), T(0)}, {3})},
                {T(3)});
  EXPECT_EQ(Text(Lift(plan)),
            "%0 = x0()\n%1 = w()\n%2 = aten::relu(%0)\n%3 = aten::add.Tensor(%2, %1)\n"
            "%4 = aten::mul.Tensor(%3, %0)\nreturn %4");
}

TEST(LiftTest, WritesThroughOneOfSeveralViewsReachWhatTheyAreOf) {
  const auto text = [](const char* op, json args, json first, json second) {
    Plan plan = Reference(
        {kFull, first, second},
        {Aten("aten::clone", {T(0)}, {2}), Aten(op, args, {3, 4}), Aten("aten::copy_", {T(3), T(4)}, {3})},
        {T(2), T(4)});
    for (const TensorId id : {3, 4}) plan.tensors[id].storage = plan.tensors[2].storage;
    return Text(Lift(plan));
  };
  EXPECT_EQ(
      text("aten::chunk", {T(2), 2, 1}, {3, "float32", {4, 3}, {6, 1}, 0}, {4, "float32", {4, 3}, {6, 1}, 3}),
      "%0 = x0()\n%1 = aten::chunk(%0, 2, 1)\n%2 = aten::slice_scatter(%0, %1.1, 1, 0, 3)\n"
      "%3 = aten::slice.Tensor(%2, 1, 3)\nreturn %2 %3");
  EXPECT_EQ(text("aten::unbind.int", {T(2), -1}, {3, "float32", {4}, {6}, 0}, {4, "float32", {4}, {6}, 1}),
            "%0 = x0()\n%1 = aten::unbind.int(%0, -1)\n%2 = aten::select_scatter(%0, %1.1, 1, 0)\n"
            "%3 = aten::select.int(%2, 1, 1)\nreturn %2 %3");
}

TEST(LiftTest, WhatACallWritesIntoItsInputsStandsBehindItsResults) {
  const Plan plan = Reference({kFull, {2, "float32", {6}, {1}, 6}},
                              {Aten("aten::select.int", {T(0), 0, 1}, {3}),
                               Aten("aten::add_.Tensor", {T(3), T(1)}, {3}), Aten("aten::relu", {T(0)}, {2})},
                              {T(2)});
  Plan written = plan;
  written.tensors[3].storage = plan.tensors[0].storage;
  const Program program = Lift(written);
  ASSERT_EQ(program.updates, std::vector<NodeId>{0});
  ASSERT_EQ(program.Leaves(), 1u);
  EXPECT_EQ(program.nodes[program.outputs[1].id].op, "aten::select_scatter");
  EXPECT_NE(PrintProgram(program).find("    x0.copy_(select_scatter)\n    return"), std::string::npos);
}

TEST(LiftTest, StateThatResultsDependOnIsUpdatedBehindThem) {
  const json write = Aten("aten::add_.Tensor", {T(1), T(2)}, {1});
  const json tensors = {{2, "float32", {6}, {1}, 0}, {3, "float32", {4, 6}, {6, 1}, 0}};
  const json mean = Aten("aten::mean.dim", {T(0), {0}}, {2});
  const Program read =
      Lift(Reference(tensors, {mean, Aten("aten::mul.Tensor", {T(0), T(1)}, {3}), write}, {T(3)}));
  ASSERT_EQ(read.updates, std::vector<NodeId>{1});
  EXPECT_NE(PrintProgram(read).find("    w.copy_(add)\n    return"), std::string::npos);
  const Program unread = Lift(Reference(tensors, {mean, write, Aten("aten::relu", {T(0)}, {3})}, {T(3)}));
  EXPECT_TRUE(unread.updates.empty()) << "the original's own call does it";
}

TEST(LiftTest, WhatAPartOfAnInputIsWrittenIntoIsMemoryOfItsOwn) {
  const Plan plan =
      Reference({{2, "float32", json::array(), json::array(), 0}, {3, "float32", {6}, {1}, 0}},
                {Aten("aten::select.int", {T(1), 0, 0}, {2}), Aten("aten::empty.memory_format", {{6}}, {3}),
                 Aten("aten::fill_.Tensor", {T(3), T(2)}, {3})},
                {T(3)});
  EXPECT_NE(Text(Lift(plan)).find("aten::clone"), std::string::npos);
}

TEST(LiftTest, NewTensorsAreMadeOfNothing) {
  Plan plan = Reference({kFull, {3, "float32", {4, 6}, {6, 1}, 0}},
                        {Aten("aten::new_zeros", {T(0), {4, 6}}, {2}, {{"dtype", {{"dtype", "float32"}}}}),
                         Aten("aten::add.Tensor", {T(2), T(0)}, {3})},
                        {T(3)});
  EXPECT_EQ(Text(Lift(plan)), "%0 = x0()\n%1 = aten::zeros([4 6])\n%2 = aten::add.Tensor(%1, %0)\nreturn %2");
}

TEST(LiftTest, AnOutputThatIsACopyOfAnInputIsAClone) {
  Plan plan = Reference({kFull}, {Aten("aten::clone", {T(0)}, {2})}, {T(2), T(0)});
  EXPECT_EQ(Text(Lift(plan)), "%0 = x0()\n%1 = aten::clone(%0)\nreturn %1 %0");
  // Also behind a view.
  plan = Reference({kFull, {2, "float32", {6, 4}, {1, 6}, 0}},
                   {Aten("aten::clone", {T(0)}, {2}), Aten("aten::t", {T(2)}, {3})}, {T(3)});
  EXPECT_EQ(Text(Lift(plan)), "%0 = x0()\n%1 = aten::clone(%0)\n%2 = aten::t(%1)\nreturn %2");
}

TEST(LiftTest, OutputsInMemoryOfTheirOwnStayApart) {
  const json second = {3, "float32", {4, 6}, {6, 1}, 0};
  Plan plan = Reference({kFull, second}, {Aten("aten::relu", {T(0)}, {2}), Aten("aten::clone", {T(2)}, {3})},
                        {T(2), T(3)});
  EXPECT_EQ(Text(Lift(plan)), "%0 = x0()\n%1 = aten::relu(%0)\n%2 = aten::clone(%1)\nreturn %1 %2");
  // Alone it is in memory of its own anyway.
  plan =
      Reference({kFull, second}, {Aten("aten::relu", {T(0)}, {2}), Aten("aten::clone", {T(2)}, {3})}, {T(3)});
  EXPECT_EQ(Text(Lift(plan)), "%0 = x0()\n%1 = aten::relu(%0)\nreturn %1");
}

TEST(LiftTest, AReshapeThatCopiesIsNoMoreThanAReshape) {
  Plan plan = Reference(
      {{0, "float32", {6, 4}, {1, 6}, 0}, {2, "float32", {6, 4}, {4, 1}, 0}, {2, "float32", {24}, {1}, 0}},
      {Aten("aten::t", {T(0)}, {2}), Aten("aten::clone", {T(2)}, {3}),
       Aten("aten::_unsafe_view", {T(3), {24}}, {4})},
      {T(4)});
  EXPECT_EQ(Text(Lift(plan)), "%0 = x0()\n%1 = aten::t(%0)\n%2 = aten::reshape(%1, [24])\nreturn %2");
}

TEST(LiftTest, AWriteThroughAViewReachesItsBaseAndOtherViews) {
  // y = empty; a = y[:, 0:3]; b = y.t(); a.copy_(x[:, 3:6]); returns y, b
  Plan plan = Reference({kFull,
                         {2, "float32", {4, 3}, {6, 1}, 0},
                         {2, "float32", {6, 4}, {1, 6}, 0},
                         {0, "float32", {4, 3}, {6, 1}, 3}},
                        {Aten("aten::zeros", {{4, 6}}, {2}), Aten("aten::slice.Tensor", {T(2), 1, 0, 3}, {3}),
                         Aten("aten::t", {T(2)}, {4}), Aten("aten::slice.Tensor", {T(0), 1, 3, 6}, {5}),
                         Aten("aten::copy_", {T(3), T(5)}, {3})},
                        {T(2), T(4)});
  EXPECT_EQ(Text(Lift(plan)),
            "%0 = x0()\n%1 = aten::zeros([4 6])\n%2 = aten::slice.Tensor(%0, 1, 3)\n"
            "%3 = aten::slice_scatter(%1, %2, 1, 0, 3)\n%4 = aten::t(%3)\nreturn %3 %4");
}

TEST(LiftTest, CopyConvertsAndBroadcasts) {
  Plan plan = Reference(
      {{2, "float16", {4, 6}, {6, 1}, 0}},
      {Aten("aten::empty.memory_format", {{4, 6}}, {2}), Aten("aten::copy_", {T(2), T(1)}, {2})}, {T(2)});
  Program program = Lift(plan);
  EXPECT_EQ(Text(program),
            "%0 = x0()\n%1 = w()\n%2 = aten::_to_copy(%1)\n%3 = aten::expand(%2, [4 6])\n"
            "%4 = aten::clone(%3)\nreturn %4");
  EXPECT_EQ(program.nodes[3].results[0], (Shape{Dtype::kFloat16, {4, 6}}));
}

TEST(LiftTest, FillingWithATensorIsACopyOfIt) {
  // y = clone(x); y[0].fill_(w[2])
  Plan plan =
      Reference({kFull, {2, "float32", {6}, {1}, 0}, {1, "float32", json::array(), json::array(), 2}},
                {Aten("aten::clone", {T(0)}, {2}), Aten("aten::select.int", {T(2), 0, 0}, {3}),
                 Aten("aten::select.int", {T(1), 0, 2}, {4}), Aten("aten::fill_.Tensor", {T(3), T(4)}, {3})},
                {T(2)});
  EXPECT_EQ(Text(Lift(plan)),
            "%0 = x0()\n%1 = w()\n%2 = aten::select.int(%1, 0, 2)\n%3 = aten::expand(%2, [6])\n"
            "%4 = aten::select_scatter(%0, %3, 0, 0)\nreturn %4");
}

TEST(LiftTest, WhatHasNoFunctionalFormKeepsItsName) {
  Plan plan =
      Reference({kFull}, {Aten("aten::clone", {T(0)}, {2}), Aten("aten::normal_", {T(2)}, {2})}, {T(2)});
  EXPECT_EQ(Lift(plan).nodes.back().op, "aten::normal_");
}

TEST(LiftTest, SetupValuesAreTracedToState) {
  json constant = {
      {"op", "constant"}, {"out", 4}, {"data", json::binary(std::vector<uint8_t>(24, 0))}, {"line", 1}};
  Plan plan = Reference({{1, "float32", {6, 1}, {1, 1}, 0},  // 2: w.view(6, 1)
                         {2, "float32", {6}, {1}, 0},        // 3: made by set-up
                         {3, "float32", {6}, {1}, 0},        // 4: constant
                         {4, "float32", {4, 1}, {1, 1}, 0},  // 5: x @ 2
                         {5, "float32", {6}, {1}, 0}},       // 6: 3 + 4
                        {Aten("aten::mm", {T(0), T(2)}, {5}), Aten("aten::add.Tensor", {T(3), T(4)}, {6})},
                        {T(5), T(6)},
                        {Aten("aten::view", {T(1), {6, 1}}, {2}), Aten("aten::rand", {{6}}, {3}), constant});
  EXPECT_EQ(Text(Lift(plan)),
            "%0 = x0()\n%1 = w()\n%2 = setup_3()\n%3 = constant_4()\n%4 = aten::reshape(%1, [6 1])\n"
            "%5 = aten::mm(%0, %4)\n%6 = aten::add.Tensor(%2, %3)\nreturn %5 %6");
  plan.unsaved = {{"rotary.cos", 3, false}};
  EXPECT_NE(Text(Lift(plan)).find("%2 = rotary.cos()"), std::string::npos);
}

}  // namespace
}  // namespace tritogen
