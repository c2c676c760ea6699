// Which norms have their moments made by the product in front of them. Whether they are right: tests/teacher.
#include <gtest/gtest.h>

#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

// What the first answer says where a batch norm in training follows a convolution with 3 × 3 taps, or the
// product of its result and itself.
std::string SourceOf(const std::vector<int64_t>& image, int64_t channels, bool squared = false) {
  Maker m;
  const int64_t batch = image[0], in = image[1];
  std::vector<int64_t> sizes = {batch, channels, image[2] - 2, image[3] - 2};
  NodeId x = m.Leaf(NodeKind::kInput, "x", image), w = m.Leaf(NodeKind::kInput, "w", {channels, in, 3, 3});
  NodeId y = m.Op("aten::conv2d", {Ref(x), Ref(w)}, sizes);
  if (squared) y = m.Op("aten::mul.Tensor", {Ref(y), Ref(y)}, sizes);
  const Arg none{}, yes{true};
  NodeId norm =
      m.Op("aten::batch_norm", {Ref(y), none, none, none, none, yes, Arg{0.1}, Arg{1e-5}, Arg{false}}, sizes);
  const auto answers = TeachFunction(m.Finish(norm), true);
  return answers.empty() ? "" : answers[0].source;
}

int Launches(const std::string& source) {
  return CountOf(source, "num_warps=");
}

TEST(TileMoments, TilesMakeSumsAndSquaredDistances) {
  for (const bool squared : {false, true}) {
    const std::string source = SourceOf({8, 3, 61, 60}, 20, squared);
    EXPECT_EQ(Launches(source), 3) << source;  // product, lines, result
    EXPECT_TRUE(Says(source,
                     "tl.store(total_ptr + (offs_m * 8 + batch) * num_n + pid_n, total, "
                     "mask=(offs_m < M))"))
        << source;
    EXPECT_TRUE(Says(source, "middle = total / min(N - pid_n * BLOCK_N, BLOCK_N)")) << source;
    EXPECT_TRUE(Says(source, "total = torch.empty((20, 8, 54)")) << source;
  }
}

TEST(TileMoments, FullTilesAreCountedByNobody) {
  const std::string source = SourceOf({8, 3, 66, 66}, 20);
  EXPECT_TRUE(Says(source, "middle = total / BLOCK_N")) << source;
  EXPECT_TRUE(Says(source, "/ 64.0")) << source;
  EXPECT_FALSE(Says(source, "tl.minimum")) << source;
}

TEST(TileMoments, LinesThatAProgramHoldsAreReadByIt) {
  const std::string source = SourceOf({8, 3, 34, 34}, 20);
  EXPECT_EQ(Launches(source), 2) << source;
  EXPECT_FALSE(Says(source, "distance")) << source;
}

TEST(TileMoments, OfFeaturesAreMadeAlongRows) {
  Maker m;
  const std::vector<int64_t> sizes = {20000, 30};
  NodeId x = m.Leaf(NodeKind::kInput, "x", {20000, 40}), y = m.Leaf(NodeKind::kInput, "y", {40, 30});
  NodeId product = m.Op("aten::mm", {Ref(x), Ref(y)}, sizes);
  const Arg none{}, yes{true};
  NodeId norm = m.Op("aten::batch_norm",
                     {Ref(product), none, none, none, none, yes, Arg{0.1}, Arg{1e-5}, Arg{false}}, sizes);
  const std::string source = TeachFunction(m.Finish(norm), true).at(0).source;
  EXPECT_TRUE(Says(source, "tl.store(total_ptr + offs_n * num_m + pid_m, total, mask=(offs_n < N))"))
      << source;
  EXPECT_EQ(Launches(source), 3) << source;
}

}  // namespace
}  // namespace tritogen::teach
