// Transposed convolutions with strides. Whether they compute the right numbers: tests/teacher.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

struct Sizes {
  std::vector<int64_t> in, kernel;
  int64_t stride, padding, output_padding = 0, dilation = 1, channels = 32, images = 8;
};

// The first answer to relu(conv_transpose(x, w) + bias).
std::string First(const Sizes& s) {
  Maker m;
  std::vector<int64_t> x = {s.images, s.channels}, w = {s.channels, 48}, y = {s.images, 48};
  for (size_t d = 0; d < s.in.size(); ++d) {
    x.push_back(s.in[d]);
    w.push_back(s.kernel[d]);
    y.push_back((s.in[d] - 1) * s.stride - 2 * s.padding + s.dilation * (s.kernel[d] - 1) + s.output_padding +
                1);
  }
  const auto all = [&](int64_t number) { return Ints(std::vector<int64_t>(s.in.size(), number)); };
  const NodeId in = m.Leaf(NodeKind::kInput, "x", x), weight = m.Leaf(NodeKind::kParameter, "w", w),
               bias = m.Leaf(NodeKind::kParameter, "b", {48});
  const NodeId out =
      m.Op(fmt::format("aten::conv_transpose{}d", s.in.size()) + (s.in.size() > 1 ? ".input" : ""),
           {Ref(in), Ref(weight), Ref(bias), all(s.stride), all(s.padding), all(s.output_padding),
            Arg{int64_t{1}}, all(s.dilation)},
           y);
  return TeachFunction(m.Finish(m.Op("aten::relu", {Ref(out)}, y)), true).at(0).source;
}

int Launches(const std::string& source) {
  return CountOf(source, "num_warps=");
}

TEST(ConvPhases, EachResultTakesTheTapsOfItsPhase) {
  // Two of four taps along each dimension, and four phases of 48 channels.
  const std::string source = First({{32, 32}, {4, 4}, 2, 0});
  EXPECT_TRUE(Says(source, "K=2 * 2 * 32")) << source;
  EXPECT_TRUE(Says(source, "M=192")) << source;
  // Copies of both factors in one launch, then the product with all that is behind it.
  EXPECT_EQ(Launches(source), 2) << source;
  EXPECT_TRUE(Says(First({{8, 16, 16}, {3, 3, 3}, 2, 1, 1}), "K=2 * 2 * 2 * 32"));
}

TEST(ConvPhases, AGridThatIsNotWholeIsReadOnceMore) {
  // With the grid a place further on two taps do, too, instead of three.
  const std::string source = First({{32, 32}, {4, 4}, 2, 1, 1});
  EXPECT_TRUE(Says(source, "K=2 * 2 * 32")) << source;
  EXPECT_EQ(Launches(source), 3) << source;
}

TEST(ConvPhases, WhereItIsNoLessWorkAllTapsAreTaken) {
  EXPECT_TRUE(Says(First({{32, 32}, {3, 3}, 1, 1}), "K=3 * 3 * 32"));             // no stride
  EXPECT_TRUE(Says(First({{16384}, {3}, 2, 1, 0, 2}), "K=3 * 32"));               // half the taps, and a pass
  EXPECT_TRUE(Says(First({{6, 6}, {4, 4}, 2, 1, 0, 1, 32, 1}), "K=32 * 4 * 4"));  // as small programs were
}

}  // namespace
}  // namespace tritogen::teach
