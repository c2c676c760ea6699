// Hints about lanes that a compiler would act on.
#include "tile/launch_test_util.h"

namespace tritogen::tile {
namespace {

constexpr std::string_view kParameters =
    "%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %y: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32, "
    "%w: i32 {tt.divisibility = 16 : i32}";

// Loads 16 numbers at (i + n) % w from x, with these hints, and stores them.
std::string Wrapped(const std::string& hints, const std::string& stride = "") {
  std::string body = R"(
    %i = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %ns = tt.splat %n : i32 -> tensor<16xi32>
    %ws = tt.splat %w : i32 -> tensor<16xi32>
    %sum = arith.addi %i, %ns : tensor<16xi32>
    %at = arith.remsi %sum, %ws )" +
                     hints + R"( : tensor<16xi32>
    STRIDE
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    %px = tt.addptr %xs, %to : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    %v = tt.load %px : tensor<16x!tt.ptr<f32>>
    %ys = tt.splat %y : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    %py = tt.addptr %ys, %i : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    tt.store %py, %v : tensor<16x!tt.ptr<f32>>)";
  const std::string strided = stride.empty() ? "%c = arith.constant dense<0> : tensor<16xi32>\n"
                                               "    %to = arith.addi %at, %c : tensor<16xi32>"
                                             : "%c = arith.constant dense<" + stride +
                                                   "> : tensor<16xi32>\n"
                                                   "    %to = arith.muli %at, %c : tensor<16xi32>";
  return body.replace(body.find("STRIDE"), 6, strided);
}

constexpr char kBoth[] =
    "{tt.contiguity = dense<16> : tensor<1xi32>, tt.divisibility = dense<16> : tensor<1xi32>}";
constexpr char kContiguity[] = "{tt.contiguity = dense<16> : tensor<1xi32>}";

LaunchReport RunBody(const std::string& body, int n) {
  std::vector<float> x(64, 1), y(16);
  TestLaunch launch(Kernel(kParameters, body));
  return launch.Pointer(x, "x").Pointer(y, "y", false).Int(n).Int(16).Run();
}

void ExpectFalse(const LaunchReport& report) {
  ASSERT_FALSE(report.faults.empty());
  EXPECT_EQ(report.faults[0].kind, FaultKind::kUndefinedBehaviour) << report.faults[0].message;
  EXPECT_NE(report.faults[0].message.find("max_contiguous"), std::string::npos) << report.faults[0].message;
}

TEST(Hints, WhatIsTrueOfEachVectorIsTrueEnough) {
  EXPECT_TRUE(RunBody(Wrapped(""), 3).faults.empty());
  EXPECT_TRUE(RunBody(Wrapped(kBoth), 0).faults.empty());
  EXPECT_TRUE(RunBody(Wrapped(kBoth), 8).faults.empty());  // wraps between two vectors
}

TEST(Hints, LanesThatDoNotFollowEachOther) {
  ExpectFalse(RunBody(Wrapped(kBoth), 14));
}

TEST(Hints, LanesThatBeginElsewhere) {
  ExpectFalse(RunBody(Wrapped(kBoth), 1));
}

TEST(Hints, FalseOnesThatNoCompilerUses) {
  EXPECT_TRUE(RunBody(Wrapped(kContiguity), 14).faults.empty());  // they may begin anywhere
  EXPECT_TRUE(RunBody(Wrapped(kBoth, "3"), 14).faults.empty());   // rows of a matrix
}

TEST(Hints, MaskSaidToBeAlike) {
  const auto masked = [](const std::string& hints) {
    return R"(
    %i = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %ns = tt.splat %n : i32 -> tensor<16xi32>
    %m = arith.cmpi slt, %i, %ns )" +
           hints + R"( : tensor<16xi32>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    %px = tt.addptr %xs, %i : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    %v = tt.load %px, %m : tensor<16x!tt.ptr<f32>>
    %ys = tt.splat %y : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    %py = tt.addptr %ys, %i : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    tt.store %py, %v, %m : tensor<16x!tt.ptr<f32>>)";
  };
  EXPECT_TRUE(RunBody(masked(""), 7).faults.empty());
  EXPECT_TRUE(RunBody(masked("{tt.constancy = dense<16> : tensor<1xi32>}"), 8).faults.empty());
  ExpectFalse(RunBody(masked("{tt.constancy = dense<16> : tensor<1xi32>}"), 7));
}

}  // namespace
}  // namespace tritogen::tile
