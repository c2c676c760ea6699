// Atomics: what they do to memory, and in which order their lanes take effect.
#include <algorithm>
#include <numeric>
#include <set>

#include "tile/lanes/lanes.h"
#include "tile/launch_test_util.h"

namespace tritogen::tile {
namespace {

constexpr std::string_view kXY = "%x: !tt.ptr<f32>, %y: !tt.ptr<f32>";
constexpr std::string_view kXYInt = "%x: !tt.ptr<i32>, %y: !tt.ptr<i32>";

const std::vector<int32_t> kInts{3, -1, 4, -1, 5, 9, -2, 6, 5, 3, -5, 8, 9, 7, -9, 0};

int32_t Rmw(const std::string& kind, int32_t start, int32_t value, int32_t* old) {
  std::vector<int32_t> x{start}, y(1);
  TestLaunch launch(Kernel("%x: !tt.ptr<i32>, %y: !tt.ptr<i32>, %n: i32",
                           "    %true = arith.constant true\n    %o = tt.atomic_rmw " + kind +
                               ", acq_rel, gpu, %x, %n, %true : (!tt.ptr<i32>, i32, i1) -> i32\n    tt.store "
                               "%y, %o : !tt.ptr<i32>"));
  EXPECT_EQ(FirstFault(launch.Pointer(x, "x").Pointer(y, "y").Int(value).Run()), "");
  *old = y[0];
  return x[0];
}

TEST(Atomic, KindsOfIntegers) {
  const struct {
    const char* kind;
    int32_t expected;
  } cases[] = {{"add", 4},  {"and", -7 & 11}, {"or", -7 | 11}, {"xor", -7 ^ 11}, {"exch", 11},
               {"max", 11}, {"min", -7},      {"umax", -7},    {"umin", 11}};
  for (const auto& c : cases) {
    int32_t old = 0;
    EXPECT_EQ(Rmw(c.kind, -7, 11, &old), c.expected) << c.kind;
    EXPECT_EQ(old, -7) << c.kind;
  }
}

TEST(Atomic, LanesOfOneAddressTakeTurns) {
  std::vector<float> x(16, 1.0f), y(16);
  TestLaunch launch(Kernel(kXY, RangeBody("f32") + R"(
    %c4 = arith.constant dense<4> : tensor<16xi32>
    %c12 = arith.constant dense<12> : tensor<16xi32>
    %one = arith.constant dense<1.000000e+00> : tensor<16xf32>
    %zero = arith.constant dense<0.000000e+00> : tensor<16xf32>
    %bin = arith.remsi %lane, %c4 : tensor<16xi32>
    %p = tt.addptr %sx, %bin : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    %m = arith.cmpi slt, %lane, %c12 : tensor<16xi32>
    %o = tt.atomic_rmw fadd, relaxed, gpu, %p, %one, %m : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>, tensor<16xi1>) -> tensor<16xf32>
    %s = arith.select %m, %o, %zero : tensor<16xi1>, tensor<16xf32>
    tt.store %py, %s : tensor<16x!tt.ptr<f32>>)"));
  launch.options.like_a_gpu = true;  // in the order of lanes
  EXPECT_EQ(FirstFault(launch.Pointer(x, "x").Pointer(y, "y").Run()), "");
  EXPECT_EQ(std::vector<float>(x.begin(), x.begin() + 5), (std::vector<float>{4, 4, 4, 4, 1}));
  EXPECT_EQ(y, (std::vector<float>{1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 0, 0, 0, 0}));
}

TEST(Atomic, HalfPrecisionRoundsEachSum) {
  for (const char* elem : {"f16", "bf16"}) {
    const bool half = std::string(elem) == "f16";
    const auto bits = half ? lanes::FloatToHalf : lanes::FloatToBFloat;
    std::vector<uint16_t> x{bits(256.0f)};
    const std::string t = elem;
    TestLaunch launch(Kernel("%x: !tt.ptr<" + t + ">",
                             "    %true = arith.constant true\n    %c = arith.constant 5.000000e-01 : " + t +
                                 "\n    %o = tt.atomic_rmw fadd, relaxed, gpu, %x, %c, %true : (!tt.ptr<" +
                                 t + ">, " + t + ", i1) -> " + t));
    EXPECT_EQ(FirstFault(launch.Pointer(x, "x").Run(4)), "");
    EXPECT_EQ(x[0], bits(half ? 258.0f : 256.0f)) << elem;
  }
}

TEST(Atomic, CompareAndSwapOnTiles) {
  std::vector<int32_t> x = kInts, y(16);
  TestLaunch launch(Kernel(kXYInt, RangeBody("i32") + R"(
    %c5 = arith.constant dense<5> : tensor<16xi32>
    %c100 = arith.constant dense<100> : tensor<16xi32>
    %o = tt.atomic_cas acq_rel, gpu, %px, %c5, %c100 : (tensor<16x!tt.ptr<i32>>, tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    tt.store %py, %o : tensor<16x!tt.ptr<i32>>)"));
  EXPECT_EQ(FirstFault(launch.Pointer(x, "x").Pointer(y, "y").Run()), "");
  EXPECT_EQ(y, kInts);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(x[i], kInts[i] == 5 ? 100 : kInts[i]);
}

// All lanes of %r on x[0]: y = what an atomic of this text returns, or y untouched where it is not stored.
struct OnePlace {
  std::vector<int32_t> x{std::vector<int32_t>(1)}, y{std::vector<int32_t>(64)};
};
OnePlace OnOnePlace(const std::string& atomic, bool stored, uint64_t seed, int threads,
                    bool like_a_gpu = false) {
  TestLaunch launch(
      Kernel(kXYInt, RangeBody("i32") + R"(
    %one = arith.constant dense<1> : tensor<16xi32>
    %zero = arith.constant dense<0> : tensor<16xi32>
    %next = arith.addi %lane, %one : tensor<16xi32>
    %few = arith.constant dense<12> : tensor<16xi32>
    %m = arith.cmpi slt, %lane, %few : tensor<16xi32>
    %o = )" + atomic + " -> tensor<16xi32>" +
                         (stored ? "\n    tt.store %py, %o, %m : tensor<16x!tt.ptr<i32>>" : "")));
  OnePlace place;
  launch.options.like_a_gpu = like_a_gpu;
  launch.Pointer(place.x, "x").Pointer(place.y, "y");
  EXPECT_EQ(FirstFault(launch.Run(stored ? 1 : 4, seed, threads)), "");
  return place;
}
const std::string kTypes = " : (tensor<16x!tt.ptr<i32>>, tensor<16xi32>, tensor<16xi1>)";

TEST(Order, OfLanesThatLookIsTheSeeds) {
  const std::string count = "tt.atomic_rmw add, relaxed, gpu, %sx, %one, %m" + kTypes;
  std::vector<int32_t> ranks(12), sorted;
  std::iota(ranks.begin(), ranks.end(), 0);
  std::set<std::vector<int32_t>> orders;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const OnePlace place = OnOnePlace(count, true, seed, 1);
    sorted.assign(place.y.begin(), place.y.begin() + 12);
    orders.insert(sorted);
    EXPECT_EQ(OnOnePlace(count, true, seed, 4).y, place.y);
    EXPECT_EQ(place.x[0], 12);
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, ranks);
  }
  EXPECT_EQ(orders.size(), 8u);
  const OnePlace place = OnOnePlace(count, true, 3, 1, /*like_a_gpu=*/true);
  EXPECT_TRUE(std::equal(ranks.begin(), ranks.end(), place.y.begin()));
}

// What stays is what came last, or first, although nobody reads a result.
TEST(Order, OfLanesThatWinIsTheSeeds) {
  const std::string exchange = "tt.atomic_rmw exch, relaxed, gpu, %sx, %lane, %m" + kTypes;
  const std::string swap =
      "tt.atomic_cas relaxed, gpu, %sx, %zero, %next : (tensor<16x!tt.ptr<i32>>, tensor<16xi32>, "
      "tensor<16xi32>)";
  for (const std::string& atomic : {exchange, swap}) {
    SCOPED_TRACE(atomic);
    std::set<int32_t> winners;
    for (uint64_t seed = 0; seed < 12; ++seed) winners.insert(OnOnePlace(atomic, false, seed, 1).x[0]);
    EXPECT_GT(winners.size(), 2u);
  }
}

// Neighbours have places of their own: each lane finds what was there.
TEST(Order, OfNeighboursChangesNothing) {
  std::vector<int32_t> x = kInts, y(16);
  TestLaunch launch(Kernel(kXYInt, RangeBody("i32") + R"(
    %o = tt.atomic_rmw exch, relaxed, gpu, %px, %lane : (tensor<16x!tt.ptr<i32>>, tensor<16xi32>) -> tensor<16xi32>
    tt.store %py, %o : tensor<16x!tt.ptr<i32>>)"));
  EXPECT_EQ(FirstFault(launch.Pointer(x, "x").Pointer(y, "y").Run(1, 5)), "");
  EXPECT_EQ(y, kInts);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(x[i], i);
}

}  // namespace
}  // namespace tritogen::tile
