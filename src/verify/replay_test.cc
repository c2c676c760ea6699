#include "verify/replay.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "base/frame.h"
#include "plan/parse.h"
#include "plan/visit.h"

namespace tritogen {
namespace {

using nlohmann::json;
using Kind = ReplayFailure::Kind;

// A Plan under construction: tensors get storages of their own unless told otherwise.
struct Sketch {
  json map = {{"version", 1},
              {"role", "candidate"},
              {"storages", json::array()},
              {"tensors", json::array()},
              {"kernels", json::array()},
              {"generate", json::array()},
              {"setup", json::array()},
              {"run", json::array()},
              {"init_inputs", json::array()},
              {"inputs", json::array()},
              {"warmup_inputs", json::array()},
              {"state", json::array()},
              {"outputs", json::array()},
              {"structure", "()"},
              {"training", false}};

  int Tensor(const char* dtype, std::vector<int64_t> sizes, std::vector<int64_t> strides, int storage = -1) {
    int64_t elements = 1;
    for (int64_t size : sizes) elements *= size;
    if (storage < 0) {
      storage = static_cast<int>(map["storages"].size());
      map["storages"].push_back(elements * static_cast<int64_t>(DtypeSize(*DtypeFromName(dtype))));
    }
    map["tensors"].push_back({storage, dtype, sizes, strides, 0, "cuda"});
    return static_cast<int>(map["tensors"].size()) - 1;
  }

  int Input(const char* dtype, std::vector<int64_t> sizes, std::vector<int64_t> strides) {
    int id = Tensor(dtype, sizes, strides);
    map["inputs"].push_back({{"t", id}});
    return id;
  }

  void Step(const char* phase, const char* op, json args, std::vector<int> outs,
            json kwargs = json::object()) {
    int line = static_cast<int>(map[phase].size()) + 1;
    map[phase].push_back({{"op", op}, {"args", args}, {"kwargs", kwargs}, {"outs", outs}, {"line", line}});
  }

  void Output(int id) {
    map["outputs"].push_back({{"t", id}});
    size_t count = map["outputs"].size();
    std::string stars = "(";
    for (size_t i = 0; i < count; ++i) stars += i ? ",*" : "*";
    map["structure"] = stars + ")";
  }

  Plan Build() const { return ParsePlan(map); }
};

json T(int id) {
  return {{"t", id}};
}

// Set-up without bindings, then one call.
std::optional<ReplayFailure> RunOnce(const Plan& plan, const TensorList& inputs, TensorList* outputs,
                                     ReplayOptions options = {}) {
  Replayer replayer(plan, options);
  if (auto failure = replayer.Setup(1, {}, {}, {})) return failure;
  return replayer.Run(inputs, 2, outputs);
}

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
  ASSERT_FALSE(narrow_replay.Setup(42, {}, {}, {}));
  ASSERT_FALSE(wide_replay.Setup(42, {}, {}, {}));
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
  auto failure = replayer.Setup(1, {}, {}, {{"w", values}});
  ASSERT_FALSE(failure) << failure->message;
  EXPECT_TRUE(at::equal(replayer.State()["w"], values));
  TensorList outputs;
  ASSERT_FALSE(replayer.Run({at::ones({3})}, 1, &outputs));
  EXPECT_TRUE(at::equal(outputs[0], values.sum(1)));
  EXPECT_TRUE(replayer.Setup(1, {}, {}, {{"v", values}}));  // no such state
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
  ASSERT_FALSE(replayer.Setup(1, {}, {}, {{"layers.0", at::zeros({2})}, {"layers.1", at::ones({2})}}));
  EXPECT_TRUE(at::equal(replayer.State()["layers.0"], at::zeros({2})));
  EXPECT_TRUE(at::equal(replayer.State()["layers.1"], at::ones({2})));
}

TEST(ReplayTest, CallsAreIndependent) {
  Sketch sketch;
  int x = sketch.Input("float32", {2}, {1});
  int total = sketch.Tensor("float32", {2}, {1});
  sketch.Step("setup", "aten::zeros", {json::array({2})}, {total});
  sketch.Step("run", "aten::add_.Tensor", {T(total), T(x)}, {total});
  sketch.map["state"].push_back({"total", total, "buffer"});
  sketch.Output(total);
  Plan plan = sketch.Build();
  Replayer replayer(plan, {});
  ASSERT_FALSE(replayer.Setup(1, {}, {}, {}));
  TensorList first, second;
  ASSERT_FALSE(replayer.Run({at::ones({2})}, 1, &first));
  ASSERT_FALSE(replayer.Run({at::full({2}, 5.0)}, 1, &second));
  EXPECT_TRUE(at::equal(first[0], at::ones({2})));
  EXPECT_TRUE(at::equal(second[0], at::full({2}, 5.0)));
}

TEST(ReplayTest, RunningStatisticsAreRestored) {
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
  ASSERT_FALSE(replayer.Setup(1, {}, {}, {}));
  TensorList outputs;
  for (int call = 0; call < 2; ++call) {
    ASSERT_FALSE(replayer.Run({at::ones({4, 2})}, 1, &outputs));
    EXPECT_TRUE(at::equal(outputs[0], at::full({2}, 0.5)));
  }
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
  ASSERT_FALSE(RunOnce(sketch.Build(), {}, &outputs, unchecked));
  EXPECT_EQ(outputs[0][0].item<float>(), std::numeric_limits<float>::max());
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

TEST(ReplayTest, RefusesWhatIsNoComputation) {
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

TEST(ReplayTest, NamesArgumentsThatDoNotFit) {
  EXPECT_EQ(FailureOf("aten::relu", json::array()).message, "aten::relu: argument 'self' is missing");
  EXPECT_EQ(FailureOf("aten::relu", {"x", 1}).message, "aten::relu: too many arguments");
  EXPECT_EQ(FailureOf("aten::relu", json::array({"x"}), {{"inplace", true}}).message,
            "aten::relu: argument 'inplace' is unknown or given twice");
  EXPECT_NE(FailureOf("aten::sum.dim_IntList", {"x", "all"}).message.find("argument 'dim'"),
            std::string::npos);
  EXPECT_NE(FailureOf("aten::sum.dim_IntList", {"x", {0.5}}).message.find("argument 'dim'"),
            std::string::npos);
}

TEST(ReplayTest, ResultsMustBeWhatThePlanSays) {
  ReplayFailure shape = FailureOf("aten::t", json::array({"x"}));
  EXPECT_EQ(shape.kind, Kind::kInfraError);
  EXPECT_EQ(shape.message, "aten::t gave float32[3, 2], the Plan says float32[2, 3]");
  ReplayFailure dtype = FailureOf("aten::eq.Scalar", {"x", 1});
  EXPECT_EQ(dtype.message, "aten::eq.Scalar gave bool[2, 3], the Plan says float32[2, 3]");
  EXPECT_EQ(FailureOf("aten::max.dim", {"x", 0}).message, "aten::max.dim gave 2 tensors, the Plan says 1");
}

TEST(ReplayTest, ViewsStayInsideTheirStorage) {
  FailureOf("aten::as_strided", {"x", {2, 3}, {3, 1}, 1});
  FailureOf("aten::as_strided", {"x", {2, 3}, {3, 1}, -1});
  FailureOf("aten::as_strided", {"x", {2, 3}, {int64_t{1} << 40, 1}});
  FailureOf("aten::_reshape_alias", {"x", {2, 3}, {int64_t{1} << 40, 1}});
}

TEST(ReplayTest, MemoryIsBounded) {
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

TEST(ReplayTest, MemoryComesBack) {
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
  ASSERT_FALSE(replayer.Setup(1, {}, {}, {}));
  for (int call = 0; call < 20; ++call) {
    TensorList outputs;
    auto failure = replayer.Run({at::ones({1024})}, 1, &outputs);
    ASSERT_FALSE(failure) << failure->message;
  }
}

TEST(ReplayTest, DeadlineEndsAReplay) {
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

Plan GoldenPlan(const std::string& name) {
  std::ifstream file(TRITOGEN_SOURCE_DIR "/tests/golden/plans/" + name + ".msgpack", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return ParsePlan(DecodeMessagePack(bytes));
}

// y[i, :] = x[i, :] * weight by a Triton kernel; arguments x, weight, y, n.
class LaunchTest : public testing::Test {
 protected:
  std::vector<KernelArg>& arguments() { return std::get<LaunchStep>(plan_.run[1]).variants[0].args; }

  std::optional<ReplayFailure> Run(TensorList* outputs) {
    Replayer replayer(plan_, {});
    if (auto failure = replayer.Setup(1, {}, {}, {{"weight", weight_}})) return failure;
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
  ASSERT_FALSE(replayer.Setup(1, {}, {}, {{"weight", weight_}}));
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

TEST_F(LaunchTest, ArgumentsMustFitTheKernel) {
  arguments().pop_back();
  TensorList outputs;
  auto failure = Run(&outputs);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, Kind::kRuntimeError);
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
    check(narrow.Setup(7, init_inputs, warmup, {}));
    check(narrow.Run(inputs, 7, &outputs));
    auto state = narrow.State();
    check(wide.Setup(7, init_inputs, warmup, {state.begin(), state.end()}));
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
