// Answers where products of float32 may be computed in TF32. Whether they compute the right numbers:
// tests/teacher.
#include <gtest/gtest.h>

#include <algorithm>

#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

constexpr const char* kDot = "input_precision=\"tf32\"";

std::vector<Answer> Answers(const Program& program, Fp32Precision precision = Fp32Precision::kTf32) {
  Request request{.program = &program, .entry = "f", .is_function = true, .strict = true};
  request.fp32_precision = precision;
  request.count = 16;
  return Teach(request);
}

// x · y, where x is (m, k) and y (k, n), or their transposes.
Program Product(int64_t m, int64_t k, int64_t n, bool turned_x, bool turned_y,
                Dtype dtype = Dtype::kFloat32) {
  Maker maker;
  const auto factor = [&](const char* name, int64_t rows, int64_t columns, bool turned) {
    if (!turned) return maker.Leaf(NodeKind::kInput, name, {rows, columns}, dtype);
    const NodeId leaf = maker.Leaf(NodeKind::kInput, name, {columns, rows}, dtype);
    return maker.Op("aten::t", {Ref(leaf)}, {rows, columns}, dtype);
  };
  const NodeId x = factor("x", m, k, turned_x), y = factor("y", k, n, turned_y);
  return maker.Finish(maker.Op("aten::mm", {Ref(x), Ref(y)}, {m, n}, dtype));
}

// Tensors that the first answer makes, its result among them.
int Made(const Program& program) {
  return CountOf(Answers(program).at(0).source, "torch.empty(");
}

TEST(Tf32, AFactorThatDoesNotLieAlongTheSumIsCopied) {
  EXPECT_EQ(Made(Product(2048, 1536, 1024, false, true)), 1);
  EXPECT_EQ(Made(Product(2048, 1536, 1024, false, false)), 2);
  EXPECT_EQ(Made(Product(2048, 1536, 1024, true, true)), 2);
  EXPECT_EQ(Made(Product(2048, 1536, 1024, true, false)), 3);
  // One tile reads it.
  EXPECT_EQ(Made(Product(64, 2048, 2048, false, false)), 1);
}

TEST(Tf32, LargeProductsAreOneDotAndCopiesAreRounded) {
  const Answer first = Answers(Product(2048, 1536, 1024, false, false)).at(0);
  EXPECT_EQ(first.strategy, "TF32 products");
  EXPECT_EQ(CountOf(first.source, "tl.dot("), 1) << first.source;
  EXPECT_EQ(CountOf(first.source, kDot), 1) << first.source;
  EXPECT_EQ(CountOf(first.source, "+ 0x1000) & -0x2000)"), 1) << first.source;
  EXPECT_NE(first.plan.find("(TF32 dots)"), std::string::npos) << first.plan;
}

TEST(Tf32, OtherAnswersAreWhatTheyAreWithoutIt) {
  const Program program = Product(2048, 1536, 1024, false, false);
  const auto exact = Answers(program, Fp32Precision::kIeee), all = Answers(program);
  std::vector<std::string> others, expected;
  for (const Answer& answer : all) {
    const bool tf32 = answer.strategy.starts_with("TF32");
    EXPECT_EQ(CountOf(answer.source, kDot) > 0, tf32) << answer.strategy;
    if (!tf32) others.push_back(answer.source);
  }
  for (const Answer& answer : exact) {
    EXPECT_EQ(CountOf(answer.source, kDot), 0) << answer.strategy;
    if (expected.size() < others.size()) expected.push_back(answer.source);
  }
  EXPECT_EQ(others, expected);
}

TEST(Tf32, SmallProductsAndOtherTypesAreAsTheyWere) {
  const Program half = Product(2048, 1536, 1024, false, false, Dtype::kBFloat16);
  EXPECT_EQ(Answers(half).at(0).source, Answers(half, Fp32Precision::kIeee).at(0).source);
  const auto answers = Answers(Product(32, 1536, 1024, false, false));
  EXPECT_EQ(answers.at(0).strategy, "fused");
  EXPECT_EQ(CountOf(answers.at(0).source, kDot), 0);
  EXPECT_EQ(answers.at(1).strategy, "TF32 dots");
  EXPECT_GE(CountOf(answers.at(1).source, kDot), 1);
  EXPECT_NE(answers.at(1).plan.find("(TF32 dots)"), std::string::npos);
}

TEST(Tf32, TilesAreAsLargeAsLeavesEveryMultiprocessorOne) {
  const auto launch = [](int64_t m, int64_t k, int64_t n) {
    const std::string source = Answers(Product(m, k, n, false, true)).at(0).source;
    const size_t at = source.find("BLOCK_M=");
    return source.substr(at, source.find(')', at) - at);
  };
  const auto starts = [&](int64_t m, int64_t k, int64_t n, std::string_view text) {
    EXPECT_TRUE(launch(m, k, n).starts_with(text)) << launch(m, k, n);
  };
  starts(1024, 8192, 8192, "BLOCK_M=128, BLOCK_N=256, BLOCK_K=32, GROUP_M=8, num_warps=8, num_stages=4");
  starts(1408, 2048, 1536, "BLOCK_M=128, BLOCK_N=128, BLOCK_K=32, GROUP_M=8, num_warps=4, num_stages=3");
  starts(256, 1024, 1024, "BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, GROUP_M=8, num_warps=4, num_stages=4");
}

TEST(Tf32, ALargeCopyIsMadeInTiles) {
  const auto in_tiles = [](int64_t k, int64_t n) {
    return CountOf(Answers(Product(512, k, n, false, false)).at(0).source,
                   "elements, neighbours in memory both ways") == 1;
  };
  EXPECT_TRUE(in_tiles(4096, 2048));
  EXPECT_FALSE(in_tiles(1024, 1024));  // it may share a launch
}

// (16, 8, 512, 96) to (16 · 512, 8 · 96): 96 numbers are neighbours before and behind it.
TEST(Tf32, ACopyOfWholeRowsIsNotMadeInTiles) {
  Maker m;
  const NodeId x = m.Leaf(NodeKind::kInput, "x", {128, 8, 512, 96}),
               w = m.Leaf(NodeKind::kParameter, "w", {768, 768});
  const NodeId turned =
      m.Op("aten::transpose.int", {Ref(x), Arg{int64_t{1}}, Arg{int64_t{2}}}, {128, 512, 8, 96});
  const NodeId rows = m.Op(
      "aten::reshape", {Ref(turned), Arg{Arg::List{Arg{int64_t{65536}}, Arg{int64_t{768}}}}}, {65536, 768});
  const std::string source =
      Answers(m.Finish(m.Op("aten::linear", {Ref(rows), Ref(w)}, {65536, 768}))).at(0).source;
  EXPECT_EQ(CountOf(source, "neighbours in memory both ways"), 0) << source;
}

TEST(Tf32, WhatAKernelMakesIsStoredRoundedAlone) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {1024, 1024});
  NodeId w = m.Leaf(NodeKind::kParameter, "w", {1024, 1024}),
         v = m.Leaf(NodeKind::kParameter, "v", {1024, 1024});
  NodeId h = m.Op("aten::relu", {Ref(m.Op("aten::linear", {Ref(x), Ref(w)}, {1024, 1024}))}, {1024, 1024});
  const Program program = m.Finish(m.Op("aten::linear", {Ref(h), Ref(v)}, {1024, 1024}));
  const auto answers = Answers(program);
  EXPECT_EQ(CountOf(answers.at(0).source, "torch.empty("), 2) << answers[0].source;
  EXPECT_EQ(CountOf(answers.at(0).source, "_kernel["), 2) << answers[0].source;
  EXPECT_EQ(CountOf(answers.at(0).source, "& -0x2000"), 1) << answers[0].source;
  const auto rounded = std::ranges::find(answers, "TF32 products, all factors rounded", &Answer::strategy);
  ASSERT_NE(rounded, answers.end());
  EXPECT_EQ(CountOf(rounded->source, "torch.empty("), 5) << rounded->source;
}

TEST(Tf32, ConvolutionsReadChannelsLast) {
  const auto source = [](int64_t channels, int64_t images, int64_t kernel) {
    Maker maker;
    const int64_t out = 65 - kernel;
    const NodeId x = maker.Leaf(NodeKind::kInput, "x", {images, channels, 64, 64});
    const NodeId w = maker.Leaf(NodeKind::kParameter, "w", {160, channels, kernel, kernel});
    return Answers(maker.Finish(maker.Op("aten::conv2d", {Ref(x), Ref(w)}, {images, 160, out, out})))
        .at(0)
        .source;
  };
  EXPECT_NE(source(12, 64, 3).find("torch.empty((64, 64, 64, 1, 12)"), std::string::npos)
      << source(12, 64, 3);
  EXPECT_NE(source(3, 256, 3).find("torch.empty((256, 64, 64, 1, 4)"), std::string::npos);
  EXPECT_EQ(CountOf(source(12, 64, 3), "torch.empty("), 3);
  EXPECT_EQ(CountOf(source(64, 64, 1), "torch.empty("), 2);  // channels are all that its weights have
  EXPECT_EQ(CountOf(source(64, 64, 1), kDot), 1);
}

// relu(conv2d(x, w)), whose places are multiplied by v.
Program ConvolutionAndProduct() {
  Maker m;
  const NodeId x = m.Leaf(NodeKind::kInput, "x", {64, 32, 34, 34}),
               w = m.Leaf(NodeKind::kParameter, "w", {160, 32, 3, 3}),
               v = m.Leaf(NodeKind::kParameter, "v", {512, 32});
  const std::vector<int64_t> out = {64, 160, 32, 32};
  const NodeId h = m.Op("aten::relu", {Ref(m.Op("aten::conv2d", {Ref(x), Ref(w)}, out))}, out);
  return m.Finish(m.Op("aten::linear", {Ref(h), Ref(v)}, {64, 160, 32, 512}));
}

TEST(Tf32, AsPytorchDoesByItselfOnlyConvolutionsAreCut) {
  const Answer first = Answers(ConvolutionAndProduct(), Fp32Precision::kPytorch).at(0);
  EXPECT_EQ(first.strategy, "TF32 products, pointers");
  EXPECT_EQ(CountOf(first.source, kDot), 1) << first.source;
  EXPECT_EQ(CountOf(first.source, "input_precision=\"tf32x3\""), 1) << first.source;
  EXPECT_EQ(CountOf(Answers(ConvolutionAndProduct()).at(0).source, kDot), 2);

  const Program product = Product(2048, 1536, 1024, false, false), small = Product(32, 64, 48, false, false);
  for (const Program* program : {&product, &small}) {
    const auto exact = Answers(*program, Fp32Precision::kIeee),
               all = Answers(*program, Fp32Precision::kPytorch);
    ASSERT_EQ(exact.size(), all.size());
    for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].source, exact[i].source) << all[i].strategy;
  }
}

TEST(Tf32, ASumIsCutUpWhereItIsLongerThanALaunch) {
  const auto parts = [](int64_t k) {
    return CountOf(Answers(Product(256, k, 1024, false, true)).at(0).source, "batch = pid //") > 0;
  };
  EXPECT_FALSE(parts(2048));
  EXPECT_TRUE(parts(8192));
}

}  // namespace
}  // namespace tritogen::teach
