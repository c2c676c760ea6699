// The lines that a program of a row kernel takes.
#include "teach/row_tiles.h"

#include <gtest/gtest.h>

#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

// Of a tile of several lines, the transposed one has neighbours in memory.
TEST(RowTiles, LinesAcrossMemoryAreReadSeveralAtATime) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {4096, 4096});
  NodeId t = m.Op("aten::t", {Ref(x)}, {4096, 4096});
  auto answers =
      TeachFunction(m.Finish(m.Op("aten::_softmax", {Ref(t), Arg{int64_t{1}}, Arg{false}}, {4096, 4096})));
  ASSERT_FALSE(answers.empty());
  EXPECT_TRUE(Says(answers[0].source, "ROWS=64")) << answers[0].source;
}

TEST(RowTiles, ShortLinesAcrossMemoryAreEachInOneThread) {
  const auto softmax = [](int64_t images, int64_t channels, int64_t side) {
    Maker m;
    const std::vector<int64_t> sizes = {images, channels, side, side};
    const NodeId x = m.Leaf(NodeKind::kInput, "x", sizes);
    return TeachFunction(m.Finish(m.Op("aten::_softmax", {Ref(x), Arg{int64_t{1}}, Arg{false}}, sizes)))
        .at(0)
        .source;
  };
  EXPECT_TRUE(Says(softmax(16, 21, 256), "ROWS=256, BLOCK=32, num_warps=2")) << softmax(16, 21, 256);
  EXPECT_TRUE(Says(softmax(16, 64, 256), "ROWS=64, BLOCK=64, num_warps=2"));
  EXPECT_TRUE(Says(softmax(16, 65, 256), "num_warps=8"));
  EXPECT_TRUE(Says(softmax(2, 21, 96), "ROWS=64, BLOCK=32, num_warps=8"));  // few programs
}

TEST(RowTiles, FewRowsAreSharedOutAmongPrograms) {
  const auto softmax = [](int64_t rows, int64_t columns) {
    Maker m;
    const NodeId x = m.Leaf(NodeKind::kInput, "x", {rows, columns});
    const std::vector<Arg> args = {Ref(x), Arg{int64_t{1}}, Arg{false}};
    return TeachFunction(m.Finish(m.Op("aten::_softmax", args, {rows, columns}))).at(0).source;
  };
  EXPECT_TRUE(Says(softmax(64, 1000), "[(64,)]")) << softmax(64, 1000);
  EXPECT_TRUE(Says(softmax(4096, 256), "triton.cdiv(4096, 4)")) << softmax(4096, 256);
}

std::string Source(const std::string& op, const std::vector<int64_t>& sizes, std::vector<Arg> more,
                   const std::vector<int64_t>& out, Dtype dtype = Dtype::kFloat32) {
  Maker m;
  std::vector<Arg> args = {Ref(m.Leaf(NodeKind::kInput, "x", sizes, dtype))};
  args.insert(args.end(), more.begin(), more.end());
  return TeachFunction(m.Finish(m.Op(op, args, out, dtype)), true).at(0).source;
}

TEST(RowTiles, LinesAreHeldByFewWarps) {
  const auto sum = [](int64_t length, Dtype dtype = Dtype::kFloat32) {
    return Source("aten::sum.dim_IntList", {1 << 18, length}, {Ints({1})}, {1 << 18}, dtype);
  };
  EXPECT_TRUE(Says(sum(197), "ROWS=4, BLOCK=256, num_warps=1")) << sum(197);
  EXPECT_TRUE(Says(sum(197, Dtype::kFloat16), "ROWS=8, BLOCK=256, num_warps=1"))
      << "of half types twice as many";
  EXPECT_TRUE(Says(sum(768), "BLOCK=1024, num_warps=2"));
  EXPECT_TRUE(Says(sum(5120), "BLOCK=8192, num_warps=8"));
  EXPECT_TRUE(Says(sum(20000), "BLOCK=32768, num_warps=32"));
}

TEST(RowTiles, RunningSumsOfShortLinesAreAWarps) {
  const auto scan = [](int64_t length) {
    return Source("aten::cumsum", {1 << 18, length}, {Arg{int64_t{1}}}, {1 << 18, length});
  };
  EXPECT_TRUE(Says(scan(193), "num_warps=1")) << scan(193);
  EXPECT_FALSE(Says(scan(2000), "num_warps=1"));
}

}  // namespace
}  // namespace tritogen::teach
