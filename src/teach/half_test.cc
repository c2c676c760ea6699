// Large products of half types. Whether they compute the right numbers: tests/teacher.
#include <gtest/gtest.h>

#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

constexpr Dtype kHalf = Dtype::kBFloat16;
constexpr const char* kInTurn = "tl.range(tl.program_id(0), ";

std::string First(const Program& program) {
  return TeachFunction(program, /*strict=*/true).at(0).source;
}

// x (m, k) · wᵀ (n, k), and what `behind` does with it.
Program Linear(int64_t m, int64_t k, int64_t n, const std::vector<std::string>& behind = {}) {
  Maker maker;
  const NodeId x = maker.Leaf(NodeKind::kInput, "x", {m, k}, kHalf),
               w = maker.Leaf(NodeKind::kParameter, "w", {n, k}, kHalf);
  NodeId y = maker.Op("aten::linear", {Ref(x), Ref(w)}, {m, n}, kHalf);
  for (const std::string& op : behind) y = maker.Op(op, {Ref(y)}, {m, n}, kHalf);
  return maker.Finish(y);
}

Program Batches(int64_t batch, int64_t m, int64_t k, int64_t n) {
  Maker maker;
  const NodeId x = maker.Leaf(NodeKind::kInput, "x", {batch, m, k}, kHalf),
               y = maker.Leaf(NodeKind::kInput, "y", {batch, k, n}, kHalf);
  return maker.Finish(maker.Op("aten::bmm", {Ref(x), Ref(y)}, {batch, m, n}, kHalf));
}

Program Convolution(int64_t channels, int64_t size, int64_t kernel, int64_t stride) {
  Maker maker;
  const int64_t out = (size - kernel) / stride + 1;
  const NodeId x = maker.Leaf(NodeKind::kInput, "x", {64, channels, size, size}, kHalf);
  const NodeId w = maker.Leaf(NodeKind::kParameter, "w", {64, channels, kernel, kernel}, kHalf);
  return maker.Finish(
      maker.Op("aten::conv2d", {Ref(x), Ref(w), Arg{}, Ints({stride, stride})}, {64, 64, out, out}, kHalf));
}

TEST(Half, ProgramsTakeTilesOfALargeProductInTurn) {
  const Program program = Linear(4096, 1024, 4096);
  const auto answers = TeachFunction(program, true);
  EXPECT_EQ(answers.at(0).strategy, "persistent products");
  EXPECT_TRUE(Says(answers[0].source, kInTurn)) << answers[0].source;
  EXPECT_TRUE(Says(answers[0].source, "[(132,)]")) << answers[0].source;
  EXPECT_TRUE(Says(answers[0].source, ".view(4096, 1024), [256, 64])"));
  EXPECT_FALSE(Says(answers.at(1).source, "TensorDescriptor")) << answers[1].source;
  EXPECT_EQ(TeachFunction(Linear(32, 1024, 512), true).at(0).strategy, "fused");
}

TEST(Half, TilesAreAsLargeAsLeavesMultiprocessorsBusy) {
  const auto launch = [](int64_t m, int64_t k, int64_t n) {
    const std::string source = First(Linear(m, k, n));
    const size_t at = source.find("BLOCK_M=");
    return source.substr(at, source.find(",\n", at) - at);
  };
  EXPECT_EQ(launch(2048, 2048, 2048),
            "BLOCK_M=128, BLOCK_N=256, BLOCK_K=64, GROUP_M=8, num_warps=8, num_stages=3");
  EXPECT_EQ(launch(512, 1024, 4096),
            "BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, GROUP_M=8, num_warps=4, num_stages=4");
  EXPECT_EQ(launch(2048, 512, 1536),
            "BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, GROUP_M=8, num_warps=4, num_stages=3");
  EXPECT_EQ(launch(256, 1000, 4096),
            "BLOCK_M=64, BLOCK_N=128, BLOCK_K=128, GROUP_M=8, num_warps=4, num_stages=3");
}

TEST(Half, MuchWorkBehindAProductIsNotDoneInALoopOverTiles) {
  const std::string little = First(Linear(4096, 1024, 4096, {"aten::relu"})),
                    much = First(Linear(4096, 1024, 4096, {"aten::gelu", "aten::tanh"}));
  EXPECT_TRUE(Says(little, kInTurn)) << little;
  EXPECT_FALSE(Says(much, kInTurn)) << much;
  EXPECT_TRUE(Says(much, "TensorDescriptor"));
}

// Beside the next steps of such a loop shared memory has no room for a tile of float32.
TEST(Half, TilesOfFloat32AreNotStoredInALoopOverTiles) {
  Maker m;
  const NodeId x = m.Leaf(NodeKind::kInput, "x", {4096, 1024}, kHalf),
               w = m.Leaf(NodeKind::kParameter, "w", {4096, 1024}, kHalf);
  const NodeId y = m.Op("aten::linear", {Ref(x), Ref(w)}, {4096, 4096}, kHalf);
  const std::string source = First(m.Finish(
      m.Op("aten::mul.Tensor", {Ref(y), Ref(m.Leaf(NodeKind::kInput, "z", {4096, 4096}))}, {4096, 4096})));
  EXPECT_FALSE(Says(source, kInTurn)) << source;
  EXPECT_TRUE(Says(source, "TensorDescriptor"));
}

TEST(Half, BatchesAreRowsOfOneMatrix) {
  const std::string source = First(Batches(32, 300, 256, 512));
  EXPECT_TRUE(Says(source, ".load([batch * M + pid_m * BLOCK_M, start])")) << source;
  EXPECT_TRUE(Says(source, ".load([batch * K + start, pid_n * BLOCK_N])")) << source;
  EXPECT_TRUE(Says(source, "BATCH * num_m * num_n")) << source;
  // A step along k would run into the next batch; rows of 50 elements begin at no multiple of 16 bytes.
  EXPECT_FALSE(Says(First(Batches(32, 300, 200, 512)), "batch * K"));
  EXPECT_FALSE(Says(First(Batches(64, 300, 256, 50)), "batch * K"));
}

TEST(Half, ConvolutionsReadChannelsLast) {
  const std::string many = First(Convolution(20, 34, 3, 1)), few = First(Convolution(3, 66, 3, 1));
  EXPECT_TRUE(Says(many, "torch.empty((64, 34, 34, 1, 24)")) << many;
  EXPECT_TRUE(Says(few, "torch.empty((64, 66, 66, 1, 4)")) << few;
  const std::string patches = First(Convolution(3, 128, 16, 16));
  EXPECT_FALSE(Says(patches, ", 1, 4)")) << patches;
}

TEST(Half, APartOfARowIsNotReadInTiles) {
  Maker m;
  const NodeId x = m.Leaf(NodeKind::kInput, "x", {1024, 512}, kHalf),
               w = m.Leaf(NodeKind::kParameter, "w", {2048, 512}, kHalf);
  const NodeId y = m.Op("aten::linear", {Ref(x), Ref(w)}, {1024, 2048}, kHalf);
  const auto half = [&](int64_t from) {
    return m.Op("aten::slice.Tensor", {Ref(y), Arg{int64_t{1}}, Arg{from}, Arg{from + 1024}}, {1024, 1024},
                kHalf);
  };
  const NodeId gate = half(0), up = half(1024);
  const std::string source =
      First(m.Finish(m.Op("aten::mul.Tensor", {Ref(gate), Ref(up)}, {1024, 1024}, kHalf)));
  EXPECT_FALSE(Says(source, "neighbours in memory both ways")) << source;
}

// torch.einsum("bhsd,hdo->bso"): PyTorch sums over (d, h), of which h is not what lies side by side.
TEST(Half, SumsOverSeveralDimensionsFollowMemory) {
  Maker m;
  const NodeId x = m.Leaf(NodeKind::kInput, "x", {8, 16, 256, 64}, kHalf),
               w = m.Leaf(NodeKind::kParameter, "w", {16, 64, 512}, kHalf);
  const NodeId turned = m.Op("aten::permute", {Ref(x), Ints({0, 2, 3, 1})}, {8, 256, 64, 16}, kHalf),
               rows = m.Op("aten::reshape", {Ref(turned), Ints({2048, 1024})}, {2048, 1024}, kHalf),
               heads = m.Op("aten::permute", {Ref(w), Ints({1, 0, 2})}, {64, 16, 512}, kHalf),
               columns = m.Op("aten::reshape", {Ref(heads), Ints({1024, 512})}, {1024, 512}, kHalf);
  const std::string source = First(m.Finish(m.Op("aten::mm", {Ref(rows), Ref(columns)}, {2048, 512}, kHalf)));
  EXPECT_TRUE(Says(source, "% 64)")) << source;
  EXPECT_FALSE(Says(source, "% 16)")) << source;
}

// Under autocast weights are float32, and the copies in half precision steps of their own.
Program AutocastLinear(int64_t m) {
  Maker maker;
  const NodeId x = maker.Leaf(NodeKind::kInput, "x", {m, 2048}, kHalf),
               w = maker.Leaf(NodeKind::kParameter, "w", {2048, 2048});
  const NodeId copy = maker.Op("aten::_to_copy", {Ref(w)}, {2048, 2048}, kHalf);
  return maker.Finish(maker.Op("aten::linear", {Ref(x), Ref(copy)}, {m, 2048}, kHalf));
}

TEST(Half, CastsOfFactorsAreStoredWhereManyTilesReadThem) {
  const std::string many = First(AutocastLinear(4096)), few = First(AutocastLinear(64));
  EXPECT_TRUE(Says(many, "torch.empty((2048, 2048)")) << many;
  EXPECT_FALSE(Says(few, "torch.empty((2048, 2048)")) << few;
}

// Scores of `queries` for each of 4096 keys of 128 numbers, whose copies in half precision are steps of their
// own.
Program AutocastAttention(int64_t queries) {
  Maker maker;
  const auto leaf = [&](const char* name, int64_t length) {
    return maker.Leaf(NodeKind::kInput, name, {16, 8, length, 128});
  };
  const auto cast = [&](NodeId x, int64_t length) {
    return maker.Op("aten::_to_copy", {Ref(x)}, {16, 8, length, 128}, kHalf);
  };
  const NodeId q = leaf("q", queries), k = leaf("k", 4096), v = leaf("v", 4096);
  return maker.Finish(maker.Op("aten::scaled_dot_product_attention",
                               {Ref(cast(q, queries)), Ref(cast(k, 4096)), Ref(cast(v, 4096))},
                               {16, 8, queries, 128}, kHalf));
}

TEST(Half, CastsOfKeysAreStoredWhereManyTilesReadThem) {
  EXPECT_TRUE(Says(First(AutocastAttention(2048)), "torch.empty((16, 8, 4096, 128)"));
  EXPECT_FALSE(Says(First(AutocastAttention(4)), "torch.empty((16, 8, 4096, 128)"));
}

TEST(Half, KeysThatAreFloat32InMemoryComeInFewAtATime) {
  const std::string few = First(AutocastAttention(4));
  EXPECT_TRUE(Says(few, "BLOCK_N=64")) << few;
}

}  // namespace
}  // namespace tritogen::teach
