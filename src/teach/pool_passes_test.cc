#include "teach/pool_passes.h"

#include <gtest/gtest.h>

#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

struct Pool {
  std::string op;
  std::vector<int64_t> in, out, size, step, padding;
  Dtype dtype = Dtype::kFloat32;
};

Program Pooled(const Pool& pool) {
  Maker m;
  const NodeId x = m.Leaf(NodeKind::kInput, "x", pool.in, pool.dtype);
  return m.Finish(m.Op("aten::" + pool.op, {Ref(x), Ints(pool.size), Ints(pool.step), Ints(pool.padding)},
                       pool.out, pool.dtype));
}

size_t Kernels(const Pool& pool) {
  return Groups(Pooled(pool)).size();
}

// What reductions make, in their order.
std::vector<std::pair<std::vector<int64_t>, Dtype>> Made(const Pool& pool) {
  std::vector<std::pair<std::vector<int64_t>, Dtype>> made;
  const Graph graph = *Lower(Pooled(pool), {});
  for (const Prim& prim : graph.prims) {
    if (prim.kind == PrimKind::kReduce) made.emplace_back(prim.sizes, prim.dtype);
  }
  return made;
}

const Pool kLarge{"max_pool2d", {16, 128, 40, 40}, {16, 128, 40, 40}, {13, 13}, {1, 1}, {6, 6}};
const Pool kLargeSteps{"avg_pool2d", {8, 32, 512, 512}, {8, 32, 168, 168}, {11, 11}, {3, 3}, {0, 0}};

TEST(PoolPasses, LargeWindowsAreTakenDimensionByDimension) {
  EXPECT_EQ(Kernels(kLarge), 2u);
  EXPECT_EQ(Kernels(kLargeSteps), 2u);
  EXPECT_EQ(Kernels({"avg_pool2d", {16, 64, 512, 512}, {16, 64, 46, 46}, {11, 11}, {11, 11}, {0, 0}}), 2u);
  EXPECT_EQ(
      Kernels({"avg_pool3d", {2, 16, 64, 64, 64}, {2, 16, 64, 64, 64}, {5, 5, 5}, {1, 1, 1}, {2, 2, 2}}), 3u);
}

// Steps of 2 leave little to share: each further result between passes costs more than it saves.
TEST(PoolPasses, APassTakesSeveralDimensionsWhereThatIsCheaper) {
  const Pool steps{"max_pool3d", {4, 32, 64, 64, 64}, {4, 32, 32, 32, 32}, {5, 5, 5}, {2, 2, 2}, {2, 2, 2}};
  EXPECT_EQ(Kernels(steps), 2u);
  EXPECT_EQ(Made(steps)[0].first, (std::vector<int64_t>{4, 32, 32, 32, 64}));
}

TEST(PoolPasses, SmallWindowsAreTakenAtOnce) {
  EXPECT_EQ(Kernels({"avg_pool2d", {16, 64, 256, 256}, {16, 64, 256, 256}, {3, 3}, {1, 1}, {1, 1}}), 1u);
  EXPECT_EQ(Kernels({"avg_pool2d", {64, 512, 56, 56}, {64, 512, 7, 7}, {8, 8}, {8, 8}, {0, 0}}), 1u)
      << "no element is shared";
  EXPECT_EQ(
      Kernels({"avg_pool3d", {16, 32, 64, 64, 64}, {16, 32, 32, 32, 32}, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}}),
      1u);
  EXPECT_EQ(Kernels({"max_pool2d", {16, 128, 40, 40}, {16, 128, 40, 40}, {1, 25}, {1, 1}, {0, 12}}), 1u)
      << "of one dimension";
}

TEST(PoolPasses, SmallTensorsAreNotWorthALaunch) {
  Pool small = kLarge;
  small.in = small.out = {1, 2, 40, 40};
  EXPECT_EQ(Kernels(small), 1u);
}

TEST(PoolPasses, PlacesAreToldOfWholeWindows) {
  Program program = Pooled(kLarge);
  program.nodes.back().op = "aten::max_pool2d_with_indices";
  program.nodes.back().results.push_back({Dtype::kInt64, kLarge.out});
  program.outputs.push_back({program.outputs[0].id, 1});
  EXPECT_EQ(Groups(program).size(), 1u);
}

// Windows a step apart are read best where there are few of them: lines are joined before.
TEST(PoolPasses, StepsAlongLinesComeLast) {
  EXPECT_EQ(Made(kLargeSteps)[0].first, (std::vector<int64_t>{8, 32, 168, 512}));
}

TEST(PoolPasses, SumsBetweenPassesAreNotRounded) {
  Pool halves = kLargeSteps;
  halves.dtype = Dtype::kFloat16;
  const auto made = Made(halves);
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made[0].second, Dtype::kFloat32);
}

TEST(PoolPasses, EachPassTakesItsWindowsElementByElement) {
  for (const Pool& pool : {kLarge, kLargeSteps}) {
    const auto answers = TeachFunction(Pooled(pool), true);
    ASSERT_FALSE(answers.empty());
    EXPECT_EQ(CountOf(answers[0].source, "in tl.static_range("), 2) << answers[0].source;
  }
}

}  // namespace
}  // namespace tritogen::teach
