// Concatenations of what kernels make.
#include <gtest/gtest.h>

#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

// The first answer's text.
std::string SourceOf(const Program& program) {
  const auto answers = TeachFunction(program, true);
  return answers.empty() ? "" : answers[0].source;
}

TEST(PlacedParts, AProductStoresItsPart) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {900, 40}), w = m.Leaf(NodeKind::kInput, "w", {40, 300});
  NodeId relu = m.Op("aten::relu", {Ref(m.Op("aten::mm", {Ref(x), Ref(w)}, {900, 300}))}, {900, 300});
  const std::string source =
      SourceOf(m.Finish(m.Op("aten::cat", {Arg{Arg::List{Ref(x), Ref(relu)}}, Arg{int64_t{1}}}, {900, 340})));
  EXPECT_TRUE(Says(source, "tl.store(cat_ptr + offs_m * 340 + offs_n + 40, relu")) << source;
  EXPECT_EQ(CountOf(source, "torch.empty("), 1) << source;
}

TEST(PlacedParts, AllButTheLastRunningSum) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {900, 1000});
  NodeId sums = m.Op("aten::cumsum", {Ref(x), Arg{int64_t{1}}}, {900, 1000});
  NodeId first =
      m.Op("aten::narrow", {Ref(sums), Arg{int64_t{1}}, Arg{int64_t{0}}, Arg{int64_t{999}}}, {900, 999});
  NodeId zeros = m.Op("aten::zeros", {Ints({900, 1})}, {900, 1});
  const std::string source = SourceOf(
      m.Finish(m.Op("aten::cat", {Arg{Arg::List{Ref(zeros), Ref(first)}}, Arg{int64_t{1}}}, {900, 1000})));
  EXPECT_TRUE(Says(source, "cols + 1, cumsum, mask=col_mask & (cols < 999))")) << source;
  EXPECT_EQ(CountOf(source, "torch.empty("), 1) << source;
}

TEST(PlacedParts, PartsOfPointwiseWorkAreReadWhereTheyLie) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {900, 40});
  NodeId exp = m.Op("aten::exp", {Ref(x)}, {900, 40});
  const std::string source =
      SourceOf(m.Finish(m.Op("aten::cat", {Arg{Arg::List{Ref(exp), Ref(x)}}, Arg{int64_t{1}}}, {900, 80})));
  EXPECT_EQ(CountOf(source, "tl.store("), 1) << source;
}

}  // namespace
}  // namespace tritogen::teach
