// What the teacher's parts promise. Whether its kernels are right is checked by running them: tests/teacher.
#include <gtest/gtest.h>

#include <algorithm>

#include "teach/count_text.h"
#include "teach/lower.h"
#include "teach/partition.h"
#include "teach/style.h"
#include "teach/teacher.h"
#include "teach/tensor_text.h"
#include "teach/view.h"

namespace tritogen::teach {
namespace {

Arg Ref(NodeId id) {
  return Arg{NodeRef{id}};
}

class Maker {
 public:
  NodeId Leaf(NodeKind kind, std::string name, std::vector<int64_t> sizes, Dtype dtype = Dtype::kFloat32) {
    Node node;
    node.kind = kind;
    node.name = std::move(name);
    node.results = {{dtype, std::move(sizes)}};
    return Push(std::move(node));
  }
  NodeId Op(std::string op, std::vector<Arg> args, std::vector<int64_t> sizes,
            Dtype dtype = Dtype::kFloat32) {
    Node node;
    node.op = std::move(op);
    node.args = std::move(args);
    node.results = {{dtype, std::move(sizes)}};
    return Push(std::move(node));
  }
  Program Finish(NodeId output) {
    program_.outputs = {{output}};
    program_.structure = "*";
    return program_;
  }

 private:
  NodeId Push(Node node) {
    program_.nodes.push_back(std::move(node));
    return static_cast<NodeId>(program_.nodes.size()) - 1;
  }
  Program program_;
};

std::vector<Group> Groups(const Program& program) {
  return Partition(InlineViews(*Lower(program, {})));
}

std::vector<Answer> TeachFunction(const Program& program, bool strict = false) {
  Request request;
  request.program = &program;
  request.entry = "f";
  request.is_function = true;
  request.strict = strict;
  request.count = 16;
  return Teach(request);
}

TEST(Graph, FindsWhatIsThereAlsoAfterRenumbering) {
  Graph graph;
  auto source = [](const char* name, NodeId node) {
    Prim prim;
    prim.kind = PrimKind::kSource;
    prim.name = name;
    prim.sizes = {4};
    prim.node = {node, 0};
    return prim;
  };
  auto relu = [&](PrimId of, const char* name) {
    Prim prim;
    prim.name = name;
    prim.sizes = {4};
    prim.expr = "tl.maximum({0}, 0.0)";
    prim.operands = {graph.Whole(of)};
    prim.compute = {Dtype::kFloat32};
    return prim;
  };
  graph.Add(source("unused", 0));
  const PrimId x = graph.Add(source("x", 1)), y = graph.Add(relu(x, "relu"));
  EXPECT_EQ(graph.Add(relu(x, "another_name")), y);
  graph.prims[y].dtype = Dtype::kFloat16;  // stored in another dtype: no longer the same work
  EXPECT_NE(graph.Add(relu(x, "relu")), y);
  graph.outputs = {graph.Whole(y)};
  graph.RemoveUnused();
  ASSERT_EQ(graph.prims.size(), 2u);
  EXPECT_EQ(graph.Add(source("x", 1)), 0);
  graph.prims[1].dtype = Dtype::kFloat32;
  EXPECT_EQ(graph.Add(relu(0, "relu")), 1);
}

TEST(View, ReshapeFollowsStridesOrRefuses) {
  View x = ContiguousView(0, {2, 3, 4});
  EXPECT_EQ(Reshape(x, {6, 4})->strides, (std::vector<int64_t>{4, 1}));
  View turned = Permute(x, {0, 2, 1});
  EXPECT_EQ(turned.strides, (std::vector<int64_t>{12, 1, 4}));
  EXPECT_FALSE(Reshape(turned, {24}));
  EXPECT_EQ(Reshape(turned, {2, 2, 2, 3})->strides, (std::vector<int64_t>{12, 2, 1, 4}));
  EXPECT_EQ(Reshape(Expand(ContiguousView(0, {1, 4}), {3, 4}), {3, 2, 2})->strides,
            (std::vector<int64_t>{0, 2, 1}));
}

TEST(View, ComposeReadsThroughAValue) {
  // value[i, j] = source[j] over a 4×6 value, read transposed and sliced.
  View inner = Expand(ContiguousView(7, {6}), {4, 6});
  View outer = Slice(Permute(ContiguousView(3, {4, 6}), {1, 0}), 0, 2, 3, 1);
  auto through = Compose(outer, inner);
  ASSERT_TRUE(through);
  EXPECT_EQ(through->prim, 7);
  EXPECT_EQ(through->offset, 2);
  EXPECT_EQ(through->strides, (std::vector<int64_t>{1, 0}));
  // A diagonal walks along two dimensions at once, which merge where the source is contiguous.
  View diagonal{3, 0, {4}, {7}, {}};
  EXPECT_FALSE(Compose(diagonal, inner));
}

TEST(View, SplitIntoAxesCutsAndMerges) {
  auto axes = SplitIntoAxes(ContiguousView(0, {2, 3, 4}), {6, 4});
  ASSERT_TRUE(axes);
  EXPECT_EQ((*axes)[0], (std::vector<Digit>{{6, 4}}));
  EXPECT_EQ((*axes)[1], (std::vector<Digit>{{4, 1}}));
  EXPECT_EQ((*SplitIntoAxes(ContiguousView(0, {24}), {6, 4}))[0], (std::vector<Digit>{{6, 4}}));
  EXPECT_FALSE(SplitIntoAxes(ContiguousView(0, {3, 8}), {4, 6}));
}

TEST(Partition, SoftmaxWithScaleAndMaskIsOneKernel) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {4, 8, 128}), mask = m.Leaf(NodeKind::kInput, "mask", {8, 128});
  NodeId scaled = m.Op("aten::mul.Tensor", {Ref(x), Arg{0.5}}, {4, 8, 128});
  NodeId added = m.Op("aten::add.Tensor", {Ref(scaled), Ref(mask)}, {4, 8, 128});
  NodeId out = m.Op("aten::_softmax", {Ref(added), Arg{int64_t{-1}}, Arg{false}}, {4, 8, 128});
  auto groups = Groups(m.Finish(out));
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].kind, GroupKind::kRows);
  EXPECT_EQ(groups[0].Size(AxisKind::kRow), 32);
  EXPECT_EQ(groups[0].Size(AxisKind::kColumn), 128);
  EXPECT_EQ(groups[0].stores.size(), 1u);
}

TEST(Partition, LinearWithEpilogueIsOneKernel) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {64, 32}), w = m.Leaf(NodeKind::kParameter, "w", {48, 32});
  NodeId bias = m.Leaf(NodeKind::kParameter, "b", {48});
  NodeId t = m.Op("aten::t", {Ref(w)}, {32, 48});
  NodeId y = m.Op("aten::addmm", {Ref(bias), Ref(x), Ref(t)}, {64, 48});
  NodeId out = m.Op("aten::relu", {Ref(y)}, {64, 48});
  auto groups = Groups(m.Finish(out));
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].kind, GroupKind::kMatmul);
}

TEST(Partition, PointwiseOperandsComeAlong) {
  // exp(x) and the broadcast sin(y) start as kernels of their own; their product brings them together.
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {8, 16}), y = m.Leaf(NodeKind::kInput, "y", {16});
  NodeId a = m.Op("aten::exp", {Ref(x)}, {8, 16}), c = m.Op("aten::sin", {Ref(y)}, {16});
  EXPECT_EQ(Groups(m.Finish(m.Op("aten::mul.Tensor", {Ref(a), Ref(c)}, {8, 16}))).size(), 1u);
}

TEST(Partition, NoCircularWait) {
  // a feeds a call whose result joins a again: the last add must not enter a's kernel.
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {8, 8});
  NodeId a = m.Op("aten::exp", {Ref(x)}, {8, 8});
  NodeId noise = m.Op("aten::rand_like", {Ref(a)}, {8, 8});
  NodeId out = m.Op("aten::add.Tensor", {Ref(a), Ref(noise)}, {8, 8});
  auto groups = Groups(m.Finish(out));
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[1].kind, GroupKind::kCall);
}

TEST(Partition, LongReductionToAScalarIsCutInTwo) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {1024, 1024});
  auto groups = Groups(m.Finish(m.Op("aten::sum", {Ref(x)}, {})));
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_GE(groups[0].Size(AxisKind::kRow), 64);
  EXPECT_EQ(groups[1].Size(AxisKind::kRow), 1);
}

TEST(Teach, StrictRefusesCallsAndHybridKeepsThem) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {8, 16});
  NodeId noise = m.Op("aten::rand_like", {Ref(x)}, {8, 16});
  Program program = m.Finish(m.Op("aten::relu", {Ref(noise)}, {8, 16}));
  EXPECT_TRUE(TeachFunction(program, true).empty());
  auto answers = TeachFunction(program);
  ASSERT_FALSE(answers.empty());
  EXPECT_NE(answers[0].source.find("torch.rand_like(x"), std::string::npos);
}

TEST(Teach, HybridLeavesProductsToPyTorchInOneOfItsAnswers) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {64, 32}), w = m.Leaf(NodeKind::kInput, "w", {32, 48});
  NodeId y = m.Op("aten::mm", {Ref(x), Ref(w)}, {64, 48});
  const Program program = m.Finish(m.Op("aten::relu", {Ref(y)}, {64, 48}));
  const auto calls = [](const std::vector<Answer>& answers) {
    return std::count_if(answers.begin(), answers.end(), [](const Answer& answer) {
      return answer.source.find("torch.mm(x, w)") != std::string::npos;
    });
  };
  EXPECT_EQ(calls(TeachFunction(program)), 1);
  EXPECT_EQ(calls(TeachFunction(program, true)), 0);
  // A product alone leaves nothing to Triton.
  EXPECT_EQ(calls(TeachFunction(m.Finish(y))), 0);
}

TEST(Teach, OneAnswerHasAKernelForEachOperation) {
  // softmax(relu(x) + relu(x)): two kernels of relu would be one too many, softmax is one although it is
  // several steps.
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {8, 16});
  NodeId a = m.Op("aten::relu", {Ref(x)}, {8, 16}), b = m.Op("aten::add.Tensor", {Ref(a), Ref(a)}, {8, 16});
  const auto answers =
      TeachFunction(m.Finish(m.Op("aten::_softmax", {Ref(b), Arg{int64_t{1}}, Arg{false}}, {8, 16})), true);
  const auto launches = [](const std::string& source) {
    size_t count = 0;
    for (size_t at = 0; (at = source.find("@triton.jit", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  ASSERT_GE(answers.size(), 2u);
  EXPECT_EQ(launches(answers[0].source), 1u);
  EXPECT_EQ(answers[1].strategy, "a kernel for each operation");
  EXPECT_EQ(launches(answers[1].source), 3u) << answers[1].source;
}

TEST(Teach, WhatPyTorchComputesHasItsShapeUntilItIsViewed) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {4, 8}), w = m.Leaf(NodeKind::kParameter, "w", {6, 8});
  NodeId a = m.Op("aten::relu", {Ref(x)}, {4, 8}), y = m.Op("aten::linear", {Ref(a), Ref(w)}, {4, 6});
  Arg shape{Arg::List{Arg{int64_t{2}}, Arg{int64_t{2}}, Arg{int64_t{6}}}};
  for (const Answer& answer : TeachFunction(m.Finish(m.Op("aten::view", {Ref(y), shape}, {2, 2, 6})))) {
    const bool calls = answer.strategy == "products by PyTorch";
    EXPECT_EQ(answer.source.find(".view((2, 2, 6))") != std::string::npos, calls) << answer.source;
  }
}

TEST(Teach, NothingForWritesInPlaceAndEmptyTensors) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {8});
  EXPECT_TRUE(TeachFunction(m.Finish(m.Op("aten::relu_", {Ref(x)}, {8}))).empty());
  Maker empty;
  x = empty.Leaf(NodeKind::kInput, "x", {0, 8});
  EXPECT_TRUE(TeachFunction(empty.Finish(empty.Op("aten::relu", {Ref(x)}, {0, 8}))).empty());
}

TEST(Teach, MasksOnlyWhereNeeded) {
  for (int64_t n : {1024, 1000}) {
    Maker m;
    NodeId x = m.Leaf(NodeKind::kInput, "x", {n});
    auto answers = TeachFunction(m.Finish(m.Op("aten::relu", {Ref(x)}, {n})));
    ASSERT_FALSE(answers.empty());
    EXPECT_EQ(answers[0].source.find("mask=") != std::string::npos, n == 1000) << answers[0].source;
  }
}

TEST(Teach, OnlyLongSumsOfLargeProductsAreCutUp) {
  const auto product = [](int64_t m, int64_t k, Dtype dtype) {
    Maker maker;
    const NodeId x = maker.Leaf(NodeKind::kInput, "x", {m, k}, dtype);
    const NodeId y = maker.Leaf(NodeKind::kInput, "y", {k, m}, dtype);
    return TeachFunction(maker.Finish(maker.Op("aten::mm", {Ref(x), Ref(y)}, {m, m}, dtype)), true)[0].source;
  };
  const auto cut = [](const std::string& source) { return source.find("+= part") != std::string::npos; };
  EXPECT_TRUE(cut(product(1024, 512, Dtype::kFloat32)));
  EXPECT_TRUE(cut(product(1024, 1000, Dtype::kFloat32)));
  EXPECT_FALSE(cut(product(4096, 256, Dtype::kFloat32)));  // one sum
  EXPECT_FALSE(cut(product(64, 4096, Dtype::kFloat32)));   // little work
  EXPECT_FALSE(cut(product(1024, 512, Dtype::kBFloat16)));
}

TEST(Teach, DimensionsOfOneElementLeaveNoTrace) {
  // Pooling two rows to one; a product's result as it is returned.
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {256, 2, 3});
  Arg size{Arg::List{Arg{int64_t{1}}, Arg{int64_t{3}}}};
  auto pooled = TeachFunction(m.Finish(m.Op("aten::adaptive_avg_pool2d", {Ref(x), size}, {256, 1, 3})));
  Maker v;
  NodeId a = v.Leaf(NodeKind::kInput, "a", {100, 2, 56}), b = v.Leaf(NodeKind::kInput, "b", {56});
  auto product = TeachFunction(v.Finish(v.Op("aten::matmul", {Ref(a), Ref(b)}, {100, 2})), true);
  ASSERT_TRUE(!pooled.empty() && !product.empty());
  for (const Answer& answer : {pooled[0], product[0]}) {
    for (const char* trace : {"tl.full([]", " * 1", "// 1)", ".view("})
      EXPECT_EQ(answer.source.find(trace), std::string::npos) << trace << '\n' << answer.source;
  }
}

TEST(Teach, AWindowOfOneElementMayLieOutside) {
  // conv_transpose1d of one pixel by one weight, stride 2, padding 2, output padding 4, dilation 5: all that
  // is left of the result is behind the pixel.
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {3, 4, 1}), w = m.Leaf(NodeKind::kInput, "w", {4, 5, 1});
  const auto list = [](int64_t n) { return Arg{Arg::List{Arg{n}}}; };
  const auto answers = TeachFunction(m.Finish(
      m.Op("aten::conv_transpose1d",
           {Ref(x), Ref(w), Arg{}, list(2), list(2), list(4), Arg{int64_t{1}}, list(5)}, {3, 5, 1})));
  ASSERT_FALSE(answers.empty());
  EXPECT_NE(answers[0].source.find(" < 1)"), std::string::npos) << answers[0].source;
}

TEST(CountText, ProductsAreWrittenOut) {
  EXPECT_EQ(CountText({7, 1, 3}), "7 * 3");
  EXPECT_EQ(CountOperand({7, 1, 3}), "(7 * 3)");
  EXPECT_EQ(CountOperand({1, 5, 1}), "5");
  EXPECT_EQ(CountText({}), "1");
}

TEST(CountText, StridesAreLastDimensions) {
  const std::vector<int64_t> shape = {3, 4, 1, 6};
  EXPECT_EQ(StrideText(shape, 24), "(4 * 6)");
  EXPECT_EQ(StrideText(shape, 48), "(2 * 4 * 6)");
  EXPECT_EQ(StrideText(shape, 12), "(2 * 6)");
  EXPECT_EQ(StrideText(shape, 6), "6");
  EXPECT_EQ(StrideText(shape, 5), "5");
  EXPECT_EQ(StrideText(shape, -6), "-6");
  EXPECT_EQ(StrideText({}, 2), "2");
}

TEST(CountText, PlacesAreSumsOverDimensions) {
  using Terms = std::vector<std::string>;
  EXPECT_EQ(PlaceTerms({3, 4, 6}, 31), (Terms{"4 * 6", "6", "1"}));
  EXPECT_EQ(PlaceTerms({3, 4, 6}, 50), (Terms{"2 * 4 * 6", "2"}));
  EXPECT_EQ(PlaceTerms({3, 1, 6}, 12), (Terms{"2 * 6"}));
  EXPECT_EQ(PlaceTerms({}, 9), (Terms{"9"}));
  EXPECT_EQ(PlaceTerms({2, 2}, 0), Terms{});
}

TEST(CountText, FactorsAreFoundWhereTheDigitsHaveBorders) {
  const std::vector<int64_t> digits = {48, 3, 7, 5};
  EXPECT_EQ(FactorsAt(digits, 1, 35), (std::vector<int64_t>{7, 5}));
  EXPECT_EQ(FactorsAt(digits, 5, 21), (std::vector<int64_t>{3, 7}));
  EXPECT_EQ(FactorsAt(digits, 1, 10), (std::vector<int64_t>{10}));   // no border there
  EXPECT_EQ(FactorsAt(digits, 10, 21), (std::vector<int64_t>{21}));  // nor here
  EXPECT_EQ(FactorsAt({}, 1, 6), (std::vector<int64_t>{6}));
}

TEST(Teach, WorkThatIsDoneAgainBehindAMoveHasTheShapeThereAndTheNameThere) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {2, 3, 4});
  NodeId y = m.Op("aten::neg", {Ref(x)}, {2, 3, 4});
  const auto answers = TeachFunction(
      m.Finish(m.Op("aten::repeat",
                    {Ref(y), Arg{Arg::List{Arg{int64_t{1}}, Arg{int64_t{2}}, Arg{int64_t{1}}}}}, {2, 6, 4})));
  ASSERT_FALSE(answers.empty());
  EXPECT_NE(answers[0].source.find("repeat = torch.empty((2, 6, 4),"), std::string::npos)
      << answers[0].source;
}

TEST(Teach, SimpleFormsVaryAKernelForEachOperation) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {4, 96});
  NodeId y = m.Op("aten::relu", {Ref(x)}, {4, 96});
  const Program program = m.Finish(m.Op("aten::_softmax", {Ref(y), Arg{int64_t{1}}, Arg{false}}, {4, 96}));
  Request request;
  request.program = &program;
  request.is_function = request.strict = request.simple = true;
  request.count = 3;
  const auto answers = Teach(request);
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0].strategy, "fused");
  EXPECT_TRUE(answers[2].strategy.starts_with("a kernel for each operation, ")) << answers[2].strategy;
  const auto kernels = [](const std::string& text) {
    int count = 0;
    for (size_t at = 0; (at = text.find("@triton.jit", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(kernels(answers[0].source), 1);
  EXPECT_EQ(kernels(answers[2].source), 2);
}

TEST(Teach, WhatTheProgramDoesNotSayIsWrittenAsAProduct) {
  // The product sums over channels and window, in another order than the weight has them.
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {1, 7, 8, 24}), w = m.Leaf(NodeKind::kInput, "w", {7, 17, 3, 4});
  const auto list = [](int64_t a, int64_t b) { return Arg{Arg::List{Arg{a}, Arg{b}}}; };
  const auto answers = TeachFunction(m.Finish(
      m.Op("aten::conv_transpose2d",
           {Ref(x), Ref(w), Arg{}, list(1, 1), list(0, 0), list(0, 0), Arg{int64_t{1}}}, {1, 17, 10, 27})));
  ASSERT_FALSE(answers.empty());
  EXPECT_NE(answers[0].source.find("N=10 * 27, K=7 * 3 * 4,"), std::string::npos) << answers[0].source;
}

TEST(TensorText, SaysWhichPartItIs) {
  const std::vector<int64_t> sizes = {12, 16, 7};
  const auto text = [&](const View& view) { return TensorText("x", sizes, view); };
  const View whole = ContiguousView(0, sizes);
  EXPECT_EQ(text(Select(whole, 2, 0)), "x[:, :, 0]");
  EXPECT_EQ(text(Slice(Select(whole, 1, 3), 0, 2, 4, 1)), "x[2:6, 3]");
  EXPECT_EQ(text(Slice(whole, 1, 5, 1, 1)), "x[:, 5:6]");
  EXPECT_EQ(text(Slice(whole, 0, 8, 2, 1)), "x[8:10]");
  EXPECT_EQ(text(Slice(whole, 2, 1, 3, 2)), "x.as_strided((12, 16, 3), (112, 7, 2), 1)");
  EXPECT_EQ(text(Select(Permute(whole, {1, 0, 2}), 2, 6)), "x.as_strided((16, 12), (7, 112), 6)");
}

TEST(Teach, APartOfACatThatIsReadByIndexIsReadInItsPlaceOnly) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {2048});
  NodeId flip = m.Op("aten::flip", {Ref(x), Arg{Arg::List{Arg{int64_t{0}}}}}, {2048});
  const auto answers = TeachFunction(
      m.Finish(m.Op("aten::cat", {Arg{Arg::List{Ref(flip), Ref(x)}}, Arg{int64_t{0}}}, {4096})));
  ASSERT_FALSE(answers.empty());
  EXPECT_NE(answers[0].source.find("+ index, mask=(offs < 2048)"), std::string::npos) << answers[0].source;
}

TEST(Teach, ContiguousOfWhatIsPermutedIsMadeAnew) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {8, 5}), y = m.Leaf(NodeKind::kInput, "y", {4});
  NodeId t = m.Op("aten::t", {Ref(x)}, {5, 8});
  NodeId copy = m.Op("aten::contiguous", {Ref(t)}, {5, 8}), relu = m.Op("aten::relu", {Ref(y)}, {4});
  Program program = m.Finish(copy);
  program.outputs.push_back({relu});
  program.structure = "(*,*)";
  const auto answers = TeachFunction(program);
  ASSERT_FALSE(answers.empty());
  EXPECT_NE(answers[0].source.find("contiguous = torch.empty((5, 8)"), std::string::npos)
      << answers[0].source;
}

TEST(Teach, AStateOfOneElementIsReadByItsWholeTile) {
  // Three sequences that begin with one number: no index moves the first state's address.
  Maker m;
  const auto leaf = [&](const char* name, std::vector<int64_t> sizes) {
    return Ref(m.Leaf(NodeKind::kInput, name, std::move(sizes)));
  };
  const Arg x = leaf("x", {3, 24, 1}), first = leaf("h", {});
  const Arg sizes{Arg::List{Arg{int64_t{1}}, Arg{int64_t{3}}, Arg{int64_t{1}}}};
  const Arg h = Ref(m.Op("aten::expand", {first, sizes}, {1, 3, 1}));
  const Arg weights{Arg::List{leaf("w", {3, 1}), leaf("u", {3, 1}), leaf("b", {3}), leaf("c", {3})}};
  const auto answers = TeachFunction(m.Finish(m.Op(
      "aten::gru.input",
      {x, h, weights, Arg{true}, Arg{int64_t{1}}, Arg{0.0}, Arg{false}, Arg{false}, Arg{true}}, {3, 24, 1})));
  ASSERT_FALSE(answers.empty());
  EXPECT_NE(answers[0].source.find("h = tl.load(h_ptr + cols * 0, mask=mask"), std::string::npos)
      << answers[0].source;
}

TEST(Teach, LargeTensorsUse64BitOffsets) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {1 << 16, 1 << 16});
  auto answers = TeachFunction(m.Finish(m.Op("aten::relu", {Ref(x)}, {1 << 16, 1 << 16})));
  ASSERT_FALSE(answers.empty());
  EXPECT_NE(answers[0].source.find("tl.int64"), std::string::npos);
}

TEST(Partition, ReluBeforeAPoolIsReadThroughTheWindows) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {2, 3, 8, 8});
  NodeId a = m.Op("aten::relu", {Ref(x)}, {2, 3, 8, 8});
  Arg two{Arg::List{Arg{int64_t{2}}, Arg{int64_t{2}}}};
  EXPECT_EQ(Groups(m.Finish(m.Op("aten::max_pool2d", {Ref(a), two}, {2, 3, 4, 4}))).size(), 1u);
}

TEST(Partition, ConvolutionWithBiasAndActivationIsOneProduct) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {2, 3, 8, 8}), w = m.Leaf(NodeKind::kParameter, "w", {4, 3, 3, 3});
  NodeId bias = m.Leaf(NodeKind::kParameter, "b", {4});
  NodeId y = m.Op("aten::conv2d", {Ref(x), Ref(w), Ref(bias)}, {2, 4, 6, 6});
  auto groups = Groups(m.Finish(m.Op("aten::relu", {Ref(y)}, {2, 4, 6, 6})));
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].kind, GroupKind::kMatmul);
}

TEST(Partition, AnIndexedLoadWaitsForWhatItReads) {
  // softmax(x) read backwards: no program may read a row that another one still writes.
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {8, 16});
  NodeId soft = m.Op("aten::_softmax", {Ref(x), Arg{int64_t{1}}, Arg{false}}, {8, 16});
  Arg dims{Arg::List{Arg{int64_t{0}}}};
  NodeId turned = m.Op("aten::flip", {Ref(soft), dims}, {8, 16});
  EXPECT_EQ(Groups(m.Finish(m.Op("aten::add.Tensor", {Ref(soft), Ref(turned)}, {8, 16}))).size(), 2u);
}

TEST(Partition, AProductDoesNotTakeInWhatItReadsWhole) {
  // h = tanh(a) and h @ w + a·2 have as many elements; still h must be complete before the product starts.
  Maker m;
  NodeId a = m.Leaf(NodeKind::kInput, "a", {16, 16}), w = m.Leaf(NodeKind::kParameter, "w", {16, 16});
  NodeId h =
      m.Op("aten::gelu", {Ref(m.Op("aten::gelu", {Ref(m.Op("aten::gelu", {Ref(a)}, {16, 16}))}, {16, 16}))},
           {16, 16});
  NodeId product = m.Op("aten::mm", {Ref(h), Ref(w)}, {16, 16});
  auto groups = Groups(m.Finish(m.Op("aten::add.Tensor", {Ref(product), Ref(h)}, {16, 16})));
  EXPECT_EQ(groups.size(), 2u);
}

TEST(Teach, StyleFollowsTheSeedAndStrategiesDoNot) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {64, 512});
  Program program = m.Finish(m.Op("aten::_softmax", {Ref(x), Arg{int64_t{1}}, Arg{false}}, {64, 512}));
  auto answers = [&](uint64_t seed) {
    Request request{.program = &program, .entry = "f", .is_function = true, .strict = true, .count = 16};
    request.seed = seed;
    return Teach(request);
  };
  auto plain = answers(0), one = answers(7), again = answers(7), other = answers(8);
  ASSERT_EQ(plain.size(), one.size());
  int unlike = 0;
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].source, again[i].source);
    EXPECT_EQ(one[i].plan, again[i].plan);
    EXPECT_EQ(one[i].strategy, plain[i].strategy);
    unlike += one[i].source != other[i].source;
  }
  EXPECT_GT(unlike, 0);
}

TEST(Teach, PlansHaveFourSteps) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {64, 512});
  for (const Answer& answer : TeachFunction(m.Finish(m.Op("aten::relu", {Ref(x)}, {64, 512})))) {
    for (const char* step : {"1. ", "2. ", "3. ", "4. "})
      EXPECT_NE(answer.plan.find(step), std::string::npos);
  }
}

TEST(Teach, PlansGoThroughTheProgramLineByLineOnRequest) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {64, 512}), w = m.Leaf(NodeKind::kParameter, "w", {512, 64});
  NodeId h = m.Op("aten::relu", {Ref(x)}, {64, 512});
  h = m.Op("aten::mm", {Ref(h), Ref(w)}, {64, 64});
  h = m.Op("aten::t", {Ref(h)}, {64, 64});
  const Program program = m.Finish(m.Op("aten::neg", {Ref(h)}, {64, 64}));
  Request request{.program = &program, .entry = "f", .is_function = true, .strict = true};
  EXPECT_TRUE(Teach(request).at(0).plan.starts_with("1. Access pattern:"));
  request.lines = true;
  std::map<std::string, std::string> plans;
  for (const Answer& answer : Teach(request)) plans[answer.strategy] = answer.plan;
  const auto lines = [&](const char* strategy) {
    const std::string& plan = plans[strategy];
    return plan.substr(0, plan.find("1. "));
  };
  EXPECT_EQ(lines("a kernel for each operation"),
            "0. Lines:\n   - x: input\n   - w: parameter\n   - relu: relu_kernel\n   - mm: matmul_kernel\n"
            "   - t: a view\n   - neg: neg_kernel\n");
  EXPECT_EQ(lines("fused"),
            "0. Lines:\n   - x: input\n   - w: parameter\n   - relu: matmul_kernel\n   - mm: matmul_kernel\n"
            "   - t: a view\n   - neg: neg_kernel\n");
}

TEST(Teach, DivisorsAreWrittenAsTheSizesTheyAreMadeOf) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {6, 20, 12});
  const Arg dims{Arg::List{Arg{int64_t{1}}, Arg{int64_t{2}}}};
  Program program = m.Finish(m.Op("aten::var.correction", {Ref(x), dims}, {6}));
  program.nodes.back().kwargs = {{"correction", Arg{int64_t{1}}}};
  const std::string source = TeachFunction(program).at(0).source;
  EXPECT_NE(source.find(" / (20 * 12)\n"), std::string::npos) << source;
  EXPECT_NE(source.find(" / (20 * 12 - 1)\n"), std::string::npos) << source;
}

TEST(Teach, EqualKernelsAreWrittenOnce) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {16, 16}), w = m.Leaf(NodeKind::kParameter, "w", {16, 16});
  NodeId h = x;
  for (int i = 0; i < 4; ++i) h = m.Op("aten::mm", {Ref(h), Ref(w)}, {16, 16});
  auto answers = TeachFunction(m.Finish(h));
  ASSERT_FALSE(answers.empty());
  const std::string& source = answers[0].source;
  EXPECT_EQ(source.find("@triton.jit"), source.rfind("@triton.jit")) << source;
}

TEST(Style, KeywordsAndProseKeepTheirWords) {
  Style style;
  style.names = {{"mask", "valid"}, {"rows", "row_ids"}, {"BLOCK", "TILE"}};
  const std::string source =
      "def k(x_ptr, BLOCK: tl.constexpr):\n    # BLOCK rows of x.\n    rows = tl.arange(0, BLOCK)\n    mask "
      "= rows < 3\n"
      "    tl.store(x_ptr + rows, 0, mask=mask)\n";
  EXPECT_EQ(style.Written(source, ""),
            "def k(x_ptr, TILE: tl.constexpr):\n    # TILE rows of x.\n    row_ids = tl.arange(0, TILE)\n    "
            "valid = "
            "row_ids < 3\n    tl.store(x_ptr + row_ids, 0, mask=valid)\n");
  EXPECT_EQ(style.Constants("BLOCK=8", source), "TILE=8");
}

TEST(Teach, AnswersDifferAndAreReproducible) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {64, 512});
  Program program = m.Finish(m.Op("aten::_softmax", {Ref(x), Arg{int64_t{1}}, Arg{false}}, {64, 512}));
  auto first = TeachFunction(program), second = TeachFunction(program);
  ASSERT_GE(first.size(), 3u);
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].source, second[i].source);
    for (size_t j = 0; j < i; ++j) EXPECT_NE(first[i].source, first[j].source);
  }
}

}  // namespace
}  // namespace tritogen::teach
