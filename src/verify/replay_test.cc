#include "verify/replay.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "plan/visit.h"
#include "verify/inputs.h"
#include "verify/test_sketch.h"

namespace tritogen {
namespace {

using Kind = ReplayFailure::Kind;

TEST(ReplayTest, RunsAtenStepsInOrder) {
  Sketch sketch;
  int x = sketch.Input("float32", {2, 3}, {3, 1});
  int y = sketch.Tensor("float32", {2, 3}, {3, 1});
  int z = sketch.Tensor("float32", {2}, {1});
  sketch.Step("run", "aten::mul.Tensor", {T(x), 2.5}, {y});
  sketch.Step("run", "aten::sum.dim_IntList", {T(y), {-1}}, {z}, {{"dtype", {{"dtype", "float32"}}}});
  sketch.Output(z);
  Plan plan = sketch.Build();
  at::Tensor input = at::arange(6, at::kFloat).view({2, 3});
  TensorList outputs;
  auto failure = RunOnce(plan, {input}, &outputs);
  ASSERT_FALSE(failure) << failure->message;
  EXPECT_TRUE(at::equal(outputs[0], (input * 2.5).sum(1)));
}

TEST(ReplayTest, Float64WidensEveryFloatingTensor) {
  Sketch sketch;
  int x = sketch.Input("float16", {4}, {1});
  int count = sketch.Input("int64", {4}, {1});
  int ones = sketch.Tensor("float32", {4}, {1});
  int half = sketch.Tensor("float16", {4}, {1});
  int third = sketch.Tensor("float32", {4}, {1});
  int sum = sketch.Tensor("float32", {4}, {1});
  sketch.Step("run", "aten::full", {json::array({4}), 1.1}, {ones}, {{"device", {{"device", "cuda"}}}});
  sketch.Step("run", "aten::_to_copy", {T(ones)}, {half}, {{"dtype", {{"dtype", "float16"}}}});
  sketch.Step("run", "aten::div.Tensor", {T(count), 3}, {third});
  sketch.Step("run", "aten::add.Tensor", {T(half), T(third)}, {sum});
  sketch.Step("run", "aten::add_.Tensor", {T(sum), T(x)}, {sum});
  sketch.Output(sum);
  ReplayOptions options;
  options.in_float64 = true;
  TensorList outputs;
  auto failure = RunOnce(sketch.Build(), {at::ones({4}, at::kHalf), at::arange(4)}, &outputs, options);
  ASSERT_FALSE(failure) << failure->message;
  EXPECT_EQ(outputs[0].scalar_type(), at::kDouble);
  EXPECT_TRUE(at::allclose(outputs[0], at::arange(4, at::kDouble) / 3 + 2.1, 0, 1e-15));
}

TEST(ReplayTest, Float64SeesTheBitsOfIntegers) {
  for (const bool written : {false, true}) {
    Sketch sketch;
    const int bytes = sketch.Tensor("uint8", {6}, {1});
    const int seen = sketch.Tensor("float8_e4m3fn", {6}, {1}, /*storage=*/0);
    const int part = sketch.Tensor("float8_e4m3fn", {4}, {1}, /*storage=*/0);
    sketch.map["tensors"][part][4] = 2;
    const int y = sketch.Tensor("float32", {4}, {1});
    sketch.Step("run", "aten::arange", {6}, {bytes}, {{"dtype", {{"dtype", "uint8"}}}});
    sketch.Step("run", "aten::view.dtype", {T(bytes), {{"dtype", "float8_e4m3fn"}}}, {seen});
    if (written) sketch.Step("run", "aten::zero_", {T(bytes)}, {bytes});
    sketch.Step("run", "aten::slice.Tensor", {T(seen), 0, 2}, {part});
    sketch.Step("run", "aten::_to_copy", {T(part)}, {y}, {{"dtype", {{"dtype", "float32"}}}});
    sketch.Output(y);
    ReplayOptions options;
    options.in_float64 = true;
    TensorList outputs;
    const auto failure = RunOnce(sketch.Build(), {}, &outputs, options);
    ASSERT_EQ(failure.has_value(), written) << (failure ? failure->message : "");
    if (written) continue;
    const at::Tensor smallest = at::arange(2, 6, at::kDouble) / 512;
    EXPECT_TRUE(at::equal(outputs[0], smallest));
  }
}

TEST(ReplayTest, FactorsAreCutButNotWhatIsAdded) {
  Sketch sketch;
  const int x = sketch.Input("float32", {3, 4}, {4, 1}), w = sketch.Input("float32", {5, 4}, {4, 1}),
            b = sketch.Input("float32", {5}, {1}), y = sketch.Tensor("float32", {3, 5}, {5, 1});
  sketch.Step("run", "aten::linear", {T(x), T(w), T(b)}, {y});
  sketch.Output(y);
  ReplayOptions options;
  options.in_float64 = true;
  options.factors = Fp32Precision::kTf32;
  const TensorList inputs = {at::randn({3, 4}), at::randn({5, 4}), at::randn({5})};
  TensorList outputs;
  auto failure = RunOnce(sketch.Build(), inputs, &outputs, options);
  ASSERT_FALSE(failure) << failure->message;
  const auto cut = [](const at::Tensor& tensor) { return CutToTf32(tensor.to(at::kDouble)); };
  EXPECT_TRUE(at::allclose(outputs[0], at::linear(cut(inputs[0]), cut(inputs[1]), inputs[2].to(at::kDouble)),
                           0, 1e-14));
}

// What PyTorch leaves to cuDNN, which takes TF32 unless it is told not to.
TEST(ReplayTest, AsPytorchDoesByItselfOnlyConvolutionsAreCut) {
  Sketch sketch;
  const int x = sketch.Input("float32", {2, 3, 9}, {27, 9, 1}),
            w = sketch.Input("float32", {4, 3, 2}, {6, 2, 1}), v = sketch.Input("float32", {5, 8}, {8, 1}),
            y = sketch.Tensor("float32", {2, 4, 8}, {32, 8, 1}),
            z = sketch.Tensor("float32", {2, 4, 5}, {20, 5, 1});
  sketch.Step("run", "aten::conv1d", {T(x), T(w)}, {y});
  sketch.Step("run", "aten::linear", {T(y), T(v)}, {z});
  sketch.Output(z);
  ReplayOptions options;
  options.in_float64 = true;
  options.factors = Fp32Precision::kPytorch;
  const TensorList inputs = {at::randn({2, 3, 9}), at::randn({4, 3, 2}), at::randn({5, 8})};
  TensorList outputs;
  auto failure = RunOnce(sketch.Build(), inputs, &outputs, options);
  ASSERT_FALSE(failure) << failure->message;
  const auto exact = [](const at::Tensor& tensor) { return tensor.to(at::kDouble); };
  const auto cut = [&](const at::Tensor& tensor) { return CutToTf32(exact(tensor)); };
  const at::Tensor convolved = at::conv1d(cut(inputs[0]), cut(inputs[1]));
  EXPECT_TRUE(at::allclose(outputs[0], at::linear(convolved, exact(inputs[2])), 0, 1e-13));
  EXPECT_FALSE(at::allclose(outputs[0], at::linear(cut(convolved), cut(inputs[2])), 0, 1e-6));
}

TEST(ReplayTest, TheWeightsOfAttentionAreCutToo) {
  Sketch sketch;
  std::vector<int> in;
  for (int i = 0; i < 3; ++i) in.push_back(sketch.Input("float32", {2, 4, 8}, {32, 8, 1}));
  const int y = sketch.Tensor("float32", {2, 4, 8}, {32, 8, 1});
  sketch.Step("run", "aten::scaled_dot_product_attention", {T(in[0]), T(in[1]), T(in[2])}, {y});
  sketch.Output(y);
  ReplayOptions options;
  options.in_float64 = true;
  options.factors = Fp32Precision::kTf32;
  const TensorList inputs = {at::randn({2, 4, 8}), at::randn({2, 4, 8}), at::randn({2, 4, 8})};
  TensorList outputs;
  auto failure = RunOnce(sketch.Build(), inputs, &outputs, options);
  ASSERT_FALSE(failure) << failure->message;
  const auto cut = [](const at::Tensor& tensor) { return CutToTf32(tensor.to(at::kDouble)); };
  const at::Tensor scores = cut(inputs[0]).matmul(cut(inputs[1]).transpose(1, 2)) / std::sqrt(8.0);
  EXPECT_TRUE(at::allclose(outputs[0], cut(scores.softmax(-1)).matmul(cut(inputs[2])), 0, 1e-12));
}

TEST(ReplayTest, Float64KeepsTheLargestNumberOfTheDeclaredDtype) {
  Sketch sketch;
  const int x = sketch.Input("float32", {3}, {1}), y = sketch.Tensor("float32", {3}, {1});
  sketch.Step("run", "aten::nan_to_num", {T(x), 0.5}, {y});
  sketch.Output(y);
  ReplayOptions options;
  options.in_float64 = true;
  TensorList outputs;
  const double inf = std::numeric_limits<double>::infinity(), most = std::numeric_limits<float>::max();
  auto failure =
      RunOnce(sketch.Build(), {at::tensor({inf, -inf, std::nan("")}, at::kDouble)}, &outputs, options);
  ASSERT_FALSE(failure) << failure->message;
  EXPECT_TRUE(outputs[0].equal(at::tensor({most, -most, 0.5}, at::kDouble)));
}

TEST(ReplayTest, Float64DrawsTheSameRandomNumbers) {
  Sketch sketch;
  int w = sketch.Tensor("float32", {64}, {1});
  sketch.Step("setup", "aten::empty.memory_format", {json::array({64})}, {w},
              {{"dtype", {{"dtype", "float32"}}}});
  sketch.Step("setup", "aten::normal_", {T(w)}, {w});
  sketch.map["state"].push_back({"w", w, "parameter"});
  Plan plan = sketch.Build();
  ReplayOptions wide;
  wide.in_float64 = true;
  Replayer narrow_replay(plan, {}), wide_replay(plan, wide);
  ASSERT_FALSE(narrow_replay.SetUp(42, {}, {}, {}));
  ASSERT_FALSE(wide_replay.SetUp(42, {}, {}, {}));
  at::Tensor expected = at::empty({64}).normal_(0, 1, at::make_generator<at::CPUGeneratorImpl>(42));
  EXPECT_TRUE(at::equal(narrow_replay.State()["w"], expected));
  EXPECT_TRUE(at::equal(wide_replay.State()["w"], expected.to(at::kDouble)));
}

TEST(ReplayTest, BindingsReachPackedCopies) {
  Sketch sketch;
  int x = sketch.Input("float32", {3}, {1});
  int cpu = sketch.Tensor("float32", {2, 3}, {3, 1});
  int view = sketch.Tensor("float32", {3, 2}, {1, 3}, sketch.map["tensors"][cpu][0]);
  int packed = sketch.Tensor("float32", {3, 2}, {2, 1});
  int w = sketch.Tensor("float32", {2, 3}, {3, 1});
  int y = sketch.Tensor("float32", {2}, {1});
  sketch.Step("setup", "aten::empty.memory_format", {{2, 3}}, {cpu});
  sketch.Step("setup", "aten::uniform_", {T(cpu)}, {cpu});
  sketch.Step("setup", "aten::t", {T(cpu)}, {view});
  sketch.Step("setup", "aten::clone", {T(view)}, {packed},
              {{"memory_format", {{"memory_format", "contiguous_format"}}}});
  sketch.Step("setup", "aten::_to_copy", {T(cpu)}, {w}, {{"device", {{"device", "cuda"}}}});
  sketch.Step("run", "aten::matmul", {T(x), T(packed)}, {y});
  sketch.map["state"].push_back({"w", w, "parameter"});
  sketch.Output(y);
  Plan plan = sketch.Build();
  Replayer replayer(plan, {});
  at::Tensor values = at::arange(6, at::kFloat).view({2, 3});
  auto failure = replayer.SetUp(1, {}, {}, {{"w", values}});
  ASSERT_FALSE(failure) << failure->message;
  EXPECT_TRUE(at::equal(replayer.State()["w"], values));
  TensorList outputs;
  ASSERT_FALSE(replayer.Run({at::ones({3})}, 1, &outputs));
  EXPECT_TRUE(at::equal(outputs[0], values.sum(1)));
  EXPECT_TRUE(replayer.SetUp(1, {}, {}, {{"v", values}}));  // no such state
}

TEST(ReplayTest, ComplexNumbersAreBoundAsPairs) {
  Sketch sketch;
  int x = sketch.Input("float32", {3}, {1});
  int z = sketch.Tensor("complex64", {3}, {1});
  int pairs = sketch.Tensor("float32", {3, 2}, {2, 1}, sketch.map["tensors"][z][0]);
  int y = sketch.Tensor("float32", {2}, {1});
  sketch.Step("setup", "aten::randn", {json::array({3})}, {z}, {{"dtype", {{"dtype", "complex64"}}}});
  sketch.Step("setup", "aten::view_as_real", {T(z)}, {pairs});
  sketch.Step("run", "aten::matmul", {T(x), T(pairs)}, {y});
  sketch.map["state"].push_back({"w", pairs, "parameter"});
  sketch.Output(y);
  Plan plan = sketch.Build();
  for (const bool wide : {false, true}) {
    ReplayOptions options;
    options.in_float64 = wide;
    Replayer replayer(plan, options);
    const at::Tensor values = at::arange(6, wide ? at::kDouble : at::kFloat).view({3, 2});
    auto failure = replayer.SetUp(1, {}, {}, {{"w", values}});
    ASSERT_FALSE(failure) << failure->message;
    EXPECT_TRUE(at::equal(replayer.State()["w"], values));
  }
}

TEST(ReplayTest, StateCopiedFromAnExpandedTensorIsBoundBehindTheCopy) {
  Sketch sketch;
  int origin = sketch.Tensor("float32", {2}, {1});
  int wide = sketch.Tensor("float32", {3, 2}, {0, 1}, sketch.map["tensors"][origin][0]);
  int buffer = sketch.Tensor("float32", {3, 2}, {2, 1});
  sketch.Step("setup", "aten::randn", {json::array({2})}, {origin});
  sketch.Step("setup", "aten::expand", {T(origin), json::array({3, 2})}, {wide});
  sketch.Step("setup", "aten::clone", {T(wide)}, {buffer},
              {{"memory_format", {{"memory_format", "contiguous_format"}}}});
  sketch.map["state"].push_back({"w", buffer, "buffer"});
  Plan plan = sketch.Build();
  Replayer replayer(plan, {});
  at::Tensor values = at::arange(6, at::kFloat).view({3, 2});
  auto failure = replayer.SetUp(1, {}, {}, {{"w", values}});
  ASSERT_FALSE(failure) << failure->message;
  EXPECT_TRUE(at::equal(replayer.State()["w"], values));
}

TEST(ReplayTest, LayersCopiedFromOneAnotherAreBoundOneByOne) {
  Sketch sketch;
  int origin = sketch.Tensor("float32", {2}, {1});
  int first = sketch.Tensor("float32", {2}, {1});
  int second = sketch.Tensor("float32", {2}, {1});
  sketch.Step("setup", "aten::randn", {json::array({2})}, {origin});
  sketch.Step("setup", "aten::clone", {T(origin)}, {first});
  sketch.Step("setup", "aten::clone", {T(origin)}, {second});
  sketch.map["state"].push_back({"layers.0", first, "parameter"});
  sketch.map["state"].push_back({"layers.1", second, "parameter"});
  Plan plan = sketch.Build();
  Replayer replayer(plan, {});
  ASSERT_FALSE(replayer.SetUp(1, {}, {}, {{"layers.0", at::zeros({2})}, {"layers.1", at::ones({2})}}));
  EXPECT_TRUE(at::equal(replayer.State()["layers.0"], at::zeros({2})));
  EXPECT_TRUE(at::equal(replayer.State()["layers.1"], at::ones({2})));
}

TEST(ReplayTest, InputsComeInTheRecordedLayout) {
  Sketch sketch;
  int x = sketch.Input("float32", {2, 3}, {1, 2});
  int flat = sketch.Tensor("float32", {6}, {1}, sketch.map["tensors"][x][0]);
  sketch.Step("run", "aten::as_strided", {T(x), json::array({6}), json::array({1})}, {flat});
  sketch.Output(flat);
  TensorList outputs;
  auto failure = RunOnce(sketch.Build(), {at::arange(6, at::kFloat).view({2, 3})}, &outputs);
  ASSERT_FALSE(failure) << failure->message;
  EXPECT_TRUE(at::equal(outputs[0], at::tensor({0.f, 3.f, 1.f, 4.f, 2.f, 5.f})));
}

TEST(ReplayTest, ResultsAreRestridedWhenTheyOwnTheirMemory) {
  Sketch sketch;
  int x = sketch.Input("float32", {2, 3}, {3, 1});
  int y = sketch.Tensor("float32", {2, 3}, {1, 2});
  sketch.Step("run", "aten::relu", {T(x)}, {y});
  sketch.Output(y);
  TensorList outputs;
  ASSERT_FALSE(RunOnce(sketch.Build(), {at::ones({2, 3})}, &outputs));
  EXPECT_EQ(outputs[0].strides(), at::IntArrayRef({1, 2}));
}

TEST(ReplayTest, FreshMemoryIsPoisoned) {
  Sketch sketch;
  int y = sketch.Tensor("float32", {4}, {1});
  int i = sketch.Tensor("int64", {4}, {1});
  sketch.Step("run", "aten::empty.memory_format", {json::array({4})}, {y});
  sketch.Step("run", "aten::empty.memory_format", {json::array({4})}, {i}, {{"dtype", {{"dtype", "int64"}}}});
  sketch.Output(y);
  sketch.Output(i);
  TensorList outputs;
  ReplayOptions unchecked;
  unchecked.check_memory = false;
  ASSERT_FALSE(RunOnce(sketch.Build(), {}, &outputs, unchecked));
  EXPECT_TRUE(outputs[0].isnan().all().item<bool>());
  EXPECT_EQ(outputs[1][0].item<int64_t>(), 0x7f7f7f7f7f7f7f7f);
  unchecked.order_seed = 1;
  const Plan plan = sketch.Build();
  Replayer replayer(plan, unchecked);
  ASSERT_FALSE(replayer.SetUp(1, {}, {}, {}));
  for (const bool largest : {true, false, true}) {  // NaN is what a maximum may pass over
    ASSERT_FALSE(replayer.Run({}, 1, &outputs));
    EXPECT_EQ(outputs[0][0].item<float>() == std::numeric_limits<float>::max(), largest);
  }
}

TEST(ReplayTest, OutputsThatNobodyWroteAreAMemoryError) {
  Sketch sketch;
  int y = sketch.Tensor("float32", {2, 3}, {3, 1});
  int row = sketch.Tensor("float32", {3}, {1}, 0);
  sketch.Step("run", "aten::empty.memory_format", {json::array({2, 3})}, {y});
  sketch.Step("run", "aten::select.int", {T(y), 0, 0}, {row});
  sketch.Step("run", "aten::zero_", {T(row)}, {row});
  sketch.Output(y);
  TensorList outputs;
  const auto failure = RunOnce(sketch.Build(), {}, &outputs);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, ReplayFailure::Kind::kMemoryError);
  EXPECT_EQ(failure->message, "output 0 holds memory that nobody wrote, first at [1, 0]");
}

TEST(ReplayTest, ListsOptionalsAndConstants) {
  Sketch sketch;
  int x = sketch.Input("float32", {3, 2}, {2, 1});
  int index = sketch.Tensor("int64", {2}, {1});
  int picked = sketch.Tensor("float32", {3, 2}, {2, 1});
  int joined = sketch.Tensor("float32", {3, 4}, {4, 1});
  int left = sketch.Tensor("float32", {3, 2}, {4, 1}, sketch.map["tensors"][joined][0]);
  int right = sketch.Tensor("float32", {3, 2}, {4, 1}, sketch.map["tensors"][joined][0]);
  sketch.map["storages"][sketch.map["tensors"][joined][0].get<int>()] = 48;
  sketch.map["tensors"][right][4] = 2;
  std::vector<uint8_t> ones_zero(16, 0);
  ones_zero[0] = 1;
  sketch.map["setup"].push_back(
      {{"op", "constant"}, {"out", index}, {"data", json::binary(ones_zero)}, {"line", 1}});
  sketch.Step("run", "aten::index.Tensor", {T(x), {nullptr, T(index)}}, {picked});
  sketch.Step("run", "aten::cat", {{T(x), T(picked)}, 1}, {joined});
  sketch.Step("run", "aten::split.Tensor", {T(joined), 2, 1}, {left, right});
  sketch.Output(left);
  sketch.Output(right);
  at::Tensor input = at::arange(6, at::kFloat).view({3, 2});
  TensorList outputs;
  auto failure = RunOnce(sketch.Build(), {input}, &outputs);
  ASSERT_FALSE(failure) << failure->message;
  EXPECT_TRUE(at::equal(outputs[0], input));
  EXPECT_TRUE(at::equal(outputs[1], input.flip(1)));
}

TEST(ReplayTest, RecordedReferencesAgreeWithTheirFloat64Selves) {
  for (const char* name : {"mlp_gelu", "conv_bn_relu", "transformer_block"}) {
    SCOPED_TRACE(name);
    Plan plan = GoldenPlan(name);
    ReplayOptions wide_options;
    wide_options.in_float64 = true;
    Replayer narrow(plan, {}), wide(plan, wide_options);
    TensorList inputs, init_inputs, outputs, exact;
    auto check = [](const std::optional<ReplayFailure>& failure) {
      ASSERT_FALSE(failure) << failure->message;
    };
    check(narrow.Generate(7, &inputs, &init_inputs));
    TensorList warmup = TensorLeaves(plan.warmup_inputs).empty() ? TensorList() : inputs;
    check(narrow.SetUp(7, init_inputs, warmup, {}));
    check(narrow.Run(inputs, 7, &outputs));
    auto state = narrow.State();
    check(wide.SetUp(7, init_inputs, warmup, {state.begin(), state.end()}));
    check(wide.Run(inputs, 7, &exact));
    ASSERT_FALSE(outputs.empty());
    for (size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_EQ(exact[i].scalar_type(), at::kDouble);
      EXPECT_TRUE(at::allclose(outputs[i].to(at::kDouble), exact[i], 1e-3, 1e-3));
    }
  }
}

}  // namespace
}  // namespace tritogen
