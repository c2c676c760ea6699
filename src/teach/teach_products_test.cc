// What answers promise of products: how sums are cut up and what factors are made of.
#include <gtest/gtest.h>

#include <algorithm>

#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

TEST(TeachProducts, OnlyLongSumsOfLargeProductsAreCutUp) {
  const auto product = [](int64_t m, int64_t k, Dtype dtype) {
    Maker maker;
    const NodeId x = maker.Leaf(NodeKind::kInput, "x", {m, k}, dtype);
    const NodeId y = maker.Leaf(NodeKind::kInput, "y", {k, m}, dtype);
    const auto answers =
        TeachFunction(maker.Finish(maker.Op("aten::mm", {Ref(x), Ref(y)}, {m, m}, dtype)), true);
    return std::find_if(answers.begin(), answers.end(), [](const Answer& a) { return a.strategy == "fused"; })
        ->source;
  };
  const auto cut = [](const std::string& source) { return source.find("+= part") != std::string::npos; };
  EXPECT_TRUE(cut(product(1024, 512, Dtype::kFloat32)));
  EXPECT_TRUE(cut(product(1024, 1000, Dtype::kFloat32)));
  EXPECT_FALSE(cut(product(4096, 256, Dtype::kFloat32)));  // one sum
  EXPECT_FALSE(cut(product(64, 4096, Dtype::kFloat32)));   // little work
  EXPECT_FALSE(cut(product(1024, 512, Dtype::kBFloat16)));
}

TEST(TeachProducts, LongSumsOfFewTilesAreSharedByManyPrograms) {
  const auto sources = [](int64_t rows, int64_t k, Dtype dtype) {
    Maker maker;
    const NodeId x = maker.Leaf(NodeKind::kInput, "x", {rows, k}, dtype);
    const NodeId w = maker.Leaf(NodeKind::kParameter, "w", {96, k}, dtype);
    std::map<std::string, std::string> sources;
    for (const Answer& answer :
         TeachFunction(maker.Finish(maker.Op("aten::linear", {Ref(x), Ref(w)}, {rows, 96}, dtype)), true))
      sources[answer.strategy] = answer.source;
    return sources;
  };
  const auto parts = [](const std::string& source) {
    return source.find("batch = pid //") != std::string::npos;
  };
  auto few = sources(8, 4096, Dtype::kFloat32);
  EXPECT_TRUE(parts(few["fused"])) << few["fused"];
  EXPECT_NE(few["fused"].find("torch.empty((32, 8, 96), "), std::string::npos) << few["fused"];
  EXPECT_NE(few["fused"].find("(8, 96)"), std::string::npos);
  EXPECT_FALSE(parts(few["one stage reductions"]));
  // Sums of half types are not rounded before they are added up.
  const std::string half = sources(8, 4096, Dtype::kFloat16)["fused"];
  EXPECT_NE(half.find("dtype=torch.float32"), std::string::npos) << half;
  EXPECT_FALSE(parts(sources(8, 512, Dtype::kFloat32)["fused"]));         // short
  // Of a prime number all but a rest is cut, where rests need not be rounded before they are added.
  EXPECT_TRUE(parts(sources(8, 4099, Dtype::kFloat32)["fused"]));
  EXPECT_FALSE(parts(sources(8, 4099, Dtype::kFloat16)["fused"]));
  EXPECT_FALSE(parts(sources(1 << 14, 1024, Dtype::kFloat32)["fused"]));  // many tiles
}

// Large tiles of parts, of which a multiprocessor holds one: 48, 64 and 128 of them.
TEST(TeachProducts, TilesThatLeaveMultiprocessorsIdleAreCutIntoWaves) {
  const auto first = [](int64_t rows, int64_t columns, int64_t k) {
    Maker maker;
    const NodeId x = maker.Leaf(NodeKind::kInput, "x", {rows, k});
    const NodeId w = maker.Leaf(NodeKind::kParameter, "w", {columns, k});
    return TeachFunction(maker.Finish(maker.Op("aten::linear", {Ref(x), Ref(w)}, {rows, columns})), true)[0]
        .source;
  };
  EXPECT_TRUE(Says(first(256, 3000, 4096), "torch.empty((8, 256, 3000), "));
  EXPECT_TRUE(Says(first(256, 4096, 4096), "torch.empty((2, 256, 4096), "));
  EXPECT_FALSE(Says(first(1024, 2048, 4096), "torch.empty((2, "));
  EXPECT_FALSE(Says(first(256, 4096, 1024), "torch.empty((2, ")) << "short";
}

TEST(TeachProducts, LargeProductsOfFloat32AreMadeOfSixOfBfloat16) {
  const auto answers = [](int64_t rows, Dtype dtype) {
    Maker maker;
    const NodeId x = maker.Leaf(NodeKind::kInput, "x", {rows, 1536}, dtype);
    const NodeId w = maker.Leaf(NodeKind::kParameter, "w", {1024, 1536}, dtype);
    return TeachFunction(maker.Finish(maker.Op("aten::linear", {Ref(x), Ref(w)}, {rows, 1024}, dtype)), true);
  };
  const auto large = answers(2048, Dtype::kFloat32);
  ASSERT_GE(large.size(), 2u);
  EXPECT_EQ(large[0].strategy, "products of bfloat16 parts");
  EXPECT_EQ(CountOf(large[0].source, "tl.dot("), 6) << large[0].source;
  EXPECT_EQ(CountOf(large[0].source, "tl.dot(a_high, b_high, part)"), 1);
  EXPECT_NE(large[0].source.find("for chunk in range(0, K, 128)"), std::string::npos);
  EXPECT_EQ(CountOf(large[1].source, "tl.dot(a_high, b_high, acc)"), 1) << large[1].source;
  // The transposed weight is read through its strides, so its parts lie as it does.
  EXPECT_EQ(CountOf(large[0].source, "torch.empty((1024, 1536), "), 3) << large[0].source;
  EXPECT_EQ(answers(32, Dtype::kFloat32)[0].strategy, "fused");
  EXPECT_EQ(CountOf(answers(2048, Dtype::kBFloat16)[0].source, "tl.dot("), 1);
}

TEST(TeachProducts, PartsOfAConvolutionHaveTheirChannelsLastAndPadded) {
  const auto source = [](int64_t channels, int64_t images) {
    Maker maker;
    const NodeId x = maker.Leaf(NodeKind::kInput, "x", {images, channels, 64, 64});
    const NodeId w = maker.Leaf(NodeKind::kParameter, "w", {160, channels, 3, 3});
    const auto answers =
        TeachFunction(maker.Finish(maker.Op("aten::conv2d", {Ref(x), Ref(w)}, {images, 160, 62, 62})), true);
    return answers.at(0).source;
  };
  EXPECT_NE(source(16, 64).find("torch.empty((64, 64, 64, 1, 16)"), std::string::npos) << source(16, 64);
  EXPECT_NE(source(3, 256).find("torch.empty((256, 64, 64, 1, 4)"), std::string::npos) << source(3, 256);
  EXPECT_NE(source(12, 64).find("torch.empty((1, 160, 3, 3, 16)"), std::string::npos) << source(12, 64);
  EXPECT_EQ(source(1, 1024).find("bfloat16"), std::string::npos);  // most of four channels would be zeros
}

// The first answer to x · wᵀ.
Answer FirstOfLinear(int64_t rows, int64_t k, int64_t columns) {
  Maker maker;
  const NodeId x = maker.Leaf(NodeKind::kInput, "x", {rows, k});
  const NodeId w = maker.Leaf(NodeKind::kParameter, "w", {columns, k});
  return TeachFunction(maker.Finish(maker.Op("aten::linear", {Ref(x), Ref(w)}, {rows, columns})), true).at(0);
}

TEST(TeachProducts, LittleWorkWithFewColumnsIsOneOfLines) {
  const std::string few = FirstOfLinear(128, 2048, 10).source;
  EXPECT_EQ(CountOf(few, "tl.dot("), 0) << few;
  EXPECT_EQ(CountOf(few, "tl.sum("), 1) << few;
  EXPECT_GT(CountOf(FirstOfLinear(128, 2048, 20).source, "tl.dot("), 0);
  EXPECT_GT(CountOf(FirstOfLinear(1 << 17, 256, 8).source, "tl.dot("), 0) << "lines would be read too often";
}

// The first answer to x · y.
std::string FirstOfProduct(std::vector<int64_t> x, std::vector<int64_t> y, Dtype dtype = Dtype::kFloat32) {
  Maker maker;
  const NodeId first = maker.Leaf(NodeKind::kInput, "x", x, dtype),
               second = maker.Leaf(NodeKind::kInput, "y", y, dtype);
  std::vector<int64_t> sizes = x;
  sizes.back() = y.back();
  return TeachFunction(maker.Finish(maker.Op("aten::matmul", {Ref(first), Ref(second)}, sizes, dtype)), true)
      .at(0)
      .source;
}

TEST(TeachProducts, TilesOfSmallOnesTakeBothFactorsApart) {
  const std::string small = FirstOfProduct({12288, 64}, {64, 64});
  EXPECT_EQ(CountOf(small, "num_warps="), 1) << small;  // no launch makes parts
  EXPECT_TRUE(Says(small, "a_low = ") && Says(small, "b_low = "));
  EXPECT_TRUE(Says(small, "BLOCK_M=64, BLOCK_N=32, BLOCK_K=64")) << small;
  EXPECT_FALSE(Says(FirstOfProduct({1024, 64}, {64, 64}), "a_low = ")) << "little work";
}

TEST(TeachProducts, FactorsAlongTheSumTakeThreeTf32DotsUnlessThereIsMuchToDo) {
  const auto strategy = [](int64_t m, int64_t k, int64_t n) { return FirstOfLinear(m, k, n).strategy; };
  EXPECT_EQ(strategy(128, 768, 3072), "fused");
  EXPECT_EQ(strategy(4096, 64, 4096), "fused") << "the sum is short";
  EXPECT_EQ(strategy(2048, 1024, 1024), "products of bfloat16 parts");
  EXPECT_EQ(strategy(256, 1024, 4096), "fused") << "large tiles leave half of the multiprocessors idle";
  EXPECT_EQ(strategy(1024, 301, 512), "products of bfloat16 parts") << "no load of 16 bytes fits its lines";
  const std::string dots = FirstOfLinear(128, 768, 3072).source;
  EXPECT_TRUE(Says(dots, "input_precision=\"tf32x3\"")) << dots;
  EXPECT_TRUE(Says(dots, "BLOCK_M=64, BLOCK_N=32, BLOCK_K=64")) << dots;
  EXPECT_TRUE(Says(FirstOfLinear(1024, 256, 256).source, "BLOCK_M=64, BLOCK_N=32"));
  EXPECT_TRUE(Says(FirstOfLinear(64, 784, 256).source, "BLOCK_M=16, BLOCK_N=32"));
  // What does not lie along the sum passes through registers.
  EXPECT_TRUE(Says(FirstOfProduct({512, 512}, {512, 512}), "tf32x3"));
  EXPECT_FALSE(Says(FirstOfProduct({16, 512, 512}, {16, 512, 512}), "tf32x3"));
}

TEST(TeachProducts, FactorsOfOddSizesAreCopiedAlongTheSumAndFilledUp) {
  const std::string odd = FirstOfProduct({1023, 1001}, {1001, 1025});
  EXPECT_EQ(CountOf(odd, "torch.empty((1023, 1008), "), 3) << odd;
  EXPECT_EQ(CountOf(odd, "torch.empty((1025, 1008), "), 3) << odd;  // turned
  EXPECT_TRUE(Says(odd, "K=1008"));
  EXPECT_FALSE(Says(odd, "(1001, 1025)"));
  // Only the one that is read element by element.
  const std::string columns = FirstOfProduct({1024, 1000}, {1000, 1025});
  EXPECT_EQ(CountOf(columns, "torch.empty((1024, 1000), "), 3) << columns;
  EXPECT_EQ(CountOf(columns, "torch.empty((1025, 1000), "), 3) << columns;
  const std::string rows = FirstOfProduct({1023, 1000}, {1000, 1024});
  EXPECT_EQ(CountOf(rows, "torch.empty((1000, 1024), "), 3) << rows;
  // One matrix for all of a batch is copied once.
  EXPECT_EQ(CountOf(FirstOfProduct({6, 500, 301}, {301, 999}), "torch.empty((999, 304), "), 3);
  // What two tiles read is taken apart in them: the copy is of float32.
  const std::string few = FirstOfProduct({65536, 319}, {319, 255});
  EXPECT_EQ(CountOf(few, "torch.empty((65536, 320), "), 1) << few;
  EXPECT_EQ(CountOf(few, "torch.empty((255, 320), "), 3) << few;
  const std::string half = FirstOfProduct({2047, 1001}, {1001, 1025}, Dtype::kFloat16);
  EXPECT_EQ(CountOf(half, "torch.empty((1025, 1008), "), 1) << half;
  EXPECT_TRUE(Says(half, "TensorDescriptor"));
}

TEST(TeachProducts, FactorsOfOddSizesThatFewTilesReadAreCopiedForThreeTf32Dots) {
  const std::string layer = FirstOfLinear(128, 785, 1001).source;
  EXPECT_EQ(CountOf(layer, "torch.empty((128, 792), "), 1) << layer;
  EXPECT_EQ(CountOf(layer, "torch.empty((1001, 792), "), 1) << layer;
  EXPECT_TRUE(Says(layer, "input_precision=\"tf32x3\"") && Says(layer, "K=792")) << layer;
  EXPECT_FALSE(Says(FirstOfLinear(128, 784, 1000).source, "torch.empty((1000, "))
      << "even ones are read as they lie";
}

TEST(TeachProducts, PiecesOfASumBeginWhereLoadsOfSeveralElementsDo) {
  // 1,111 is filled up to 1,152, nine pieces of 128; 1,112 has no such pieces.
  const std::string odd = FirstOfLinear(300, 1111, 300).source;
  EXPECT_TRUE(Says(odd, "1152")) << odd;
  EXPECT_TRUE(Says(odd, "K=128")) << odd;
  EXPECT_TRUE(Says(FirstOfLinear(1000, 1112, 333).source, "K=1112"));
}

TEST(TeachProducts, FactorsOfOddSizesStayWhereCopiesCostMore) {
  EXPECT_FALSE(Says(FirstOfProduct({63, 4001}, {4001, 16385}), "4008")) << "one small tile reads a factor";
  EXPECT_FALSE(Says(FirstOfProduct({128, 6}, {6, 1 << 20}), "K=8,"))
      << "the one that is read once has long lines";
  EXPECT_FALSE(Says(FirstOfProduct({301, 301}, {301, 301}), "304")) << "little work";
  EXPECT_FALSE(Says(FirstOfProduct({1023, 1001}, {1001, 1025}, Dtype::kFloat16), "1008")) << "little work";
}

TEST(TeachProducts, FewMultiprocessorsMayBeWithoutALargeTile) {
  // 128 tiles of 128 by 128, or twice as many of half the size in two rounds.
  const std::string source = FirstOfProduct({256, 262144}, {262144, 256});
  EXPECT_TRUE(Says(source, "BLOCK_M=128, BLOCK_N=128, BLOCK_K=32")) << source;
}

}  // namespace
}  // namespace tritogen::teach
