#include "verify/work.h"

#include <gtest/gtest.h>

#include "verify/asked_choices.h"
#include "verify/test_builder.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

double Flops(const std::string& op, const std::vector<std::vector<int64_t>>& in,
             const std::vector<int64_t>& out) {
  Builder b;
  std::vector<TensorId> ids;
  for (const auto& sizes : in) ids.push_back(b.Input(sizes));
  const AtenStep step = b.Call(op, ids, {b.Tensor(out)});
  return WorkOf(b.plan, step).flops;
}

TEST(Work, CountsTheOperatorsThatMatter) {
  EXPECT_EQ(Flops("aten::mm", {{8, 16}, {16, 32}}, {8, 32}), 2 * 8 * 16 * 32);
  EXPECT_EQ(Flops("aten::addmm", {{32}, {8, 16}, {16, 32}}, {8, 32}), 2 * 8 * 16 * 32);
  EXPECT_EQ(Flops("aten::bmm", {{4, 8, 16}, {4, 16, 32}}, {4, 8, 32}), 4 * 2 * 8 * 16 * 32);
  EXPECT_EQ(Flops("aten::linear", {{4, 8, 16}, {32, 16}, {32}}, {4, 8, 32}), 4 * 2 * 8 * 16 * 32);
  EXPECT_EQ(Flops("aten::conv2d", {{2, 3, 10, 10}, {7, 3, 3, 3}}, {2, 7, 8, 8}),
            2 * (2 * 7 * 8 * 8) * (3 * 3 * 3));
  EXPECT_EQ(Flops("aten::conv_transpose2d", {{2, 3, 8, 8}, {3, 7, 3, 3}}, {2, 7, 10, 10}),
            2 * (2 * 3 * 8 * 8) * (7 * 3 * 3));
  EXPECT_EQ(Flops("aten::relu", {{8, 8}}, {8, 8}), 64);
  EXPECT_EQ(Flops("aten::add.Tensor", {{8, 8}, {8, 8}}, {8, 8}), 64);
  EXPECT_EQ(Flops("aten::view", {{8, 8}}, {64}), 0);
}

TEST(Work, ChargesUnknownOperatorsAsContractions) {
  EXPECT_GE(Flops("aten::linalg_inv_ex", {{16, 16}}, {16, 16}), 2 * 16 * 16 * 16);
  EXPECT_GE(Flops("nobody::knows", {{8, 16}, {16, 32}}, {8, 32}), 2 * 8 * 16 * 32);
}

bool Multiplies(const std::string& op, Dtype dtype) {
  Builder b;
  const TensorId x = b.Tensor({8, 8}, -1, dtype), y = b.Tensor({8, 8}, -1, dtype);
  b.Call(op, {x, y}, {b.Tensor({8, 8}, -1, dtype)});
  return MultipliesFloat32(b.plan);
}

TEST(Work, OnlyProductsOfFloat32MayBeInTf32) {
  EXPECT_TRUE(Multiplies("aten::mm", Dtype::kFloat32));
  EXPECT_TRUE(Multiplies("aten::convolution", Dtype::kFloat32));
  EXPECT_TRUE(Multiplies("aten::cdist", Dtype::kFloat32)) << "in doubt";
  EXPECT_TRUE(Multiplies("nobody::knows", Dtype::kFloat32));
  EXPECT_FALSE(Multiplies("aten::mm", Dtype::kFloat16));
  EXPECT_FALSE(Multiplies("aten::add.Tensor", Dtype::kFloat32));
  EXPECT_FALSE(Multiplies("aten::sum.dim_IntList", Dtype::kFloat32));
  EXPECT_FALSE(Multiplies("aten::view", Dtype::kFloat32));
  EXPECT_FALSE(Multiplies("aten::scatter_reduce.two", Dtype::kFloat32));
}

std::vector<size_t> FactorsOf(const std::string& op, size_t arguments, Dtype dtype = Dtype::kFloat32) {
  Builder b;
  std::vector<TensorId> in;
  for (size_t i = 0; i < arguments; ++i) in.push_back(b.Tensor({8, 8}, -1, dtype));
  const AtenStep step = b.Call(op, in, {b.Tensor({8, 8}, -1, dtype)});
  std::vector<size_t> places;
  for (const TensorId id : Float32Factors(b.plan, step))
    places.push_back(static_cast<size_t>(std::find(in.begin(), in.end(), id) - in.begin()));
  return places;
}

TEST(Work, FactorsAreWhatIsMultiplied) {
  using Places = std::vector<size_t>;
  EXPECT_EQ(FactorsOf("aten::mm", 2), (Places{0, 1}));
  EXPECT_EQ(FactorsOf("aten::linear", 3), (Places{0, 1})) << "no bias";
  EXPECT_EQ(FactorsOf("aten::addmm", 3), (Places{1, 2}));
  EXPECT_EQ(FactorsOf("aten::convolution", 3), (Places{0, 1}));
  EXPECT_EQ(FactorsOf("aten::scaled_dot_product_attention", 4), (Places{0, 1, 2})) << "no mask";
  EXPECT_EQ(FactorsOf("aten::mm", 2, Dtype::kBFloat16), Places{});
  EXPECT_EQ(FactorsOf("aten::mul.Tensor", 2), Places{});
  EXPECT_EQ(FactorsOf("nobody::knows", 2), Places{}) << "in doubt nothing may be cut";
}

TEST(Work, KindsOfOperators) {
  Builder b;
  const TensorId x = b.Input({4, 4}), y = b.Tensor({4, 4}), h = b.Tensor({4, 4}, -1, Dtype::kFloat16);
  const TensorId v = b.Tensor({16}, b.plan.tensors[x].storage);
  auto kind = [&](const std::string& op, const std::vector<TensorId>& in, TensorId out) {
    return KindOf(b.plan, AtenStep(b.Call(op, in, {out})));
  };
  EXPECT_EQ(kind("aten::empty.memory_format", {}, y), OpKind::kFactory);
  EXPECT_EQ(kind("aten::zeros_like", {x}, y), OpKind::kFactory);
  EXPECT_EQ(kind("aten::view", {x}, v), OpKind::kView);
  EXPECT_EQ(kind("aten::_unsafe_view", {x}, v), OpKind::kView);
  EXPECT_EQ(kind("aten::clone", {x}, y), OpKind::kLayout);
  EXPECT_EQ(kind("aten::_to_copy", {x}, h), OpKind::kCompute) << "a change of dtype computes";
  EXPECT_EQ(kind("aten::relu_", {x}, x), OpKind::kCompute);
  EXPECT_EQ(kind("aten::randn_like", {x}, y), OpKind::kFactory) << "of a shape";
  EXPECT_EQ(kind("aten::exponential_", {y}, y), OpKind::kFactory) << "whatever stood there";
  EXPECT_EQ(kind("aten::bernoulli_.float", {y}, y), OpKind::kFactory);
  EXPECT_EQ(kind("aten::bernoulli_.Tensor", {y, x}, y), OpKind::kCompute) << "of probabilities";
  EXPECT_EQ(kind("nobody::knows", {x}, y), OpKind::kCompute);
}

TEST(Work, DivisionsByWhatWasComputed) {
  const auto divides = [](const std::string& division, bool by_computed, std::vector<Value> rest = {}) {
    Builder b;
    const TensorId x = b.Input({4, 4}), most = b.Tensor({4, 1}), root = b.Tensor({4, 1}),
                   y = b.Tensor({4, 4});
    b.Call("aten::max_pool1d", {x}, {most});
    b.Call("aten::sqrt", {most}, {root});
    const TensorId divisor = by_computed ? root : x, dividend = by_computed ? x : root;
    const bool of_two = division.starts_with("aten::div") || division.starts_with("aten::mul");
    AtenStep& step = b.Call(division, of_two ? std::vector{dividend, divisor} : std::vector{divisor}, {y});
    step.args.insert(step.args.end(), rest.begin(), rest.end());
    return DividesByComputed(b.Return(y));
  };
  EXPECT_TRUE(divides("aten::div.Tensor", true));
  EXPECT_TRUE(divides("aten::rsqrt", true));
  EXPECT_TRUE(divides("aten::log", true));
  EXPECT_TRUE(divides("aten::pow.Tensor_Scalar", true, {Value{-0.5}}));
  EXPECT_FALSE(divides("aten::pow.Tensor_Scalar", true, {Value{int64_t{2}}}));
  EXPECT_FALSE(divides("aten::div.Tensor", false));
  EXPECT_FALSE(divides("aten::rsqrt", false));
  EXPECT_FALSE(divides("aten::mul.Tensor", true));
}

TEST(Work, LastWriteStaysWherePlacesAreSaid) {
  Builder b;
  const TensorId x = b.Input({4, 4}), y = b.Tensor({4, 4});
  AtenStep put = b.Call("aten::index_put", {x, x, x}, {y});
  EXPECT_TRUE(LastWriteStays(put));
  put.args.push_back({true});
  EXPECT_FALSE(LastWriteStays(put)) << "sums are the same in any order";
  EXPECT_TRUE(LastWriteStays(AtenStep(b.Call("aten::scatter.src", {x, x, x}, {y}))));
  EXPECT_FALSE(LastWriteStays(AtenStep(b.Call("aten::scatter.value", {x, x}, {y}))))
      << "of equal numbers any";
  EXPECT_FALSE(LastWriteStays(AtenStep(b.Call("aten::scatter_add", {x, x, x}, {y}))));
}

// The kind of a draw that has a tensor of ones, when `change` was made to the Plan before it.
template <typename F>
OpKind KindOfDrawOnOnes(const char* op, const F& change) {
  Builder b;
  const TensorId x = b.Input({4, 4}), ones = b.Tensor({4, 4});
  b.Call("aten::ones", {}, {ones});
  change(&b, x, ones);
  const AtenStep draw = b.Call(op, {ones}, {b.Tensor({4, 4})});
  return KindOf(b.plan, draw);
}

TEST(Work, DropoutOfOnesIsAFactoryAndOfAnythingElseComputes) {
  using Change = void (*)(Builder*, TensorId, TensorId);
  const Change changes[] = {[](Builder* b, TensorId x, TensorId ones) {
                              b->Call("aten::copy_", {ones, x}, {ones});
                            },
                            [](Builder* b, TensorId x, TensorId ones) {
                              b->Launch({x, ones});
                            },
                            [](Builder* b, TensorId x, TensorId ones) {
                              b->Call("aten::copy_", {b->Tensor({16}, b->plan.tensors[ones].storage), x}, {});
                            }};
  for (const char* op : {"aten::dropout", "aten::native_dropout"}) {
    EXPECT_EQ(KindOfDrawOnOnes(op, [](Builder*, TensorId, TensorId) {}), OpKind::kFactory) << op;
    for (const Change change : changes) EXPECT_EQ(KindOfDrawOnOnes(op, change), OpKind::kCompute) << op;
    Builder b;
    const TensorId x = b.Input({4, 4}), y = b.Tensor({4, 4});
    EXPECT_EQ(KindOf(b.plan, AtenStep(b.Call(op, {x}, {y}))), OpKind::kCompute) << op;
  }
}

TEST(Work, ZeroDropoutDrawsNothing) {
  Builder b;
  const TensorId x = b.Input({2, 4, 8}), y = b.Tensor({2, 4, 8});
  AtenStep attention = b.Call("aten::scaled_dot_product_attention", {x, x, x}, {y});
  EXPECT_FALSE(DrawsRandom(attention));
  attention.kwargs = {{"dropout_p", Value{0.1}}};
  EXPECT_TRUE(DrawsRandom(attention));
  AtenStep dropout = b.Call("aten::dropout", {x}, {y});
  dropout.args.push_back(Value{0.5});
  dropout.args.push_back(Value{true});
  EXPECT_TRUE(DrawsRandom(dropout));
  dropout.args.back() = Value{false};
  EXPECT_FALSE(DrawsRandom(dropout));
  EXPECT_TRUE(DrawsRandom(b.Call("aten::randn_like", {x}, {y})));
  AtenStep bernoulli = b.Call("aten::bernoulli.p", {x}, {y});
  bernoulli.args.push_back(Value{0.5});
  EXPECT_TRUE(DrawsRandom(bernoulli));
  EXPECT_FALSE(DrawsRandom(b.Call("aten::relu", {x}, {y})));
}

TEST(Flow, DeadStepsAndOverwrittenResultsDoNotCount) {
  Builder b;
  const TensorId x = b.Input({4, 4}), w = b.Input({4, 4}), unused = b.Input({4, 4});
  const TensorId scratch = b.Tensor({4, 4}), dead = b.Tensor({4, 4}), product = b.Tensor({4, 4});
  b.Call("aten::empty_like", {x}, {scratch});
  b.Call("aten::relu", {unused}, {dead});                     // 1: nobody reads it
  b.Call("aten::add_.Tensor", {scratch, unused}, {scratch});  // 2: overwritten below
  b.Call("aten::mm", {x, w}, {product});
  b.Call("aten::copy_", {scratch, product}, {scratch});
  const Plan plan = b.Return(scratch);
  const Flow flow = FlowOf(plan);
  EXPECT_EQ(flow.run, (std::vector<bool>{false, false, false, true, true}));
  EXPECT_TRUE(flow.Reaches(plan, x));
  EXPECT_TRUE(flow.Reaches(plan, w));
  EXPECT_FALSE(flow.Reaches(plan, unused));
  EXPECT_EQ(AtenWork(plan, flow).flops, 2 * 4 * 4 * 4);
}

TEST(Work, ShareIsWhatTheLibraryDoesNotDo) {
  const Plan reference = MatmulThenRelu(false, false);
  const Work work = AtenWork(reference, FlowOf(reference));
  auto share = [&](bool matmul, bool relu) {
    const Plan candidate = MatmulThenRelu(matmul, relu);
    return ShareOf(work, {}, candidate, FlowOf(candidate));
  };
  EXPECT_EQ(share(true, true).share(), 1);
  EXPECT_EQ(share(false, false).share(), 0);
  EXPECT_LT(share(false, true).flops, 0.01) << "a fig leaf";
  EXPECT_GT(share(true, false).flops, 0.99);
}

TEST(Work, CopiesCountWhereTheReferenceDoesNothingButMove) {
  Builder moves;
  const TensorId a = moves.Input({32, 64}), b = moves.Tensor({64, 64});
  moves.Call("aten::repeat", {a}, {b});
  const Plan reference = moves.Return(b);
  const Flow flow = FlowOf(reference);
  auto share = [&](const std::string& copy) {
    Builder builder;
    const TensorId x = builder.Input({32, 64}), half = builder.Tensor({32, 64}), y = builder.Tensor({64, 64});
    builder.Call(copy, {x}, {half});
    builder.Launch({half, y});
    const Plan candidate = builder.Return(y);
    EXPECT_EQ(MovesOrComputes(candidate, FlowOf(candidate)), copy == "aten::clone");
    return ShareOf(AtenWork(reference, flow), MovingWork(reference, flow), candidate, FlowOf(candidate));
  };
  EXPECT_EQ(share("aten::empty_like").share(), 1);
  EXPECT_EQ(share("aten::clone").flops, 0.5);
  const Plan product = MatmulThenRelu(false, false);
  EXPECT_EQ(MovingWork(product, FlowOf(product)).bytes, 0);
}

}  // namespace
}  // namespace tritogen
