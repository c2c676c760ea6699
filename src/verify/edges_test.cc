#include "verify/edges.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "verify/budget.h"
#include "verify/test_sketch.h"

namespace tritogen {
namespace {

const json kInt8 = {{"dtype", {{"dtype", "int8"}}}};

std::vector<std::string> Names(const Plan& plan, size_t output) {
  std::vector<std::string> names;
  for (const Edge& edge : EdgesBefore(plan, std::get<TensorRef>(plan.outputs[output].v).id))
    names.push_back(edge.step->op + (edge.jumps() ? " jumps" : " is flat"));
  return names;
}

using Strings = std::vector<std::string>;

Strings Within(const Plan& plan, size_t output) {
  Strings names;
  for (const Edge& edge : JumpsWithin(plan, std::get<TensorRef>(plan.outputs[output].v).id))
    names.push_back(edge.step->op);
  return names;
}

TEST(Edges, AreTheFirstJumpsOnTheWay) {
  Sketch sketch;
  const int x = sketch.Input("float32", {8, 4}, {4, 1});
  const int y = sketch.Tensor("float32", {8, 4}, {4, 1}), z = sketch.Tensor("float32", {8, 4}, {4, 1});
  const int c = sketch.Tensor("float32", {8, 4}, {4, 1}), q = sketch.Tensor("int8", {8, 4}, {4, 1});
  sketch.Step("run", "aten::mul.Tensor", {T(x), 3.7}, {y});
  sketch.Step("run", "aten::round", {T(y)}, {z});
  sketch.Step("run", "aten::clamp", {T(z), -128, 127}, {c});
  sketch.Step("run", "aten::_to_copy", {T(c)}, {q}, kInt8);
  sketch.Output(q);
  sketch.Output(y);
  const Plan plan = sketch.Build();
  EXPECT_EQ(Names(plan, 0), Strings{"aten::round jumps"}) << "what is clamped and cast has jumped before";
  EXPECT_EQ(Names(plan, 1), Strings{}) << "nothing behind the output counts";
}

// Whichever of the two has as many elements as there are comparisons is moved.
TEST(Edges, OfTwoTensorsAreWhereTheyAreCompared) {
  Sketch sketch;
  const int x = sketch.Input("float32", {8, 4}, {4, 1}), y = sketch.Tensor("float32", {8, 4}, {4, 1});
  const int m = sketch.Tensor("float32", {8, 1}, {1, 1}), below = sketch.Tensor("bool", {8, 4}, {4, 1});
  const int above = sketch.Tensor("bool", {8, 4}, {4, 1});
  sketch.Step("run", "aten::mul.Tensor", {T(x), 3.7}, {y});
  sketch.Step("run", "aten::amax", {T(y), json::array({1}), true}, {m});
  sketch.Step("run", "aten::lt.Tensor", {T(y), T(m)}, {below});
  sketch.Step("run", "aten::gt.Tensor", {T(m), T(y)}, {above});
  sketch.Output(below);
  sketch.Output(above);
  const Plan plan = sketch.Build();
  for (const size_t output : {0, 1}) {
    const std::vector<Edge> edges = EdgesBefore(plan, std::get<TensorRef>(plan.outputs[output].v).id);
    ASSERT_EQ(edges.size(), 1u);
    EXPECT_TRUE(edges[0].jumps());
    EXPECT_EQ(edges[0].argument, static_cast<TensorId>(y));
    EXPECT_EQ(edges[0].other, static_cast<TensorId>(m));
  }
}

TEST(Edges, AreWithinWhereASumComesBehindThem) {
  Sketch sketch;
  const int x = sketch.Input("float32", {8, 4}, {4, 1});
  const int y = sketch.Tensor("float32", {8, 4}, {4, 1}), z = sketch.Tensor("float32", {8}, {1});
  const int m = sketch.Tensor("float32", {8}, {1}), q = sketch.Tensor("int8", {8}, {1});
  sketch.Step("run", "aten::round", {T(x)}, {y});
  sketch.Step("run", "aten::sum.dim_IntList", {T(y), json::array({1})}, {z});
  sketch.Step("run", "aten::relu", {T(z)}, {m});
  sketch.Step("run", "aten::_to_copy", {T(m)}, {q}, kInt8);
  sketch.Output(y);
  sketch.Output(m);
  sketch.Output(q);
  const Plan plan = sketch.Build();
  EXPECT_EQ(Within(plan, 0), Strings{}) << "it is at the edge";
  EXPECT_EQ(Within(plan, 1), Strings{"aten::round"}) << "what is flat does not jump";
  EXPECT_EQ(Within(plan, 2), Strings{"aten::round"}) << "the first one on the way";
}

TEST(Edges, AreWithinWhereElementsArePicked) {
  Sketch sketch;
  const int x = sketch.Input("float32", {8, 4}, {4, 1});
  const int values = sketch.Tensor("float32", {8, 2}, {2, 1}),
            places = sketch.Tensor("int64", {8, 2}, {2, 1});
  const int taken = sketch.Tensor("float32", {8, 2}, {2, 1});
  sketch.Step("run", "aten::topk", {T(x), 2}, {values, places});
  sketch.Step("run", "aten::gather", {T(x), 1, T(places)}, {taken});
  sketch.Output(values);
  sketch.Output(taken);
  const Plan plan = sketch.Build();
  EXPECT_EQ(Within(plan, 0), Strings{}) << "the largest are what they are, whichever comes first";
  EXPECT_EQ(Within(plan, 1), Strings{"aten::topk"});
}

TEST(Edges, AreWhereQuotientsAreRounded) {
  const auto names = [](const char* op, const json& more) {
    Sketch sketch;
    const int x = sketch.Input("float32", {8, 4}, {4, 1}), y = sketch.Tensor("float32", {8, 4}, {4, 1});
    sketch.Step("run", op, {T(x), 0.7}, {y}, more);
    sketch.Output(y);
    return Names(sketch.Build(), 0);
  };
  const json trunc = {{"rounding_mode", "trunc"}};
  EXPECT_EQ(names("aten::div.Scalar_mode", trunc), Strings{"aten::div.Scalar_mode jumps"});
  EXPECT_EQ(names("aten::div.Tensor_mode", trunc), Strings{"aten::div.Tensor_mode jumps"});
  EXPECT_EQ(names("aten::div.Scalar", json::object()), Strings{});
  EXPECT_EQ(names("aten::div.Tensor_mode", {{"rounding_mode", nullptr}}), Strings{});
}

TEST(Edges, AreFlatPartsInPlaceToo) {
  Sketch sketch;
  const int x = sketch.Input("float32", {8, 4}, {4, 1});
  const int y = sketch.Tensor("float32", {8, 4}, {4, 1});
  const int z = sketch.Tensor("float32", {8, 4}, {4, 1});
  sketch.Step("run", "aten::mul.Tensor", {T(x), 2.0}, {y});
  sketch.Step("run", "aten::relu_", {T(y)}, {y});
  sketch.Step("run", "aten::add.Tensor", {T(y), T(x)}, {z});
  sketch.Output(z);
  EXPECT_EQ(Names(sketch.Build(), 0), Strings{"aten::relu_ is flat"});
}

TEST(Edges, EndWhereManyValuesAreSummed) {
  Sketch sketch;
  const int x = sketch.Input("float32", {8, 4}, {4, 1});
  const int y = sketch.Tensor("float32", {8, 4}, {4, 1}), sum = sketch.Tensor("float32", {8}, {1});
  sketch.Step("run", "aten::round", {T(x)}, {y});
  sketch.Step("run", "aten::sum.dim_IntList", {T(y), json::array({1})}, {sum});
  sketch.Output(sum);
  EXPECT_EQ(Names(sketch.Build(), 0), Strings{});
}

TEST(Probes, OfOneCallMayBeSeveral) {
  Sketch sketch;
  const int x = sketch.Input("float32", {4}, {1}), y = sketch.Input("float32", {4}, {1});
  const int z = sketch.Tensor("float32", {4}, {1});
  sketch.Step("run", "aten::sub.Tensor", {T(x), T(y)}, {z});
  sketch.Output(z);
  const Plan plan = sketch.Build();
  const auto* step = &std::get<AtenStep>(plan.run[0]);
  std::vector<Probe> probes = {{step, x, at::full({4}, 5.0), {}}, {step, y, {}, {}}};
  ReplayOptions options;
  options.probes = &probes;
  const TensorList inputs = {at::arange(4).to(at::kFloat), at::ones({4})};
  TensorList outputs;
  ASSERT_FALSE(RunOnce(plan, inputs, &outputs, options));
  EXPECT_TRUE(outputs[0].equal(inputs[0] + 4));
  EXPECT_TRUE(probes[0].seen.equal(inputs[0]) && probes[1].seen.equal(inputs[1]));
}

TEST(Probes, LookAtAnArgumentAndMoveItForOneCallAlone) {
  Sketch sketch;
  const int x = sketch.Input("float32", {4}, {1});
  const int y = sketch.Tensor("float32", {4}, {1}), z = sketch.Tensor("float32", {4}, {1});
  sketch.Step("run", "aten::relu", {T(x)}, {y});
  sketch.Step("run", "aten::relu_", {T(y)}, {y});
  sketch.Step("run", "aten::neg", {T(x)}, {z});
  sketch.Output(y);
  sketch.Output(z);
  const Plan plan = sketch.Build();
  std::vector<Probe> probes;
  for (const size_t step : {0, 1})
    probes.push_back({&std::get<AtenStep>(plan.run[step]), step == 0 ? x : y, at::full({4}, 1.0), {}});
  ReplayOptions options;
  options.probes = &probes;
  const at::Tensor input = at::tensor({-3.0F, -0.5F, 0.0F, 2.0F});
  TensorList outputs;
  ASSERT_FALSE(RunOnce(plan, {input}, &outputs, options));
  EXPECT_TRUE(probes[0].seen.equal(input));
  EXPECT_TRUE(probes[1].seen.equal(at::tensor({0.0F, 0.5F, 1.0F, 3.0F})));
  EXPECT_TRUE(outputs[0].equal(at::tensor({1.0F, 1.5F, 2.0F, 4.0F})));
  EXPECT_TRUE(outputs[1].equal(-input)) << "other calls are given what they were";
  probes[0].nudge.reset();
  probes[1].nudge.reset();
  ASSERT_FALSE(RunOnce(plan, {input}, &outputs, options));
  EXPECT_TRUE(outputs[0].equal(input.relu()));
}

TEST(Expectation, SaysOfEachElementWhatItMayBeOffBy) {
  at::manual_seed(3);
  const at::Tensor exact = at::randn({50, 24}, at::kDouble) * at::randn({50, 1}).exp();
  const at::Tensor eager = (exact * (1 + 1e-6 * at::randn({50, 24}))).to(at::kFloat);
  for (const auto way : {Expectation::Way::kLoops, Expectation::Way::kKernels}) {
    const Expectation expected(exact, eager, {}, {}, way);
    const at::Tensor allowed = expected.AllowedEverywhere(Expectation::kMultiple);
    ASSERT_EQ(allowed.sizes(), exact.sizes());
    for (const int64_t at : {0, 23, 24, 700, 1199})
      EXPECT_NEAR(allowed.flatten()[at].item<double>() / expected.AllowedAt(at), 1, 1e-6);
    EXPECT_LT(expected.AllowedEverywhere(2).sum().item<double>(), allowed.sum().item<double>() / 4);
  }
}

TEST(Expectation, TakesIntegersOfTheEagerProgramForRightToo) {
  const at::Tensor exact = at::tensor({1, 2, 3}, at::kChar), eager = at::tensor({1, 2, 4}, at::kChar);
  const Expectation expected(exact, eager, {});
  EXPECT_TRUE(expected.Compare(exact).ok);
  EXPECT_TRUE(expected.Compare(eager).ok);
  EXPECT_FALSE(expected.Compare(at::tensor({1, 2, 5}, at::kChar)).ok);
  EXPECT_FALSE(expected.Compare(at::tensor({1, 4, 3}, at::kChar)).ok) << "at its place, not anywhere";
}

}  // namespace
}  // namespace tritogen
