#include "verify/replay_launch.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "verify/test_sketch.h"

namespace tritogen {
namespace {

using Kind = ReplayFailure::Kind;

// y[i, :] = x[i, :] * weight by a Triton kernel; arguments x, weight, y, n.
class LaunchTest : public testing::Test {
 protected:
  std::vector<KernelArg>& arguments() { return std::get<LaunchStep>(plan_.run[1]).variants[0].args; }

  std::optional<ReplayFailure> Run(TensorList* outputs) {
    Replayer replayer(plan_, {});
    if (auto failure = replayer.SetUp(1, {}, {}, {{"weight", weight_}})) return failure;
    return replayer.Run({input_}, 1, outputs);
  }

  Plan plan_ = GoldenPlan("scale_rows");
  at::Tensor input_ = at::rand({4, 96});
  at::Tensor weight_ = at::rand({96});
};

TEST_F(LaunchTest, LaunchesRunOnTheTileMachine) {
  TensorList outputs;
  auto failure = Run(&outputs);
  ASSERT_FALSE(failure) << failure->message;
  EXPECT_TRUE(at::equal(outputs[0], input_ * weight_));
}

TEST_F(LaunchTest, AccessOutsideABufferIsAMemoryError) {
  arguments()[3] = int64_t{97};
  std::get<LaunchStep>(plan_.run[1]).variants[0].grid = {1, 1, 1};  // row 0 of x goes on, the weight ends
  TensorList outputs;
  auto failure = Run(&outputs);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, Kind::kMemoryError);
  ASSERT_TRUE(failure->fault);
  EXPECT_EQ(failure->fault->kind, tile::FaultKind::kOutOfBounds);
  EXPECT_EQ(failure->fault->buffer, "parameter weight");
  EXPECT_EQ(failure->line, 11);
}

TEST_F(LaunchTest, ReadingMemoryThatNobodyWroteIsAMemoryError) {
  arguments()[0] = arguments()[2];
  TensorList outputs;
  auto failure = Run(&outputs);
  ASSERT_TRUE(failure);
  ASSERT_TRUE(failure->fault) << failure->message;
  EXPECT_EQ(failure->fault->kind, tile::FaultKind::kUndefinedRead);
  EXPECT_EQ(failure->fault->buffer, "output 0");
}

TEST_F(LaunchTest, WritesIntoStateAreUndone) {
  arguments()[0] = arguments()[2] = arguments()[1];  // weight *= weight, in one program
  std::get<LaunchStep>(plan_.run[1]).variants[0].grid = {1, 1, 1};
  Replayer replayer(plan_, {.check_memory = false});  // the output stays unwritten
  ASSERT_FALSE(replayer.SetUp(1, {}, {}, {{"weight", weight_}}));
  for (int call = 0; call < 2; ++call) {
    TensorList outputs;
    auto failure = replayer.Run({input_}, 1, &outputs);
    ASSERT_FALSE(failure) << failure->message;
    EXPECT_TRUE(at::equal(replayer.State()["weight"], weight_ * weight_));
  }
}

TEST_F(LaunchTest, BrokenKernelsAreCompileErrors) {
  plan_.kernels[0].ttir = "module { tt.func public @k(";
  TensorList outputs;
  auto failure = Run(&outputs);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, Kind::kCompileError);
}

// The tile machine takes it, for this program's own kernels; a recorded one must not let the next one start
// early.
TEST_F(LaunchTest, DependentLaunchesAreCompileErrors) {
  std::string& ttir = plan_.kernels[0].ttir;
  const size_t end = ttir.rfind("tt.return");
  ASSERT_NE(end, ttir.npos);
  ttir.insert(end,
              "%early = tt.elementwise_inline_asm \"griddepcontrol.launch_dependents; // dummy $0\" "
              "{constraints = \"=r\", packed_element = 1 : i32, pure = false} -> i32\n    ");
  TensorList outputs;
  auto failure = Run(&outputs);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, Kind::kCompileError);
  EXPECT_NE(failure->message.find("gdc_launch_dependents"), std::string::npos) << failure->message;
}

TEST_F(LaunchTest, ArgumentsMustFitTheKernel) {
  arguments().pop_back();
  TensorList outputs;
  auto failure = Run(&outputs);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, Kind::kRuntimeError);
}

}  // namespace
}  // namespace tritogen
