#include <gtest/gtest.h>

#include "teach/graph.h"
#include "teach/tensor_text.h"
#include "teach/test_programs.h"
#include "teach/view.h"

namespace tritogen::teach {
namespace {

TEST(Graph, FindsWhatIsThereAlsoAfterRenumbering) {
  Graph graph;
  auto source = [](const char* name, NodeId node) {
    Prim prim;
    prim.kind = PrimKind::kSource;
    prim.name = name;
    prim.sizes = {4};
    prim.node = {node, 0};
    return prim;
  };
  auto relu = [&](PrimId of, const char* name) {
    Prim prim;
    prim.name = name;
    prim.sizes = {4};
    prim.expr = "tl.maximum({0}, 0.0)";
    prim.operands = {graph.Whole(of)};
    prim.compute = {Dtype::kFloat32};
    return prim;
  };
  graph.Add(source("unused", 0));
  const PrimId x = graph.Add(source("x", 1)), y = graph.Add(relu(x, "relu"));
  EXPECT_EQ(graph.Add(relu(x, "another_name")), y);
  graph.prims[y].dtype = Dtype::kFloat16;  // stored in another dtype: no longer the same work
  EXPECT_NE(graph.Add(relu(x, "relu")), y);
  graph.outputs = {graph.Whole(y)};
  graph.RemoveUnused();
  ASSERT_EQ(graph.prims.size(), 2u);
  EXPECT_EQ(graph.Add(source("x", 1)), 0);
  graph.prims[1].dtype = Dtype::kFloat32;
  EXPECT_EQ(graph.Add(relu(0, "relu")), 1);
}

TEST(View, ReshapeFollowsStridesOrRefuses) {
  View x = ContiguousView(0, {2, 3, 4});
  EXPECT_EQ(Reshape(x, {6, 4})->strides, (std::vector<int64_t>{4, 1}));
  View turned = Permute(x, {0, 2, 1});
  EXPECT_EQ(turned.strides, (std::vector<int64_t>{12, 1, 4}));
  EXPECT_FALSE(Reshape(turned, {24}));
  EXPECT_EQ(Reshape(turned, {2, 2, 2, 3})->strides, (std::vector<int64_t>{12, 2, 1, 4}));
  EXPECT_EQ(Reshape(Expand(ContiguousView(0, {1, 4}), {3, 4}), {3, 2, 2})->strides,
            (std::vector<int64_t>{0, 2, 1}));
}

TEST(View, PermuteTakesGuardsAlong) {
  View x = ContiguousView(0, {2, 3, 4});
  x.guards = {{2, 0, 3}, {0, 1, 2}};
  EXPECT_EQ(Permute(x, {2, 0, 1}).guards, (std::vector<Guard>{{0, 0, 3}, {1, 1, 2}}));
}

TEST(View, ComposeReadsThroughAValue) {
  // value[i, j] = source[j] over a 4×6 value, read transposed and sliced.
  View inner = Expand(ContiguousView(7, {6}), {4, 6});
  View outer = Slice(Permute(ContiguousView(3, {4, 6}), {1, 0}), 0, 2, 3, 1);
  auto through = Compose(outer, inner);
  ASSERT_TRUE(through);
  EXPECT_EQ(through->prim, 7);
  EXPECT_EQ(through->offset, 2);
  EXPECT_EQ(through->strides, (std::vector<int64_t>{1, 0}));
  // A diagonal walks along two dimensions at once, which merge where the source is contiguous.
  View diagonal{3, 0, {4}, {7}, {}};
  EXPECT_FALSE(Compose(diagonal, inner));
}

TEST(View, SplitIntoAxesCutsAndMerges) {
  auto axes = SplitIntoAxes(ContiguousView(0, {2, 3, 4}), {6, 4});
  ASSERT_TRUE(axes);
  EXPECT_EQ((*axes)[0], (std::vector<Digit>{{6, 4}}));
  EXPECT_EQ((*axes)[1], (std::vector<Digit>{{4, 1}}));
  EXPECT_EQ((*SplitIntoAxes(ContiguousView(0, {24}), {6, 4}))[0], (std::vector<Digit>{{6, 4}}));
  EXPECT_FALSE(SplitIntoAxes(ContiguousView(0, {3, 8}), {4, 6}));
}

TEST(TensorText, SaysWhichPartItIs) {
  const std::vector<int64_t> sizes = {12, 16, 7};
  const auto text = [&](const View& view) { return TensorText("x", sizes, view); };
  const View whole = ContiguousView(0, sizes);
  EXPECT_EQ(text(Select(whole, 2, 0)), "x[:, :, 0]");
  EXPECT_EQ(text(Slice(Select(whole, 1, 3), 0, 2, 4, 1)), "x[2:6, 3]");
  EXPECT_EQ(text(Slice(whole, 1, 5, 1, 1)), "x[:, 5:6]");
  EXPECT_EQ(text(Slice(whole, 0, 8, 2, 1)), "x[8:10]");
  EXPECT_EQ(text(Slice(whole, 2, 1, 3, 2)), "x.as_strided((12, 16, 3), (112, 7, 2), 1)");
  EXPECT_EQ(text(Select(Permute(whole, {1, 0, 2}), 2, 6)), "x.as_strided((16, 12), (7, 112), 6)");
}

TEST(View, DimensionsThatPassBordersAreCutThere) {
  // A 2×3×4 value that was copied from a permuted one, read as 2×12 and as 6×4.
  View inner = Permute(ContiguousView(7, {3, 2, 4}), {1, 0, 2});
  View rows = ContiguousView(3, {2, 12}), pairs = ContiguousView(3, {6, 4});
  EXPECT_TRUE(Compose(rows, inner) == std::nullopt && Compose(pairs, inner) == std::nullopt);
  EXPECT_EQ(Compose(SplitAlong(rows, inner), inner)->strides, (std::vector<int64_t>{4, 8, 1}));
  const View cut = SplitAlong(pairs, inner);
  EXPECT_EQ(cut.sizes, (std::vector<int64_t>{2, 3, 4}));
  EXPECT_EQ(Compose(cut, inner)->strides, (std::vector<int64_t>{4, 8, 1}));
  EXPECT_EQ(SplitAlong(rows, ContiguousView(7, {24})), rows);
}

}  // namespace
}  // namespace tritogen::teach
