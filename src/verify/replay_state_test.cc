// What a call leaves behind for the next one: state that is restored, forgotten or drawn anew.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <utility>

#include "verify/replay.h"
#include "verify/test_sketch.h"

namespace tritogen {
namespace {

TEST(ReplayState, CallsAreIndependent) {
  Sketch sketch;
  int x = sketch.Input("float32", {2}, {1});
  int total = sketch.Tensor("float32", {2}, {1});
  sketch.Step("setup", "aten::zeros", {json::array({2})}, {total});
  sketch.Step("run", "aten::add_.Tensor", {T(total), T(x)}, {total});
  sketch.map["state"].push_back({"total", total, "buffer"});
  sketch.Output(total);
  Plan plan = sketch.Build();
  Replayer replayer(plan, {});
  ASSERT_FALSE(replayer.SetUp(1, {}, {}, {}));
  TensorList first, second;
  ASSERT_FALSE(replayer.Run({at::ones({2})}, 1, &first));
  ASSERT_FALSE(replayer.Run({at::full({2}, 5.0)}, 1, &second));
  EXPECT_TRUE(at::equal(first[0], at::ones({2})));
  EXPECT_TRUE(at::equal(second[0], at::full({2}, 5.0)));
}

// A buffer that set-up made: `first` is what a call does with it before it counts it up.
Plan Counter(const char* first, json args) {
  Sketch sketch;
  const int x = sketch.Input("float32", {2}, {1}), counter = sketch.Tensor("float32", {2}, {1});
  const int y = sketch.Tensor("float32", {2}, {1});
  sketch.Step("setup", "aten::zeros", {json::array({2})}, {counter});
  args.insert(args.begin(), T(counter));
  sketch.Step("run", first, args, {counter});
  sketch.Step("run", "aten::add.Tensor", {T(x), T(counter)}, {y});
  sketch.Output(y);
  return sketch.Build();
}

TEST(ReplayState, KnowsWhatACallLeavesChanged) {
  TensorList outputs;
  for (const double value : {0.0, 3.0}) {
    const Plan plan = Counter("aten::fill_.Scalar", {value});
    Replayer replayer(plan, {});
    ASSERT_FALSE(replayer.SetUp(1, {}, {}, {}));
    ASSERT_FALSE(replayer.Run({at::ones({2})}, 1, &outputs));
    EXPECT_EQ(replayer.Changed(), value == 0 ? std::vector<TensorId>{} : std::vector<TensorId>{1});
  }
}

TEST(ReplayState, ForgottenMemoryMayBeWrittenAndNotRead) {
  ReplayOptions options;
  options.forgotten = {1};
  TensorList outputs;
  EXPECT_FALSE(RunOnce(Counter("aten::fill_.Scalar", {3.0}), {at::ones({2})}, &outputs, options));
  const auto failure = RunOnce(Counter("aten::add_.Scalar", {1.0}), {at::ones({2})}, &outputs, options);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, ReplayFailure::Kind::kMemoryError);
}

TEST(ReplayState, ForgottenMemoryMayBeDrawnAnewAndTakeAResult) {
  ReplayOptions options;
  options.forgotten = {1};
  TensorList outputs;
  EXPECT_FALSE(RunOnce(Counter("aten::uniform_", {0.0, 1.0}), {at::ones({2})}, &outputs, options));
  Sketch sketch;
  const int x = sketch.Input("float32", {2}, {1}), kept = sketch.Tensor("float32", {2}, {1});
  const int y = sketch.Tensor("float32", {2}, {1});
  sketch.Step("setup", "aten::zeros", {json::array({2})}, {kept});
  sketch.Step("run", "aten::mul.out", {T(x), T(x)}, {kept}, {{"out", T(kept)}});
  sketch.Step("run", "aten::neg", {T(kept)}, {y});
  sketch.Output(y);
  const auto failure = RunOnce(sketch.Build(), {at::full({2}, 3.0)}, &outputs, options);
  ASSERT_FALSE(failure) << failure->message;
  EXPECT_TRUE(at::equal(outputs[0], at::full({2}, -9.0)));
}

TEST(ReplayState, RedrawnStateIsOtherInEachCall) {
  const Plan plan = Counter("aten::add_.Scalar", {1.0});
  ReplayOptions options;
  options.redrawn = {1};
  Replayer replayer(plan, options);
  ASSERT_FALSE(replayer.SetUp(1, {}, {}, {}));
  TensorList first, second;
  ASSERT_FALSE(replayer.Run({at::zeros({2})}, 1, &first));
  ASSERT_FALSE(replayer.Run({at::zeros({2})}, 1, &second));
  EXPECT_FALSE(at::equal(first[0], second[0]));
  for (const TensorList& outputs : {first, second}) EXPECT_TRUE(outputs[0].ge(1.5).all().item<bool>());
}

TEST(ReplayState, RunningStatisticsAreRestored) {
  Sketch sketch;
  int x = sketch.Input("float32", {4, 2}, {2, 1});
  int mean = sketch.Tensor("float32", {2}, {1}), var = sketch.Tensor("float32", {2}, {1});
  int y = sketch.Tensor("float32", {4, 2}, {2, 1});
  sketch.Step("setup", "aten::zeros", {json::array({2})}, {mean});
  sketch.Step("setup", "aten::ones", {json::array({2})}, {var});
  sketch.Step("run", "aten::batch_norm", {T(x), nullptr, nullptr, T(mean), T(var), true, 0.5, 1e-5, true},
              {y});
  sketch.map["state"].push_back({"running_mean", mean, "buffer"});
  sketch.map["state"].push_back({"running_var", var, "buffer"});
  sketch.Output(mean);
  Plan plan = sketch.Build();
  Replayer replayer(plan, {});
  ASSERT_FALSE(replayer.SetUp(1, {}, {}, {}));
  TensorList outputs;
  for (int call = 0; call < 2; ++call) {
    ASSERT_FALSE(replayer.Run({at::ones({4, 2})}, 1, &outputs));
    EXPECT_TRUE(at::equal(outputs[0], at::full({2}, 0.5)));
  }
}

}  // namespace
}  // namespace tritogen
