#include "verify/verifier_calls.h"

#include <gtest/gtest.h>

#include <set>

#include "verify/test_builder.h"

namespace tritogen {
namespace {

TEST(CallsInARow, ShareSetUpAndNothingElse) {
  Builder b;
  const TensorId x = b.Input({4}), w = b.Tensor({4}), y = b.Tensor({4});
  b.plan.setup.emplace_back(AtenStep{"aten::ones", {}, {}, {w}, 1});
  b.Call("aten::mul.Tensor", {x, w}, {y});
  const Plan row = CallsInARow(b.Return(y), 3);
  ASSERT_EQ(row.run.size(), 3u);
  ASSERT_EQ(row.inputs.size(), 3u);
  ASSERT_EQ(row.outputs.size(), 3u);
  std::set<StorageId> storages = {row.tensors[y].storage};
  for (size_t call = 1; call < 3; ++call) {
    const auto& step = std::get<AtenStep>(row.run[call]);
    EXPECT_EQ(step.args[0], row.inputs[call]);
    EXPECT_EQ(step.args[1], Value{TensorRef{w}});
    EXPECT_EQ(row.outputs[call], Value{TensorRef{step.outs[0]}});
    EXPECT_TRUE(storages.insert(row.tensors[step.outs[0]].storage).second);
  }
}

// forward returns a buffer that each call updates: what is judged is what each of them returned.
TEST(CallsInARow, KeepWhatLaterCallsWriteOver) {
  Builder b;
  const TensorId x = b.Input({4}), h = b.Tensor({4});
  b.plan.setup.emplace_back(AtenStep{"aten::ones", {}, {}, {h}, 1});
  b.Call("aten::add_.Tensor", {h, x}, {h});
  const Plan row = CallsInARow(b.Return(h), 2);
  ASSERT_EQ(row.run.size(), 4u);
  std::set<StorageId> storages = {row.tensors[h].storage};
  for (size_t call = 0; call < 2; ++call) {
    const auto& copy = std::get<AtenStep>(row.run[2 * call + 1]);
    EXPECT_EQ(copy.op, "aten::clone");
    EXPECT_EQ(copy.args[0], Value{TensorRef{h}});
    EXPECT_EQ(row.outputs[call], Value{TensorRef{copy.outs[0]}});
    EXPECT_TRUE(storages.insert(row.tensors[copy.outs[0]].storage).second);
  }
}

TEST(WithWrittenInputs, PutsThemBehindTheOutputs) {
  Builder b;
  const TensorId x = b.Input({4}), z = b.Input({2}), y = b.Tensor({4});
  b.Call("aten::neg", {x}, {y});
  const Plan plan = b.Return(y);
  EXPECT_EQ(WithWrittenInputs(plan, {false, false}).outputs, plan.outputs);
  EXPECT_EQ(WithWrittenInputs(plan, {false, true}).outputs, (std::vector{Builder::Ref(y), Builder::Ref(z)}));
  EXPECT_EQ(WithWrittenInputs(plan, {true, true, true}).outputs.size(), 3u);  // another program's inputs
}

}  // namespace
}  // namespace tritogen
