// One test per family of operations that Triton's interpreter cannot vouch for (tests/agreement.py has the
// rest).
#include <cmath>
#include <fstream>
#include <iterator>

#include "tile/lanes/lanes.h"
#include "tile/launch_test_util.h"

namespace tritogen::tile {
namespace {

std::string Golden(const std::string& name) {
  std::ifstream file(std::string(TRITOGEN_SOURCE_DIR) + "/tests/golden/ttir/" + name + ".ttir");
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr std::string_view kXY = "%x: !tt.ptr<f32>, %y: !tt.ptr<f32>";
constexpr std::string_view kXYInt = "%x: !tt.ptr<i32>, %y: !tt.ptr<i32>";

// y = body(x) for 16 floats: the body reads %v and defines %w.
std::vector<float> Map(const std::vector<float>& values, const std::string& body) {
  std::vector<float> x = values, y(16);
  TestLaunch launch(Kernel(kXY, RangeBody("f32") + "    %v = tt.load %px : tensor<16x!tt.ptr<f32>>\n" + body +
                                    "\n    tt.store %py, %w : tensor<16x!tt.ptr<f32>>"));
  EXPECT_EQ(FirstFault(launch.Pointer(x, "x").Pointer(y, "y").Run()), "");
  return y;
}
std::vector<int32_t> MapInts(const std::vector<int32_t>& values, const std::string& body) {
  std::vector<int32_t> x = values, y(16);
  TestLaunch launch(Kernel(kXYInt, RangeBody("i32") + "    %v = tt.load %px : tensor<16x!tt.ptr<i32>>\n" +
                                       body + "\n    tt.store %py, %w : tensor<16x!tt.ptr<i32>>"));
  EXPECT_EQ(FirstFault(launch.Pointer(x, "x").Pointer(y, "y").Run()), "");
  return y;
}

const std::vector<float> kFloats{3, -1, 4, -1.5, 5, 9, -2, 6, 5, 3, -5, 8, 9, 7, -9, 0.5};
const std::vector<int32_t> kInts{3, -1, 4, -1, 5, 9, -2, 6, 5, 3, -5, 8, 9, 7, -9, 0};

// Several operands, and a combine that no lane kernel knows: index of the largest, the lower one of equals.
TEST(Reduce, SeveralOperandsAlongEachAxis) {
  const std::string combine = R"( ({
    ^bb0(%a: i32, %i: i32, %b: i32, %j: i32):
      %eq = arith.cmpi eq, %a, %b : i32
      %lo = arith.cmpi slt, %i, %j : i32
      %tie = arith.andi %eq, %lo : i1
      %gt = arith.cmpi sgt, %a, %b : i32
      %left = arith.ori %gt, %tie : i1
      %m = arith.select %left, %a, %b : i32
      %n = arith.select %left, %i, %j : i32
      tt.reduce.return %m, %n : i32, i32
    }) : (tensor<4x4xi32>, tensor<4x4xi32>) -> (tensor<4xi32>, tensor<4xi32>)
    %i4 = tt.expand_dims %best#1 {axis = 1 : i32} : tensor<4xi32> -> tensor<4x1xi32>
    %i44 = tt.broadcast %i4 : tensor<4x1xi32> -> tensor<4x4xi32>
    %w = tt.reshape %i44 : tensor<4x4xi32> -> tensor<16xi32>)";
  const std::string tiles = R"(
    %v2 = tt.reshape %v : tensor<16xi32> -> tensor<4x4xi32>
    %l2 = tt.reshape %lane : tensor<16xi32> -> tensor<4x4xi32>
)";
  const std::vector<int32_t> columns =
      MapInts(kInts, tiles + "    %best:2 = \"tt.reduce\"(%v2, %l2) <{axis = 0 : i32}>" + combine);
  const std::vector<int32_t> rows =
      MapInts(kInts, tiles + "    %best:2 = \"tt.reduce\"(%v2, %l2) <{axis = 1 : i32}>" + combine);
  for (int k = 0; k < 4; ++k) {
    int column = k, row = 4 * k;
    for (int m = 1; m < 4; ++m) {
      if (kInts[4 * m + k] > kInts[column]) column = 4 * m + k;
      if (kInts[4 * k + m] > kInts[row]) row = 4 * k + m;
    }
    EXPECT_EQ(columns[4 * k], column);
    EXPECT_EQ(rows[4 * k], row);
  }
}

TEST(Reduce, BranchesAndCapturedValuesInTheCombine) {
  const std::vector<float> y = Map(kFloats, R"(
    %limit = arith.constant 4.000000e+00 : f32
    %s = "tt.reduce"(%v) <{axis = 0 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %big = arith.cmpf ogt, %b, %limit : f32
      %q = scf.if %big -> (f32) {
        %m = arith.maxnumf %a, %b : f32
        scf.yield %m : f32
      } else {
        %n = arith.maxnumf %a, %limit : f32
        scf.yield %n : f32
      }
      tt.reduce.return %q : f32
    }) : (tensor<16xf32>) -> f32
    %w = tt.splat %s : f32 -> tensor<16xf32>)");
  EXPECT_EQ(y[0], 9);
}

// Combine functions that return in branches are functions that are called.
TEST(Reduce, ReturnsInBranchesOfTheCombine) {
  TestLaunch launch(Golden("combine_with_returns"));
  std::vector<float> x(256), y(272);
  std::vector<int32_t> indices(16);
  for (int i = 0; i < 256; ++i) x[i] = static_cast<float>(i * 7 % 5);
  EXPECT_EQ(FirstFault(launch.Pointer(x, "x").Pointer(y, "y", false).Pointer(indices, "i", false).Run()), "");
  for (int row = 0; row < 16; ++row) {
    const auto first = x.begin() + 16 * row, best = std::max_element(first, first + 16);
    EXPECT_EQ(y[row], *best);
    EXPECT_EQ(indices[row], best - first);
    for (int i = 0; i < 16; ++i)
      EXPECT_EQ(y[16 + 16 * row + i], *std::max_element(first, first + i + 1)) << row << ", " << i;
  }
}

// a[i] * carry + b[i] from the right: not commutative.
TEST(Scan, LinearRecurrenceInReverse) {
  const std::vector<float> y = Map(kFloats, R"(
    %half = arith.constant dense<5.000000e-01> : tensor<16xf32>
    %s:2 = "tt.scan"(%half, %v) <{axis = 0 : i32, reverse = true}> ({
    ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
      %ac = arith.mulf %a, %c : f32
      %cb = arith.mulf %c, %b : f32
      %q = arith.addf %cb, %d : f32
      tt.scan.return %ac, %q : f32, f32
    }) : (tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
    %w = arith.addf %s#1, %s#1 : tensor<16xf32>)");
  double carry = 0;
  for (int i = 15; i >= 0; --i) {
    carry = 0.5 * carry + kFloats[i];
    EXPECT_NEAR(y[i], 2 * carry, 1e-4) << i;
  }
}

TEST(MapElementwise, SampleWithBranchesAndPacks) {
  TestLaunch launch(Golden("map_elements"));
  std::vector<float> x(64), y(64), z(256);
  for (int i = 0; i < 64; ++i) x[i] = static_cast<float>(i % 9) - 4, y[i] = static_cast<float>(i % 5) - 2;
  EXPECT_EQ(FirstFault(launch.Pointer(x, "x").Pointer(y, "y").Pointer(z, "z").Run()), "");
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(z[i], std::max(x[i], y[i]));
    EXPECT_EQ(z[64 + i], x[i] + y[i]);
    EXPECT_EQ(z[128 + i], std::abs(x[i]));
    EXPECT_EQ(z[192 + i], x[i] + y[i]);
  }
}

// Branches of a map stay in its region.
TEST(MapElementwise, ReturnsInBranches) {
  TestLaunch launch(Golden("map_with_returns"));
  std::vector<float> x(64), y(64);
  std::vector<int32_t> which(64);
  for (int i = 0; i < 64; ++i) x[i] = static_cast<float>(i * 5 % 9) - 4;
  launch.Pointer(x, "x").Pointer(y, "y", false).Pointer(which, "i", false).Float(0.5);
  EXPECT_EQ(FirstFault(launch.Run()), "");
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(which[i], x[i] > 0 ? 1 : x[i] < -2 ? 2 : 3) << x[i];
    EXPECT_EQ(y[i], x[i] > 0 ? x[i] * 2 : x[i] < -2 ? x[i] : x[i] * 0.5f) << x[i];
  }
}

// A loop whose trips differ from lane to lane.
TEST(MapElementwise, LoopsRunLaneByLane) {
  const std::vector<int32_t> y = MapInts(kInts, R"(
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %w = "tt.map_elementwise"(%v) <{pack = 1 : i32}> ({
    ^bb0(%a: i32):
      %q = scf.for %i = %c0 to %a step %c1 iter_args(%s = %c0) -> (i32)  : i32 {
        %t = arith.addi %s, %i : i32
        scf.yield %t : i32
      }
      tt.map_elementwise.return %q : i32
    }) : (tensor<16xi32>) -> tensor<16xi32>)");
  for (int i = 0; i < 16; ++i) EXPECT_EQ(y[i], kInts[i] > 0 ? kInts[i] * (kInts[i] - 1) / 2 : 0) << i;
}

constexpr std::string_view kDescriptor =
    "%d: !tt.tensordesc<tensor<4x4xf32>>, %s0: i32, %s1: i32, %t0: i64, %t1: i64, %y: !tt.ptr<f32>, %i: i32, "
    "%j: i32";

TEST(Descriptor, LoadsPadAndStoresClip) {
  for (bool pad_nan : {false, true}) {
    std::vector<float> x(6 * 8), y(16);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    TestLaunch launch(Kernel(kDescriptor, RangeBody("f32").substr(0, RangeBody("f32").find("%sx")) + R"(
    %sy = tt.splat %y : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    %py = tt.addptr %sy, %r : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    %b = tt.descriptor_load %d[%i, %j] : !tt.tensordesc<tensor<4x4xf32>> -> tensor<4x4xf32>
    %f = tt.reshape %b : tensor<4x4xf32> -> tensor<16xf32>
    tt.store %py, %f : tensor<16x!tt.ptr<f32>>
    %minus = arith.constant dense<-1.000000e+00> : tensor<4x4xf32>
    tt.descriptor_store %d[%i, %j], %minus : !tt.tensordesc<tensor<4x4xf32>>, tensor<4x4xf32>)"));
    launch.Descriptor(x, {6, 7}, pad_nan);
    // 7 columns in rows of 7: strides follow the shape.
    EXPECT_EQ(FirstFault(launch.Pointer(y, "y").Int(4).Int(-2).Run()), "");
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        const int row = 4 + i, column = j - 2;
        const bool inside = row < 6 && column >= 0;
        const float got = y[4 * i + j];
        if (inside) {
          EXPECT_EQ(got, row * 7 + column);
          EXPECT_EQ(x[row * 7 + column], -1);
        } else {
          EXPECT_TRUE(pad_nan ? std::isnan(got) : got == 0) << got;
        }
      }
    }
    EXPECT_EQ(x[4 * 7 + 2], 4 * 7 + 2);
  }
}

TEST(Descriptor, HardwareAlignmentIsAsked) {
  std::vector<float> x(64);
  TestLaunch launch(Kernel("%x: !tt.ptr<f32>", R"(
    %n = arith.constant 7 : i32
    %s = arith.constant 7 : i64
    %one = arith.constant 1 : i64
    %c0 = arith.constant 0 : i32
    %d = tt.make_tensor_descriptor %x, [%n, %n], [%s, %one] : <f32>, <tensor<4x4xf32>>
    %b = tt.descriptor_load %d[%c0, %c0] : !tt.tensordesc<tensor<4x4xf32>> -> tensor<4x4xf32>)"));
  const LaunchReport report = launch.Pointer(x, "x").Run();
  ASSERT_FALSE(report.faults.empty());
  EXPECT_EQ(report.faults[0].kind, FaultKind::kMisaligned);
}

// e2m1 packs two numbers in a byte along k, low half first; scales are powers of two, one for 32 numbers.
TEST(Dot, ScaledOperands) {
  TestLaunch launch(Golden("dot_scaled_e2m1_e4m3"));
  std::vector<uint8_t> a(32 * 32), a_scale(32 * 2), b(64 * 16), b_scale(16 * 2);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<uint8_t>(i * 37);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<uint8_t>(i * 11 % 0x70);
  for (size_t i = 0; i < a_scale.size(); ++i) a_scale[i] = static_cast<uint8_t>(125 + i % 5);
  for (size_t i = 0; i < b_scale.size(); ++i) b_scale[i] = static_cast<uint8_t>(126 + i % 3);
  std::vector<float> c(32 * 16);
  launch.Pointer(a, "a").Pointer(a_scale, "as").Pointer(b, "b").Pointer(b_scale, "bs").Pointer(c, "c", false);
  EXPECT_EQ(FirstFault(launch.Run()), "");
  const double e2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (int i = 0; i < 32; ++i) {
    for (int j = 0; j < 16; ++j) {
      double expected = 0, size = 0;
      for (int k = 0; k < 64; ++k) {
        const int bits = a[i * 32 + k / 2] >> (k % 2 * 4) & 15;
        const double x =
            (bits & 8 ? -1 : 1) * e2m1[bits & 7] * std::ldexp(1.0, a_scale[i * 2 + k / 32] - 127);
        const double y = lanes::E4M3ToFloat(b[k * 16 + j]) * std::ldexp(1.0, b_scale[j * 2 + k / 32] - 127);
        expected += x * y;
        size += std::abs(x * y);
      }
      ASSERT_NEAR(c[i * 16 + j], expected, 1e-6 * size + 1e-12) << i << "," << j;
    }
  }
}

TEST(Misc, HistogramCountsWhatTheMaskLetsThrough) {
  const std::vector<int32_t> y = MapInts(kInts, R"(
    %c0 = arith.constant dense<0> : tensor<16xi32>
    %m = arith.cmpi sge, %v, %c0 : tensor<16xi32>
    %w = tt.histogram %v, %m : tensor<16xi32> -> tensor<16xi32>)");
  std::vector<int32_t> expected(16);
  for (int32_t value : kInts) {
    if (value >= 0) ++expected[value];
  }
  EXPECT_EQ(y, expected);
}

// As kernels that are launched programmatically have it: launches follow each other here anyway.
TEST(Misc, DependentLaunchesAreInOrder) {
  std::vector<float> x{0.5f};
  const std::string wait =
      "    %0 = tt.elementwise_inline_asm \"griddepcontrol.{}; // dummy $0\" "
      "{{constraints = \"=r\", packed_element = 1 : i32, pure = false}} -> i32\n";
  const auto kernel = [&](std::string_view what) {
    return Kernel("%x: !tt.ptr<f32>", fmt::format(fmt::runtime(wait), what) + R"(
    %v = tt.load %x : !tt.ptr<f32>
    %w = arith.addf %v, %v : f32
    tt.store %x, %w : !tt.ptr<f32>)");
  };
  TestLaunch(kernel("wait")).Pointer(x, "x").Run();
  TestLaunch(kernel("launch_dependents")).Pointer(x, "x").Run();
  EXPECT_EQ(x[0], 2.0f);
  EXPECT_THROW(TestLaunch(kernel("wait.x")), TtirError);
}

TEST(Misc, PrintsAndNamedRefusals) {
  std::vector<float> x{0.5f, -2.0f};
  TestLaunch launch(Kernel("%x: !tt.ptr<f32>", R"(
    %v = tt.load %x : !tt.ptr<f32>
    %c = arith.constant dense<-1> : tensor<2xi32>
    tt.print " v: " {hex = false, isSigned = array<i32: 0>} : %v : f32
    tt.print " c: " {hex = true, isSigned = array<i32: 1>} : %c : tensor<2xi32>)"));
  EXPECT_EQ(
      launch.Pointer(x, "x").Run().printed,
      "pid (0, 0, 0) v: 0.5\npid (0, 0, 0) idx (0) c: 0xffffffff\npid (0, 0, 0) idx (1) c: 0xffffffff\n");
  for (const char* name : {"assembly"}) {
    try {
      Load(Golden(name));
      FAIL() << name;
    } catch (const TtirError& error) {
      EXPECT_TRUE(error.unsupported());
      EXPECT_NE(std::string(error.what()).find("inline assembly is not accepted"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace tritogen::tile
