// Products that are only reduced.
#include <gtest/gtest.h>

#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

const std::vector<int64_t> kSizes = {70, 150};

// What the first answer says where `op` over these dimensions of relu(x·y) is asked for.
std::string SourceOf(const std::string& op, Arg dims, std::vector<int64_t> sizes, bool product_too = false) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {70, 40}), y = m.Leaf(NodeKind::kInput, "y", {40, 150});
  NodeId relu = m.Op("aten::relu", {Ref(m.Op("aten::mm", {Ref(x), Ref(y)}, kSizes))}, kSizes);
  Program program = m.Finish(m.Op(op, {Ref(relu), std::move(dims), Arg{false}}, std::move(sizes)));
  if (product_too) {
    program.outputs.push_back({relu});
    program.structure = "(*, *)";
  }
  const auto answers = TeachFunction(program, true);
  return answers.empty() ? "" : answers[0].source;
}

TEST(TileReductions, OfWhatIsOnlyReducedTilesStoreTheirShare) {
  const std::string rows = SourceOf("aten::sum.dim_IntList", Ints({1}), {70});
  EXPECT_FALSE(Says(rows, "tl.store(relu_ptr")) << rows;
  EXPECT_TRUE(Says(rows, "tl.store(total_ptr + offs_m * num_n + pid_n, total, mask=(offs_m < M))")) << rows;
  EXPECT_TRUE(Says(rows, "total = torch.empty((1, 70, 5)")) << rows;
  const std::string columns = SourceOf("aten::amax", Ints({0}), {150});
  EXPECT_TRUE(Says(columns, "tl.store(maximum_ptr + pid_m * N + offs_n, maximum, mask=(offs_n < N))"))
      << columns;
  const std::string exponentials = SourceOf("aten::logsumexp", Ints({1}), {70});
  EXPECT_FALSE(Says(exponentials, "tl.store(relu_ptr")) << exponentials;
}

TEST(TileReductions, TilesKeepPlacesBesideValues) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {70, 40}), y = m.Leaf(NodeKind::kInput, "y", {40, 150});
  NodeId product = m.Op("aten::mm", {Ref(x), Ref(y)}, kSizes);
  const std::string source =
      TeachFunction(
          m.Finish(m.Op("aten::argmin", {Ref(product), Arg{int64_t{1}}, Arg{false}}, {70}, Dtype::kInt64)),
          true)
          .at(0)
          .source;
  EXPECT_EQ(CountOf(source, "@triton.jit"), 2) << source;
  EXPECT_TRUE(Says(source, "keep_dims=True) + pid_n * BLOCK_N")) << source;
  EXPECT_TRUE(Says(source, "tl.load(place_ptr + rows * 5 + tile")) << source;
  EXPECT_FALSE(Says(source, "tl.store(mm_ptr")) << source;
}

TEST(TileReductions, AResultIsStoredAndNotReadAgain) {
  const std::string source = SourceOf("aten::sum.dim_IntList", Ints({1}), {70}, true);
  EXPECT_TRUE(Says(source, "tl.store(relu_ptr")) << source;
  EXPECT_FALSE(Says(source, "tl.load(relu_ptr")) << source;
}

TEST(TileReductions, WhoReadsElementsReducesThemItself) {
  const std::string source = SourceOf("aten::_softmax", Arg{int64_t{1}}, kSizes);
  EXPECT_TRUE(Says(source, "tl.store(relu_ptr")) << source;
  EXPECT_EQ(CountOf(source, "@triton.jit"), 2) << source;
}

TEST(TileReductions, SharesAreNotRounded) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {70, 40}, Dtype::kBFloat16),
         y = m.Leaf(NodeKind::kInput, "y", {40, 150}, Dtype::kBFloat16);
  NodeId product = m.Op("aten::mm", {Ref(x), Ref(y)}, kSizes, Dtype::kBFloat16);
  const auto answers = TeachFunction(
      m.Finish(m.Op("aten::sum.dim_IntList", {Ref(product), Ints({1}), Arg{false}}, {70}, Dtype::kBFloat16)),
      true);
  ASSERT_FALSE(answers.empty());
  EXPECT_TRUE(
      Says(answers[0].source, "total = torch.empty((1, 70, 3), device=x.device, dtype=torch.float32)"))
      << answers[0].source;
}

}  // namespace
}  // namespace tritogen::teach
