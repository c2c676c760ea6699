// Every memory fault, planted, and named.
#include "tile/launch_test_util.h"

namespace tritogen::tile {
namespace {

constexpr std::string_view kXY = "%x: !tt.ptr<f32>, %y: !tt.ptr<f32>";
constexpr std::string_view kCopy = R"(
    %v = tt.load %px : tensor<16x!tt.ptr<f32>>
    tt.store %py, %v : tensor<16x!tt.ptr<f32>>)";

// Runs a kernel over x and y; expects exactly this fault.
void ExpectFault(const LaunchReport& report, FaultKind kind, const std::vector<std::string>& words) {
  ASSERT_FALSE(report.faults.empty());
  EXPECT_EQ(report.faults[0].kind, kind) << report.faults[0].message;
  for (const std::string& word : words) {
    EXPECT_NE(report.faults[0].message.find(word), std::string::npos)
        << "'" << word << "' in: " << report.faults[0].message;
  }
}

LaunchReport RunXY(const std::string& body, size_t x_size, size_t y_size, bool x_defined = true,
                   int64_t programs = 1) {
  std::vector<float> x(x_size, 1.0f), y(y_size, -1.0f);
  TestLaunch launch(Kernel(kXY, body));
  return launch.Pointer(x, "input 0", x_defined).Pointer(y, "output 0", false).Run(programs);
}

TEST(Bounds, StoreOnePastTheEnd) {
  const LaunchReport report = RunXY(RangeBody("f32") + std::string(kCopy), 64, 63, true, 4);
  ExpectFault(report, FaultKind::kOutOfBounds,
              {"store in `kernel` line", "program (3,0,0)", "4 bytes at offset 252 of 'output 0' (252 bytes)",
               "one element past the end"});
  EXPECT_EQ(report.faults[0].buffer, "output 0");
  EXPECT_EQ(report.faults[0].offset, 252);
  EXPECT_EQ(report.faults[0].program, (std::array<int64_t, 3>{3, 0, 0}));
}

TEST(Bounds, UnmaskedTailOfALoad) {
  ExpectFault(RunXY(RangeBody("f32") + std::string(kCopy), 10, 16), FaultKind::kOutOfBounds,
              {"load", "offset 40 of 'input 0'"});
}

TEST(Bounds, NegativeOffset) {
  ExpectFault(RunXY(R"(
    %c = arith.constant -2 : i32
    %p = tt.addptr %x, %c : !tt.ptr<f32>, i32
    %v = tt.load %p : !tt.ptr<f32>
    tt.store %y, %v : !tt.ptr<f32>)",
                    16, 16),
              FaultKind::kOutOfBounds, {"offset -8 of 'input 0'", "2 elements before the start"});
}

TEST(Bounds, HugeOffsetsNeverReachAnotherBuffer) {
  for (const char* offset : {"70368744177664", "140737488355328", "4611686018427387903", "-70368744177664",
                             "-9223372036854775807"}) {
    const std::string body = "    %c = arith.constant " + std::string(offset) + R"( : i64
    %p = tt.addptr %x, %c : !tt.ptr<f32>, i64
    %v = tt.load %p : !tt.ptr<f32>
    tt.store %y, %v : !tt.ptr<f32>)";
    ExpectFault(RunXY(body, 16, 16), FaultKind::kOutOfBounds, {"load"});
  }
}

TEST(Bounds, NullAndInventedPointers) {
  for (const char* address : {"0", "4096", "-1"}) {
    const std::string body = "    %c = arith.constant " + std::string(address) + R"( : i64
    %p = tt.int_to_ptr %c : i64 -> !tt.ptr<f32>
    %v = tt.load %p : !tt.ptr<f32>
    tt.store %y, %v : !tt.ptr<f32>)";
    ExpectFault(RunXY(body, 16, 16), FaultKind::kOutOfBounds, {"load"});
  }
}

TEST(Bounds, PointersSurviveTheWayThroughIntegers) {
  const LaunchReport report = RunXY(R"(
    %c8 = arith.constant 8 : i64
    %i = tt.ptr_to_int %x : !tt.ptr<f32> -> i64
    %j = arith.addi %i, %c8 : i64
    %p = tt.int_to_ptr %j : i64 -> !tt.ptr<f32>
    %v = tt.load %p : !tt.ptr<f32>
    tt.store %y, %v : !tt.ptr<f32>)",
                                    16, 16);
  EXPECT_EQ(FirstFault(report), "");
}

TEST(Bounds, LanesThatAreOffAreNotTouched) {
  const LaunchReport report = RunXY(RangeBody("f32") + R"(
    %c3 = arith.constant dense<3> : tensor<16xi32>
    %zero = arith.constant dense<0.000000e+00> : tensor<16xf32>
    %m = arith.cmpi slt, %lane, %c3 : tensor<16xi32>
    %v = tt.load %px, %m, %zero : tensor<16x!tt.ptr<f32>>
    tt.store %py, %v, %m : tensor<16x!tt.ptr<f32>>)",
                                    3, 3);
  EXPECT_EQ(FirstFault(report), "");
}

TEST(Bounds, ScatteredLanes) {
  const std::string body = RangeBody("f32") + R"(
    %c5 = arith.constant dense<5> : tensor<16xi32>
    %far = arith.muli %lane, %c5 : tensor<16xi32>
    %p = tt.addptr %sx, %far : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    %v = tt.load %p : tensor<16x!tt.ptr<f32>>
    tt.store %py, %v : tensor<16x!tt.ptr<f32>>)";
  EXPECT_EQ(FirstFault(RunXY(body, 76, 16)), "");
  ExpectFault(RunXY(body, 75, 16), FaultKind::kOutOfBounds,
              {"offset 300 of 'input 0'", "one element past the end"});
}

TEST(Alignment, ViewsMustBeMultiplesOfTheElement) {
  std::vector<float> x(17, 1.0f), y(16);
  TestLaunch launch(Kernel(kXY, RangeBody("f32") + std::string(kCopy)));
  launch.Pointer(x, "input 0", true, 2).Pointer(y, "output 0");
  ExpectFault(launch.Run(), FaultKind::kMisaligned,
              {"4 bytes at offset 2 of 'input 0'", "not a multiple of 4"});
}

TEST(Defined, ReadOfAnOutputNobodyWrote) {
  ExpectFault(RunXY(RangeBody("f32") + std::string(kCopy), 16, 16, false), FaultKind::kUndefinedRead,
              {"load", "offset 0 of 'input 0'", "nobody has written"});
}

TEST(Defined, OwnWritesMayBeReadBack) {
  const LaunchReport report = RunXY(RangeBody("f32") + R"(
    %v = tt.load %px : tensor<16x!tt.ptr<f32>>
    tt.store %py, %v : tensor<16x!tt.ptr<f32>>
    %w = tt.load %py : tensor<16x!tt.ptr<f32>>
    %s = arith.addf %w, %v : tensor<16xf32>
    tt.store %py, %s : tensor<16x!tt.ptr<f32>>)",
                                    64, 64, true, 4);
  EXPECT_EQ(FirstFault(report), "");
}

TEST(Defined, MaskedLanesWithoutOtherMustNotBeStored) {
  const std::string load = RangeBody("f32") + R"(
    %c3 = arith.constant dense<3> : tensor<16xi32>
    %two = arith.constant dense<2.000000e+00> : tensor<16xf32>
    %m = arith.cmpi slt, %lane, %c3 : tensor<16xi32>
    %v = tt.load %px, %m : tensor<16x!tt.ptr<f32>>
    %w = arith.mulf %v, %two : tensor<16xf32>
)";
  EXPECT_EQ(FirstFault(RunXY(load + "    tt.store %py, %w, %m : tensor<16x!tt.ptr<f32>>", 16, 16)), "");
  ExpectFault(RunXY(load + "    tt.store %py, %w : tensor<16x!tt.ptr<f32>>", 16, 16),
              FaultKind::kUndefinedBehaviour, {"lane 3", "without `other`"});
}

TEST(Undefined, LoopStepMustBePositive) {
  for (int64_t step : {0, -1}) {
    TestLaunch launch(Kernel("%x: !tt.ptr<i32>, %n: i32", R"(
    %c0 = arith.constant 0 : i32
    %c9 = arith.constant 9 : i32
    scf.for %i = %c0 to %c9 step %n  : i32 {
      tt.store %x, %i : !tt.ptr<i32>
    })"));
    std::vector<int32_t> x(1);
    ExpectFault(launch.Pointer(x, "x").Int(step).Run(), FaultKind::kUndefinedBehaviour,
                {"the step of a loop is " + std::to_string(step)});
  }
}

TEST(Undefined, GatherAndHistogramOutOfRange) {
  const std::string gather = RangeBody("f32") + R"(
    %c1 = arith.constant dense<1> : tensor<16xi32>
    %v = tt.load %px : tensor<16x!tt.ptr<f32>>
    %i = arith.addi %lane, %c1 : tensor<16xi32>
    %g = tt.gather %v[%i] {axis = 0 : i32} : (tensor<16xf32>, tensor<16xi32>) -> tensor<16xf32>
    tt.store %py, %g : tensor<16x!tt.ptr<f32>>)";
  ExpectFault(RunXY(gather, 16, 16), FaultKind::kUndefinedBehaviour, {"lane 15 gathers index 16 of 16"});
  const std::string histogram =
      RangeBody("f32") + "    %h = tt.histogram %lane : tensor<16xi32> -> tensor<8xi32>";
  ExpectFault(RunXY(histogram, 16, 16), FaultKind::kUndefinedBehaviour, {"value 8", "8 bins"});
}

TEST(Undefined, AssertsCarryTheirText) {
  const std::string body = RangeBody("f32") + R"(
    %c9 = arith.constant dense<9> : tensor<16xi32>
    %m = arith.cmpi slt, %lane, %c9 : tensor<16xi32>
    tt.assert %m, "lane is small" : tensor<16xi1>)";
  ExpectFault(RunXY(body, 16, 16), FaultKind::kAssert, {"\"lane is small\"", "lane 9"});
}

TEST(Undefined, BrokenPromisesAreFaults) {
  auto kernel = [](int most) {
    return Kernel("%y: !tt.ptr<i32>, %n: i32", fmt::format(R"(
    %most = arith.constant {} : i32
    %ok = arith.cmpi slt, %n, %most : i32
    llvm.intr.assume %ok : i1
    tt.store %y, %n : !tt.ptr<i32>)",
                                                           most));
  };
  std::vector<int32_t> y(1);
  TestLaunch kept(kernel(11)), broken(kernel(10));
  EXPECT_TRUE(kept.Pointer(y, "y").Int(10).Run().faults.empty());
  ExpectFault(broken.Pointer(y, "y").Int(10).Run(), FaultKind::kUndefinedBehaviour, {"tl.assume"});
}

TEST(Undefined, LanesCanBeZero) {
  // %v of %n < 0 is undefined; what it is becomes visible as an integer.
  TestLaunch launch(Kernel("%x: !tt.ptr<i32>, %y: !tt.ptr<i32>, %n: i32", R"(
    %zero = arith.constant 0 : i32
    %never = arith.cmpi slt, %n, %zero : i32
    %v = tt.load %x, %never : !tt.ptr<i32>
    tt.store %y, %v : !tt.ptr<i32>)"));
  std::vector<int32_t> x(1, 3), y(1);
  launch.Pointer(x, "x").Pointer(y, "y").Int(1);
  EXPECT_TRUE(launch.Run().faults.empty());
  EXPECT_EQ(y[0], 0x5A5A5A5A);
  launch.options.like_a_gpu = true;
  EXPECT_TRUE(launch.Run().faults.empty());
  EXPECT_EQ(y[0], 0);
}

TEST(Deadline, EndlessLoopTimesOut) {
  TestLaunch launch(Kernel("%y: !tt.ptr<i32>, %n: i32", R"(
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %r = scf.while (%a = %c0) : (i32) -> i32 {
      %go = arith.cmpi sge, %a, %c0 : i32
      scf.condition(%go) %a : i32
    } do {
    ^bb0(%a: i32):
      %b = arith.addi %a, %c1 : i32
      %d = arith.remsi %b, %n : i32
      scf.yield %d : i32
    }
    tt.store %y, %r : !tt.ptr<i32>)"));
  std::vector<int32_t> y(1);
  ExpectFault(launch.Pointer(y, "y").Int(1000).Run({4, 1, 1}, 0, 2, 0.1), FaultKind::kTimeout, {"0.1 s"});
}

}  // namespace
}  // namespace tritogen::tile
