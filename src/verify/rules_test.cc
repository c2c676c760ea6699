#include "verify/rules.h"

#include <gtest/gtest.h>

#include "verify/test_builder.h"
#include "verify/work.h"

namespace tritogen {
namespace {

TEST(Rules, TritonMustReachAnOutputAndStrictAllowsNothingElse) {
  const Plan all = MatmulThenRelu(true, true), part = MatmulThenRelu(false, true),
             none = MatmulThenRelu(false, false);
  EXPECT_FALSE(CheckTriton(all, FlowOf(all), Mode::kStrict));
  EXPECT_FALSE(CheckTriton(part, FlowOf(part), Mode::kHybrid));
  const auto strict = CheckTriton(part, FlowOf(part), Mode::kStrict);
  ASSERT_TRUE(strict);
  EXPECT_EQ(strict->rule, "strict");
  EXPECT_EQ(strict->evidence["op"], "aten::mm");
  EXPECT_EQ(strict->evidence["line"], 1);
  for (const Mode mode : {Mode::kStrict, Mode::kHybrid}) {
    const auto objection = CheckTriton(none, FlowOf(none), mode);
    ASSERT_TRUE(objection);
    EXPECT_EQ(objection->rule, "no_triton");
  }
}

TEST(Rules, WithoutLaunchesFillsWhatOnlyTheyWouldWrite) {
  const Plan plan = WithoutLaunches(MatmulThenRelu(false, true));
  ASSERT_EQ(plan.run.size(), 3u);
  EXPECT_EQ(std::get<AtenStep>(plan.run[2]).op, "aten::fill_.Scalar");
}

TEST(Rules, ContractNamesTheFirstDifference) {
  const Plan reference = MatmulThenRelu(false, false);
  Plan candidate = reference;
  EXPECT_FALSE(CheckContract(reference, candidate));
  candidate.tensors[3].sizes = {64, 32};
  EXPECT_EQ(CheckContract(reference, candidate)->outcome, Outcome::kWrongShape);
  candidate = reference;
  candidate.tensors[3].dtype = Dtype::kFloat16;
  EXPECT_EQ(CheckContract(reference, candidate)->outcome, Outcome::kWrongDtype);
  candidate = reference;
  candidate.inputs.pop_back();
  EXPECT_EQ(CheckContract(reference, candidate)->rule, "contract");
  candidate = reference;
  candidate.structure = "(*)";
  EXPECT_EQ(CheckContract(reference, candidate)->outcome, Outcome::kWrongShape);
}

// A launch that writes what is returned, or a view of it.
Plan Launched(const std::vector<int64_t>& strides, bool made_in_setup) {
  Builder b;
  const TensorId x = b.Input({8, 8}), y = b.Tensor({8, 8});
  b.plan.tensors[y].strides = strides;
  AtenStep& made = b.Call("aten::empty_strided", {}, {y});
  if (made_in_setup) {
    b.plan.setup.emplace_back(made);
    b.plan.run.clear();
  }
  b.Launch({x, y});
  return b.Return(y);
}

TEST(Rules, OutputsAreMemoryOfTheirOwn) {
  const Plan fresh = Launched({8, 1}, false), transposed = Launched({1, 8}, false),
             expanded = Launched({0, 1}, false), kept = Launched({8, 1}, true);
  EXPECT_FALSE(CheckAliasing(fresh, fresh));
  EXPECT_FALSE(CheckAliasing(fresh, transposed));
  EXPECT_FALSE(CheckAliasing(expanded, expanded));
  EXPECT_FALSE(CheckAliasing(kept, kept));
  for (const Plan& plan : {expanded, kept}) {
    const auto objection = CheckAliasing(fresh, plan);
    ASSERT_TRUE(objection);
    EXPECT_EQ(objection->rule, "output_aliases");
  }
}

TEST(Rules, OutputsThatShareMemoryAreNamed) {
  // Two outputs of 32 elements with these strides, the second one this far behind the first, in one memory.
  auto two = [](std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t offset,
                bool apart = false) {
    Builder b;
    const TensorId x = b.Input({8, 8}), y = b.Tensor({8, 8});
    const StorageId memory = b.plan.tensors[y].storage;
    const TensorId first = b.Tensor(sizes, memory), second = b.Tensor(sizes, apart ? -1 : memory);
    for (const TensorId id : {first, second}) b.plan.tensors[id].strides = strides;
    if (!apart) b.plan.tensors[second].offset = offset;
    b.Launch({x, first, second});
    Plan plan = b.Return(first);
    plan.outputs.push_back(Builder::Ref(second));
    plan.structure = "(*,*)";
    return plan;
  };
  const Plan apart = two({8, 4}, {4, 1}, 0, true), halves = two({8, 4}, {4, 1}, 32),
             columns = two({8, 4}, {8, 1}, 4), interleaved = two({8, 4}, {8, 2}, 1),
             same = two({8, 4}, {4, 1}, 0), partly = two({8, 4}, {8, 1}, 3);
  for (const Plan* honest : {&apart, &halves, &columns, &interleaved})
    EXPECT_EQ(NoteOfSharing(apart, *honest), "");
  for (const Plan* shared : {&same, &partly}) {
    EXPECT_FALSE(CheckAliasing(apart, *shared));
    EXPECT_EQ(NoteOfSharing(apart, *shared).find("outputs 0 and 1 share memory"), 0u);
    EXPECT_EQ(NoteOfSharing(*shared, *shared), "");
  }
}

TEST(Rules, WhatSetUpMadeIsKeptThoughNoCallWritesIt) {
  const Plan fresh = Launched({8, 1}, false);
  Builder b;
  const TensorId y = b.Tensor({8, 8});
  b.plan.inputs = fresh.inputs;
  b.plan.setup.emplace_back(AtenStep{"aten::ones", {}, {}, {y}, 1});
  const auto objection = CheckAliasing(fresh, b.Return(y));
  ASSERT_TRUE(objection);
  EXPECT_EQ(objection->rule, "output_aliases");
}

TEST(Rules, DrawsOnlyWhereTheReferenceDraws) {
  auto drawing = [](const char* op, bool used) {
    Builder b;
    const TensorId x = b.Input({8}), luck = b.Tensor({8}), y = b.Tensor({8});
    b.Call(op, {}, {luck});
    b.Call("aten::empty", {}, {y});
    b.Launch(used ? std::vector{x, luck, y} : std::vector{x, y});
    return b.Return(y);
  };
  const Plan plain = drawing("aten::ones", true), lucky = drawing("aten::rand", true),
             idle = drawing("aten::rand", false);
  auto check = [](const Plan& reference, const Plan& candidate) {
    return CheckRandom(reference, candidate, FlowOf(candidate));
  };
  EXPECT_FALSE(check(plain, plain));
  EXPECT_FALSE(check(plain, idle));
  EXPECT_FALSE(check(lucky, lucky));
  ASSERT_TRUE(check(plain, lucky));
  EXPECT_EQ(check(plain, lucky)->rule, "random");
}

TEST(Rules, StrictAllowsCopiesBesideWorkAndNotInItsPlace) {
  Builder b;
  const TensorId x = b.Input({8}), c = b.Tensor({8}), y = b.Tensor({8});
  b.Call("aten::clone", {x}, {c});
  b.Launch({c, y});
  const Plan plan = b.Return(y);
  EXPECT_FALSE(CheckCopies(plan, {.flops = 0.9, .bytes = 0.6}, Mode::kStrict));
  EXPECT_FALSE(CheckCopies(plan, {.flops = 0.9, .bytes = 0.4}, Mode::kHybrid));
  const auto objection = CheckCopies(plan, {.flops = 0.9, .bytes = 0.4}, Mode::kStrict);
  ASSERT_TRUE(objection);
  EXPECT_EQ(objection->rule, "strict");
}

}  // namespace
}  // namespace tritogen
