// What a replay refuses: operators, arguments, results that differ from the Plan, memory, time.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "verify/test_sketch.h"

namespace tritogen {
namespace {

using Kind = ReplayFailure::Kind;

// One step that must fail; gives the failure.
ReplayFailure FailureOf(const char* op, const json& args, const json& kwargs = json::object(),
                        ReplayOptions options = {}) {
  Sketch sketch;
  int x = sketch.Input("float32", {2, 3}, {3, 1});
  int y = sketch.Tensor("float32", {2, 3}, {3, 1});
  json with_input = args;
  if (!with_input.empty() && with_input[0] == "x") with_input[0] = T(x);
  sketch.Step("run", op, with_input, {y}, kwargs);
  sketch.Output(y);
  TensorList outputs;
  auto failure = RunOnce(sketch.Build(), {at::ones({2, 3})}, &outputs, options);
  EXPECT_TRUE(failure) << op << " ran";
  return failure.value_or(ReplayFailure{});
}

TEST(ReplayLimitsTest, RefusesWhatIsNoComputation) {
  for (const char* op :
       {"aten::from_file", "aten::_print", "aten::record_stream", "aten::set_.source_Tensor", "aten::item",
        "aten::_local_scalar_dense", "aten::resize_", "aten::to_sparse", "aten::quantize_per_tensor",
        "aten::equal", "aten::_unsafe_index.Tensor", "prim::device", "quantized::linear",
        "aten::no_such_operator", "aten::add.no_such_overload", "profiler::_record_function_enter"}) {
    ReplayFailure failure = FailureOf(op, json::array({"x"}));
    EXPECT_EQ(failure.kind, Kind::kRuntimeError) << op;
    EXPECT_NE(failure.message.find(op), std::string::npos) << failure.message;
    EXPECT_EQ(failure.line, 1);
  }
}

TEST(ReplayLimitsTest, NamesArgumentsThatDoNotFit) {
  EXPECT_EQ(FailureOf("aten::relu", json::array()).message, "aten::relu: argument 'self' is missing");
  EXPECT_EQ(FailureOf("aten::relu", {"x", 1}).message, "aten::relu: too many arguments");
  EXPECT_EQ(FailureOf("aten::relu", json::array({"x"}), {{"inplace", true}}).message,
            "aten::relu: argument 'inplace' is unknown or given twice");
  EXPECT_NE(FailureOf("aten::sum.dim_IntList", {"x", "all"}).message.find("argument 'dim'"),
            std::string::npos);
  EXPECT_NE(FailureOf("aten::sum.dim_IntList", {"x", {0.5}}).message.find("argument 'dim'"),
            std::string::npos);
}

TEST(ReplayLimitsTest, ResultsMustBeWhatThePlanSays) {
  ReplayFailure shape = FailureOf("aten::t", json::array({"x"}));
  EXPECT_EQ(shape.kind, Kind::kInfraError);
  EXPECT_EQ(shape.message, "aten::t gave float32[3, 2], the Plan says float32[2, 3]");
  ReplayFailure dtype = FailureOf("aten::eq.Scalar", {"x", 1});
  EXPECT_EQ(dtype.message, "aten::eq.Scalar gave bool[2, 3], the Plan says float32[2, 3]");
  EXPECT_EQ(FailureOf("aten::max.dim", {"x", 0}).message, "aten::max.dim gave 2 tensors, the Plan says 1");
}

// log_sigmoid_forward's second result is empty on a GPU, whatever a Plan that was recorded elsewhere says.
TEST(ReplayLimitsTest, AResultThatNobodyReadsMayHaveAnotherShape) {
  for (const bool is_read : {false, true}) {
    Sketch sketch;
    const int x = sketch.Input("float32", {2, 3}, {3, 1});
    const int y = sketch.Tensor("float32", {2, 3}, {3, 1});
    const int buffer = sketch.Tensor("float32", {0}, {1});
    sketch.Step("run", "aten::log_sigmoid_forward", json::array({T(x)}), {y, buffer});
    sketch.Output(y);
    if (is_read) sketch.Output(buffer);
    TensorList outputs;
    const auto failure = RunOnce(sketch.Build(), {at::zeros({2, 3})}, &outputs);
    ASSERT_EQ(failure.has_value(), is_read);
    if (is_read) {
      EXPECT_EQ(failure->message, "aten::log_sigmoid_forward gave float32[2, 3], the Plan says float32[0]");
    } else {
      EXPECT_TRUE(at::allclose(outputs[0], at::full({2, 3}, -std::log(2.0))));
    }
  }
}

TEST(ReplayLimitsTest, ViewsStayInsideTheirStorage) {
  FailureOf("aten::as_strided", {"x", {2, 3}, {3, 1}, 1});
  FailureOf("aten::as_strided", {"x", {2, 3}, {3, 1}, -1});
  FailureOf("aten::as_strided", {"x", {2, 3}, {int64_t{1} << 40, 1}});
  FailureOf("aten::_reshape_alias", {"x", {2, 3}, {int64_t{1} << 40, 1}});
}

TEST(ReplayLimitsTest, MemoryIsBounded) {
  Sketch sketch;
  int y = sketch.Tensor("float32", {1'000'000, 2'500'000}, {2'500'000, 1});
  sketch.Step("run", "aten::zeros", json::array({{1'000'000, 2'500'000}}), {y});
  sketch.Output(y);
  TensorList outputs;
  auto failure = RunOnce(sketch.Build(), {}, &outputs);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->message, "the program needs 1e+04 GB of memory at once, 8.59 GB are allowed");

  // A Plan that hides what an operator allocates.
  ReplayOptions small;
  small.memory_bytes = 1 << 20;
  ReplayFailure hidden = FailureOf("aten::zeros", json::array({{1'000'000}}), json::object(), small);
  EXPECT_EQ(hidden.kind, Kind::kRuntimeError);
  EXPECT_NE(hidden.message.find("ran out of memory"), std::string::npos) << hidden.message;
}

TEST(ReplayLimitsTest, MemoryComesBack) {
  Sketch sketch;
  int x = sketch.Input("float32", {1024}, {1});
  int last = x;
  for (int i = 0; i < 50; ++i) {  // 50 temporaries of 4 KiB, two at a time
    int next = sketch.Tensor("float32", {1024}, {1});
    sketch.Step("run", "aten::neg", json::array({T(last)}), {next});
    last = next;
  }
  sketch.Output(last);
  ReplayOptions small;
  small.memory_bytes = 16 << 10;
  Plan plan = sketch.Build();
  Replayer replayer(plan, small);
  ASSERT_FALSE(replayer.SetUp(1, {}, {}, {}));
  for (int call = 0; call < 20; ++call) {
    TensorList outputs;
    auto failure = replayer.Run({at::ones({1024})}, 1, &outputs);
    ASSERT_FALSE(failure) << failure->message;
  }
}

TEST(ReplayLimitsTest, DeadlineEndsAReplay) {
  Sketch sketch;
  int x = sketch.Input("float32", {2}, {1});
  int y = sketch.Tensor("float32", {2}, {1});
  sketch.Step("run", "aten::neg", json::array({T(x)}), {y});
  sketch.Output(y);
  ReplayOptions options;
  options.deadline_seconds = 0;
  TensorList outputs;
  auto failure = RunOnce(sketch.Build(), {at::ones({2})}, &outputs, options);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, Kind::kTimeout);
}

}  // namespace
}  // namespace tritogen
