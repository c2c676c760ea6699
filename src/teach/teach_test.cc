// What the teacher's answers promise. Whether its kernels are right is checked by running them:
// tests/teacher.
#include <gtest/gtest.h>

#include <algorithm>

#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

TEST(Teach, StrictRefusesCallsAndHybridKeepsThem) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {8, 16});
  NodeId noise = m.Op("aten::bernoulli", {Ref(x)}, {8, 16});
  Program program = m.Finish(m.Op("aten::relu", {Ref(noise)}, {8, 16}));
  EXPECT_TRUE(TeachFunction(program, true).empty());
  auto answers = TeachFunction(program);
  ASSERT_FALSE(answers.empty());
  EXPECT_NE(answers[0].source.find("bernoulli"), std::string::npos);
}

TEST(Teach, WhatIsDrawnForATensorIsDrawnOnOnes) {
  Maker m;
  const NodeId x = m.Leaf(NodeKind::kInput, "x", {8, 16}), y = m.Op("aten::exp", {Ref(x)}, {8, 16}),
               noise = m.Op("aten::randn_like", {Ref(y)}, {8, 16});
  const auto answers = TeachFunction(m.Finish(m.Op("aten::mul.Tensor", {Ref(y), Ref(noise)}, {8, 16})), true);
  ASSERT_FALSE(answers.empty());
  EXPECT_TRUE(Says(answers[0].source, "torch.randn_like(torch.ones((8, 16)")) << answers[0].source;
  EXPECT_EQ(CountOf(answers[0].source, "@triton.jit"), 1) << answers[0].source;
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

TEST(Teach, RandomNumbersThatAreDrawnIntoNewMemoryStayACall) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {8, 16});
  const NodeId empty = m.Op("aten::empty_like", {Ref(x)}, {8, 16});
  const NodeId drawn = m.Op("aten::exponential_", {Ref(empty), Arg{2.0}}, {8, 16});
  auto answers = TeachFunction(m.Finish(m.Op("aten::mul.Tensor", {Ref(x), Ref(drawn)}, {8, 16})), true);
  ASSERT_FALSE(answers.empty());
  EXPECT_TRUE(Says(answers[0].source, "exponential_")) << answers[0].source;
  EXPECT_TRUE(Says(answers[0].source, "torch.ones((8, 16)")) << answers[0].source;
  // Not into what the caller has.
  const NodeId own = m.Op("aten::exponential_", {Ref(x)}, {8, 16});
  EXPECT_TRUE(TeachFunction(m.Finish(m.Op("aten::relu", {Ref(own)}, {8, 16}))).empty());
}

TEST(Teach, NothingForWritesInPlaceAndEmptyTensors) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {8});
  EXPECT_TRUE(TeachFunction(m.Finish(m.Op("aten::relu_", {Ref(x)}, {8}))).empty());
  Maker empty;
  x = empty.Leaf(NodeKind::kInput, "x", {0, 8});
  EXPECT_TRUE(TeachFunction(empty.Finish(empty.Op("aten::relu", {Ref(x)}, {0, 8}))).empty());
}

TEST(Teach, OutputsThatAreNoTensorsAreReturned) {
  Maker m;
  Program program = m.Finish(m.Op("aten::relu", {Ref(m.Leaf(NodeKind::kInput, "x", {8}))}, {8}));
  program.outputs = {NodeRef{-1, 0}, program.outputs[0], NodeRef{-1, 0}};
  program.structure = "(*,[*,*])";
  Request request{.program = &program, .entry = "f", .is_function = true, .count = 1};
  request.fixed_outputs = {"3"};
  const auto answers = Teach(request);
  ASSERT_FALSE(answers.empty());
  EXPECT_NE(answers[0].source.find("return (3, [relu, None])"), std::string::npos) << answers[0].source;
}

TEST(Teach, DropoutInTrainingDrawsOnOnes) {
  Maker m;
  const NodeId x = m.Leaf(NodeKind::kInput, "x", {8, 32});
  const NodeId kept = m.Op("aten::dropout", {Ref(x), Arg{0.25}, Arg{true}}, {8, 32});
  const auto answers = TeachFunction(m.Finish(m.Op("aten::relu", {Ref(kept)}, {8, 32})), /*strict=*/true);
  ASSERT_FALSE(answers.empty());
  EXPECT_NE(answers[0].source.find("dropout(torch.ones((8, 32)"), std::string::npos) << answers[0].source;
  EXPECT_NE(answers[0].source.find("1.3333333333333333"), std::string::npos) << answers[0].source;
}

TEST(Teach, ATriangleOfAConditionIsACondition) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {4, 4}, Dtype::kBool);
  NodeId y = m.Op("aten::bitwise_not", {Ref(m.Op("aten::tril", {Ref(x)}, {4, 4}, Dtype::kBool))}, {4, 4},
                  Dtype::kBool);
  const auto answers = TeachFunction(m.Finish(y), true);
  ASSERT_FALSE(answers.empty());
  EXPECT_EQ(answers[0].source.find(", 0)\n    bitwise_not"), std::string::npos) << answers[0].source;
  EXPECT_NE(answers[0].source.find("<= 0) & "), std::string::npos) << answers[0].source;
}

TEST(Teach, IntegersAreDividedTowardsMinusInfinity) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {8}, Dtype::kInt64);
  NodeId y = m.Op("aten::remainder.Scalar", {Ref(x), Arg{int64_t{3}}}, {8}, Dtype::kInt64);
  const auto answers = TeachFunction(m.Finish(y), true);
  ASSERT_FALSE(answers.empty());
  EXPECT_NE(answers[0].source.find("% 3 + 3) % 3"), std::string::npos) << answers[0].source;
}

// i = (arange(5)[:, None] + arange(4)).reshape(20); x[:, i]: the index cannot be computed again for each row.
TEST(Teach, IndexArithmeticThatItsReaderCannotRepeatIsStored) {
  Maker m;
  const auto arange = [&](int64_t n, std::vector<int64_t> sizes) {
    NodeId line = m.Op("aten::arange", {Arg{n}}, {n}, Dtype::kInt64);
    Arg::List shape;
    for (int64_t size : sizes) shape.push_back(Arg{size});
    return m.Op("aten::reshape", {Ref(line), Arg{std::move(shape)}}, sizes, Dtype::kInt64);
  };
  NodeId x = m.Leaf(NodeKind::kInput, "x", {4, 12});
  NodeId sum =
      m.Op("aten::add.Tensor", {Ref(arange(5, {5, 1})), Ref(arange(4, {1, 4}))}, {5, 4}, Dtype::kInt64);
  NodeId index = m.Op("aten::reshape", {Ref(sum), Arg{Arg::List{Arg{int64_t{20}}}}}, {20}, Dtype::kInt64);
  EXPECT_FALSE(TeachFunction(
                   m.Finish(m.Op("aten::index_select", {Ref(x), Arg{int64_t{1}}, Ref(index)}, {4, 20})), true)
                   .empty());
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

TEST(Teach, AnswersToLearnFromHaveMasksThatAreNotNeeded) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {4, 256});
  const Program program = m.Finish(m.Op("aten::relu", {Ref(x)}, {4, 256}));
  Request request;
  request.program = &program;
  request.is_function = request.strict = true;
  for (const bool simple : {false, true}) {
    request.simple = simple;
    const auto answers = Teach(request);
    ASSERT_FALSE(answers.empty());
    EXPECT_EQ(answers[0].source.find("mask = offs < N") != std::string::npos, simple) << answers[0].source;
  }
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

// A GRU of some layers on (5 steps, 3 sequences, 8 numbers).
Program Gru(int64_t layers, int64_t size, bool both) {
  Maker m;
  const int64_t ways = both ? 2 : 1;
  const Arg x = Ref(m.Leaf(NodeKind::kInput, "x", {5, 3, 8}));
  const Arg h = Ref(m.Leaf(NodeKind::kInput, "h", {layers * ways, 3, size}));
  Arg::List weights;
  for (int64_t at = 0; at < layers * ways; ++at) {
    const int64_t width = at < ways ? 8 : size * ways;
    for (const std::vector<int64_t>& sizes :
         std::vector<std::vector<int64_t>>{{3 * size, width}, {3 * size, size}, {3 * size}, {3 * size}})
      weights.push_back(Ref(m.Leaf(NodeKind::kParameter, "w", sizes)));
  }
  return m.Finish(m.Op(
      "aten::gru.input",
      {x, h, Arg{std::move(weights)}, Arg{true}, Arg{layers}, Arg{0.0}, Arg{false}, Arg{both}, Arg{false}},
      {5, 3, size * ways}));
}

size_t Count(const std::string& text, std::string_view what) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++count;
  return count;
}

// What no program can hold is made by many programs, a launch for each step: of layers that follow each other
// one for all, of which each is a step behind the one below it; both directions at once, layer after layer.
TEST(Teach, LargeRecurrentLayersGoInWaves) {
  const auto stacked = TeachFunction(Gru(3, 68, false), true);
  ASSERT_FALSE(stacked.empty());
  EXPECT_EQ(Count(stacked[0].source, "for wave in range(7):"), 1u) << stacked[0].source;
  EXPECT_EQ(Count(stacked[0].source, "@triton.jit(do_not_specialize=[\"wave\"])"), 1u);
  const auto both = TeachFunction(Gru(2, 68, true), true);
  ASSERT_FALSE(both.empty());
  EXPECT_EQ(Count(both[0].source, "for wave in range(5):"), 2u) << both[0].source;
}

TEST(Teach, OneAnswerToLargeRecurrentLayersWalksAlongSequences) {
  const auto walks = [](const Answer& answer) {
    return answer.strategy == "sequence per program" && Count(answer.source, "for wave in") == 0;
  };
  const auto answers = TeachFunction(Gru(2, 68, false), true);
  EXPECT_EQ(std::count_if(answers.begin(), answers.end(), walks), 1);
}

TEST(Teach, SmallRecurrentLayersGoInWavesInOneAnswer) {
  const auto answers = TeachFunction(Gru(2, 16, false), true);
  const auto waves = [](const Answer& answer) { return Count(answer.source, "for wave in range(6):") == 1; };
  ASSERT_FALSE(answers.empty());
  EXPECT_FALSE(waves(answers[0]));
  EXPECT_EQ(std::count_if(answers.begin(), answers.end(), waves), 1);
}

// How a program takes the elements of windows: "" where it does not take them one by one.
std::string WalkAlongWindows(Maker& m, NodeId result) {
  const auto answers = TeachFunction(m.Finish(result), true);
  EXPECT_FALSE(answers.empty());
  const std::string text = answers.empty() ? "" : answers[0].source;
  const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
  if (has("tl.static_range(0, WINDOW)")) return "tile";
  if (!has("tl.static_range(0, N_COLS")) return "";
  return has("num_warps=8") ? "a window a thread" : "windows of a thread are neighbours";
}

// Neighbouring windows share what they read; rows that lie one behind the other do not.
TEST(Teach, WindowsAreReadElementByElement) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {2, 4, 32, 32}), w = m.Leaf(NodeKind::kInput, "w", {4, 1, 3, 3});
  NodeId narrow = m.Leaf(NodeKind::kInput, "narrow", {4, 1, 1, 3});
  NodeId halves = m.Leaf(NodeKind::kInput, "halves", {2, 4, 32, 32}, Dtype::kBFloat16);
  NodeId table = m.Leaf(NodeKind::kInput, "table", {64, 8});
  const auto list = [](int64_t a, int64_t b) { return Arg{Arg::List{Arg{a}, Arg{b}}}; };
  const auto pool = [&](NodeId of, int64_t size, int64_t step, int64_t count) {
    return m.Op("aten::max_pool2d", {Ref(of), list(size, size), list(step, step)}, {2, 4, count, count});
  };
  const auto by_channel = [&](NodeId weight, int64_t rows) {
    return m.Op("aten::conv2d",
                {Ref(x), Ref(weight), Arg{}, list(1, 1), list(0, 0), list(1, 1), Arg{int64_t{4}}},
                {2, 4, rows, 30});
  };
  // Steps over elements: loads of a warp would lie apart.
  EXPECT_EQ(WalkAlongWindows(m, pool(x, 2, 2, 16)), "a window a thread");
  EXPECT_EQ(WalkAlongWindows(m, pool(x, 3, 3, 10)), "a window a thread");
  EXPECT_EQ(WalkAlongWindows(m, pool(x, 3, 1, 30)), "tile");
  EXPECT_EQ(WalkAlongWindows(m, by_channel(w, 30)), "tile");
  EXPECT_EQ(WalkAlongWindows(m, by_channel(narrow, 32)), "windows of a thread are neighbours");
  EXPECT_EQ(WalkAlongWindows(m, pool(halves, 3, 1, 30)), "windows of a thread are neighbours");
  const Arg rows{Arg::List{Arg{int64_t{1}}}};
  EXPECT_EQ(WalkAlongWindows(m, m.Op("aten::sum.dim_IntList", {Ref(table), rows}, {64})), "");
}

// In loops of which no more than a line is written out; of few windows a tile has elements side by side.
TEST(Teach, LongWindowsAreReadElementByElementWhereThereAreMany) {
  const auto list = [](int64_t a, int64_t b) { return Arg{Arg::List{Arg{a}, Arg{b}}}; };
  const auto first = [](const Program& program) {
    const auto answers = TeachFunction(program, true);
    return answers.empty() ? "" : answers[0].source;
  };
  const auto pool = [&](int64_t length, int64_t step) {
    Maker m;
    const NodeId x = m.Leaf(NodeKind::kInput, "x", {64, length});
    const auto one = [](int64_t a) { return Arg{Arg::List{Arg{a}}}; };
    const std::vector<int64_t> sizes = {64, (length - 66) / step + 1};
    return first(m.Finish(m.Op("aten::avg_pool1d", {Ref(x), one(66), one(step)}, sizes)));
  };
  EXPECT_EQ(Count(pool(1121, 1), "in range(0, WINDOW)"), 1);
  EXPECT_EQ(Count(pool(2176, 2), "in range(0, N_COLS, BLOCK)"), 1);
  EXPECT_EQ(Count(pool(1120, 1), "in range("), 0);

  const auto by_channel = [&](int64_t batch, int64_t height, int64_t width, int64_t step) {
    Maker m;
    const int64_t size = 31 * step + 1;
    const NodeId x = m.Leaf(NodeKind::kInput, "x", {batch, 4, size + height - 1, size + width - 1}),
                 w = m.Leaf(NodeKind::kInput, "w", {4, 1, height, width});
    return first(m.Finish(m.Op(
        "aten::conv2d", {Ref(x), Ref(w), Arg{}, list(step, step), list(0, 0), list(1, 1), Arg{int64_t{4}}},
        {batch, 4, 32, 32})));
  };
  const std::string tile = by_channel(17, 9, 11, 1);
  EXPECT_EQ(Count(tile, "for line in range(0, WINDOW // LINE):"), 1) << tile;
  EXPECT_EQ(Count(tile, "for start in tl.static_range(0, LINE):"), 1) << tile;
  EXPECT_EQ(Count(tile, "WINDOW=9 * 11, LINE=11"), 1) << tile;
  EXPECT_EQ(Count(by_channel(17, 9, 11, 2), "for line in range(0, N_COLS // LINE):"), 1);
  EXPECT_EQ(Count(by_channel(16, 9, 11, 1), "for line in"), 0);   // too few of them
  EXPECT_EQ(Count(by_channel(17, 32, 31, 1), "for line in"), 0);  // for so many elements
  EXPECT_EQ(Count(by_channel(66, 32, 31, 1), "for line in"), 1);
  EXPECT_EQ(Count(by_channel(80, 33, 33, 1), "for line in"), 0);  // a sum of so many terms, one by one
}

}  // namespace
}  // namespace tritogen::teach
