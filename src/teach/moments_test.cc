// Which lines have their moments and softmaxes made in pieces. Whether they are right: tests/teacher.
#include <gtest/gtest.h>

#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

std::string First(const std::string& op, const std::vector<int64_t>& sizes, int64_t dim) {
  Maker m;
  const NodeId x = m.Leaf(NodeKind::kInput, "x", sizes);
  std::vector<Arg> args = {Ref(x), Arg{dim}};
  if (op == "layer_norm") args[1] = Ints({sizes.begin() + dim, sizes.end()});
  return TeachFunction(m.Finish(m.Op("aten::" + op, args, sizes)), true).at(0).source;
}

int Launches(const std::string& source) {
  return CountOf(source, "num_warps=");
}

TEST(Moments, LongLinesAreReadOnceForBothStatistics) {
  for (const char* op : {"softmax.int", "layer_norm"}) {
    const std::string source = First(op, {1024, 65536}, 1);
    EXPECT_EQ(Launches(source), 3) << source;         // pieces, lines, results
    EXPECT_EQ(CountOf(source, "for "), 0) << source;  // nothing is walked along
    EXPECT_TRUE(Says(source, "torch.empty((1024, 16")) << source;
  }
}

TEST(Moments, LinesThatAProgramHoldsOrACacheDoes) {
  EXPECT_EQ(Launches(First("layer_norm", {4096, 32768}, 1)), 1);
  EXPECT_EQ(Launches(First("softmax.int", {4096, 8192}, 1)), 1);
  EXPECT_EQ(Launches(First("layer_norm", {100, 65536}, 1)), 1);
}

TEST(Moments, LinesThatLeaveHalfOfAGpuIdleAreCut) {
  EXPECT_EQ(Launches(First("softmax.int", {64, 128256}, 1)), 3);
  EXPECT_EQ(Launches(First("softmax.int", {64, 65536}, 1)), 1);
}

TEST(Moments, SeveralDimensionsMakeUpAPiece) {
  const std::string source = First("layer_norm", {64, 32, 128, 100}, 1);
  EXPECT_EQ(Launches(source), 3) << source;
  EXPECT_TRUE(Says(source, "torch.empty((64, 32, 4")) << source;
}

TEST(Moments, OfLogitsThatNoProgramHoldsTheTargetsAreLookedUp) {
  Maker m;
  const NodeId x = m.Leaf(NodeKind::kInput, "x", {4096, 50000}),
               y = m.Leaf(NodeKind::kInput, "y", {4096}, Dtype::kInt64);
  const std::string source =
      TeachFunction(m.Finish(m.Op("aten::cross_entropy_loss", {Ref(x), Ref(y)}, {})), true).at(0).source;
  EXPECT_TRUE(Says(source, "tl.store(of_target_ptr")) << source;
  EXPECT_EQ(CountOf(source, "for "), 0) << source;
}

// Lines across memory have shorter pieces, whose elements stay in a cache.
TEST(Moments, LinesAcrossMemory) {
  EXPECT_EQ(Launches(First("softmax.int", {16, 8192, 256}, 1)), 3);
  EXPECT_TRUE(Says(First("softmax.int", {16, 8192, 256}, 1), "(16, 32, 256)"));
  EXPECT_EQ(Launches(First("softmax.int", {1024, 512, 256}, 1)), 1);
}

}  // namespace
}  // namespace tritogen::teach
