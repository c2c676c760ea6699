// Values: control flow, arithmetic on tiles, scheduling.
#include "tile/launch_test_util.h"

#include <cmath>
#include <numeric>

namespace tritogen::tile {
namespace {

constexpr std::string_view kXY = "%x: !tt.ptr<f32>, %y: !tt.ptr<f32>";
constexpr std::string_view kXYInt = "%x: !tt.ptr<i32>, %y: !tt.ptr<i32>";

template <class T>
std::vector<T> Iota(size_t n, T first = 0) {
  std::vector<T> values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST(Machine, AddsUnderAMask) {
  TestLaunch launch(Kernel("%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32", RangeBody("f32") + R"(
    %one = arith.constant dense<1.000000e+00> : tensor<16xf32>
    %zero = arith.constant dense<0.000000e+00> : tensor<16xf32>
    %sn = tt.splat %n : i32 -> tensor<16xi32>
    %m = arith.cmpi slt, %r, %sn : tensor<16xi32>
    %v = tt.load %px, %m, %zero : tensor<16x!tt.ptr<f32>>
    %w = arith.addf %v, %one : tensor<16xf32>
    tt.store %py, %w, %m : tensor<16x!tt.ptr<f32>>)"));
  std::vector<float> x = Iota<float>(45), y(45, -1.0f);
  launch.Pointer(x, "x").Pointer(y, "y", false).Int(45);
  EXPECT_EQ(FirstFault(launch.Run(3)), "");
  for (int i = 0; i < 45; ++i) EXPECT_EQ(y[i], x[i] + 1) << i;
  EXPECT_EQ(launch.defined(1), std::vector<uint8_t>(45 * 4, 1));
}

TEST(Machine, DefinesOnlyWhatItWrites) {
  TestLaunch launch(Kernel(kXY, RangeBody("f32") + R"(
    %c8 = arith.constant dense<8> : tensor<16xi32>
    %m = arith.cmpi slt, %lane, %c8 : tensor<16xi32>
    %v = tt.load %px : tensor<16x!tt.ptr<f32>>
    tt.store %py, %v, %m : tensor<16x!tt.ptr<f32>>)"));
  std::vector<float> x = Iota<float>(16), y(16);
  launch.Pointer(x, "x").Pointer(y, "y", false);
  EXPECT_EQ(FirstFault(launch.Run()), "");
  for (int i = 0; i < 64; ++i) EXPECT_EQ(launch.defined(1)[i], i < 32 ? 1 : 0) << i;
}

// Carried tiles, swapped in each trip, and an accumulator that works in place.
TEST(Machine, LoopsCarryTiles) {
  TestLaunch launch(Kernel("%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32", RangeBody("f32") + R"(
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.000000e+00> : tensor<16xf32>
    %two = arith.constant dense<2.000000e+00> : tensor<16xf32>
    %v = tt.load %px : tensor<16x!tt.ptr<f32>>
    %res:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %v, %b = %zero, %sum = %zero) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)  : i32 {
      %d = arith.mulf %a, %two : tensor<16xf32>
      %s = arith.addf %sum, %d : tensor<16xf32>
      scf.yield %b, %d, %s : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
    }
    %t = arith.addf %res#0, %res#1 : tensor<16xf32>
    %u = arith.addf %t, %res#2 : tensor<16xf32>
    tt.store %py, %u : tensor<16x!tt.ptr<f32>>)"));
  std::vector<float> x = Iota<float>(16, 1), y(16);
  launch.Pointer(x, "x").Pointer(y, "y").Int(5);
  EXPECT_EQ(FirstFault(launch.Run()), "");
  for (int i = 0; i < 16; ++i) {
    float a = x[i], b = 0, sum = 0;
    for (int trip = 0; trip < 5; ++trip) {
      const float d = a * 2;
      sum += d;
      a = b;
      b = d;
    }
    EXPECT_EQ(y[i], a + b + sum) << i;
  }
}

TEST(Machine, LoopWithoutTripsGivesItsInits) {
  TestLaunch launch(Kernel("%x: !tt.ptr<i32>, %y: !tt.ptr<i32>, %n: i32", R"(
    %c7 = arith.constant 7 : i32
    %c1 = arith.constant 1 : i32
    %res = scf.for %i = %n to %c1 step %c1 iter_args(%a = %c7) -> (i32)  : i32 {
      scf.yield %i : i32
    }
    tt.store %y, %res : !tt.ptr<i32>)"));
  std::vector<int32_t> x(1), y(1);
  launch.Pointer(x, "x").Pointer(y, "y").Int(3);
  EXPECT_EQ(FirstFault(launch.Run()), "");
  EXPECT_EQ(y[0], 7);
}

TEST(Machine, LoopVariableStopsAtTheEndOfItsType) {
  TestLaunch launch(Kernel(kXYInt, R"(
    %lower = arith.constant 2147483640 : i32
    %upper = arith.constant 2147483647 : i32
    %step = arith.constant 5 : i32
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %res = scf.for %i = %lower to %upper step %step iter_args(%a = %c0) -> (i32)  : i32 {
      %b = arith.addi %a, %c1 : i32
      scf.yield %b : i32
    }
    tt.store %y, %res : !tt.ptr<i32>)"));
  std::vector<int32_t> x(1), y(1);
  launch.Pointer(x, "x").Pointer(y, "y");
  EXPECT_EQ(FirstFault(launch.Run()), "");
  EXPECT_EQ(y[0], 2);
}

TEST(Machine, WhileBranchesAndCalls) {
  TestLaunch launch(R"(module {
  tt.func public @collatz(%x: !tt.ptr<i32>, %y: !tt.ptr<i32>) attributes {noinline = false} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %pid = tt.get_program_id x : i32
    %px = tt.addptr %x, %pid : !tt.ptr<i32>, i32
    %py = tt.addptr %y, %pid : !tt.ptr<i32>, i32
    %start = tt.load %px : !tt.ptr<i32>
    %small = arith.cmpi slt, %start, %c1 : i32
    cf.cond_br %small, ^bb1(%c0 : i32), ^bb2
  ^bb1(%answer: i32):
    tt.store %py, %answer : !tt.ptr<i32>
    tt.return
  ^bb2:
    %r:2 = scf.while (%v = %start, %n = %c0) : (i32, i32) -> (i32, i32) {
      %more = arith.cmpi sgt, %v, %c1 : i32
      scf.condition(%more) %v, %n : i32, i32
    } do {
    ^bb0(%v: i32, %n: i32):
      %next = tt.call @step(%v) : (i32) -> i32
      %m = arith.addi %n, %c1 : i32
      scf.yield %next, %m : i32, i32
    }
    cf.br ^bb1(%r#1 : i32)
  }
  tt.func private @step(%v: i32) -> i32 attributes {noinline = true} {
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %c0 = arith.constant 0 : i32
    %odd = arith.remsi %v, %c2 : i32
    %even = arith.cmpi eq, %odd, %c0 : i32
    %r = scf.if %even -> (i32) {
      %h = arith.divsi %v, %c2 : i32
      scf.yield %h : i32
    } else {
      %t = arith.muli %v, %c3 : i32
      %u = arith.addi %t, %c1 : i32
      scf.yield %u : i32
    }
    tt.return %r : i32
  }
}
)");
  std::vector<int32_t> x{27, 1, 6, -5}, y(4, -1);
  launch.Pointer(x, "x").Pointer(y, "y");
  EXPECT_EQ(FirstFault(launch.Run(4)), "");
  EXPECT_EQ(y, (std::vector<int32_t>{111, 0, 8, 0}));
}

TEST(Machine, NonCommutativeOperandsKeepTheirSides) {
  TestLaunch launch(Kernel("%x: !tt.ptr<i32>, %y: !tt.ptr<i32>, %n: i32", RangeBody("i32") + R"(
    %sn = tt.splat %n : i32 -> tensor<16xi32>
    %v = tt.load %px : tensor<16x!tt.ptr<i32>>
    %a = arith.subi %v, %sn : tensor<16xi32>
    %b = arith.subi %sn, %a : tensor<16xi32>
    %sq = arith.muli %sn, %sn : tensor<16xi32>
    %c = arith.subi %b, %sq : tensor<16xi32>
    tt.store %py, %c : tensor<16x!tt.ptr<i32>>)"));
  std::vector<int32_t> x = Iota<int32_t>(16), y(16);
  launch.Pointer(x, "x").Pointer(y, "y").Int(10);
  EXPECT_EQ(FirstFault(launch.Run()), "");
  for (int i = 0; i < 16; ++i) EXPECT_EQ(y[i], 10 - (i - 10) - 100) << i;
}

TEST(Machine, IndexArithmeticWrapsBeforeItIsWidened) {
  TestLaunch launch(Kernel("%x: !tt.ptr<i32>, %y: !tt.ptr<i32>, %n: i32", R"(
    %c4 = arith.constant 4 : i32
    %w = arith.muli %n, %c4 : i32
    %p = tt.addptr %y, %w : !tt.ptr<i32>, i32
    tt.store %p, %c4 : !tt.ptr<i32>)"));
  std::vector<int32_t> x(1), y(4);
  launch.Pointer(x, "x").Pointer(y, "y").Int((1 << 30) + 0);  // 4 << 30 wraps to 0
  EXPECT_EQ(FirstFault(launch.Run()), "");
  EXPECT_EQ(y, (std::vector<int32_t>{4, 0, 0, 0}));
}

TEST(Machine, ProgramIdsCoverTheGridOnceInAnyOrder) {
  const std::string text = Kernel(kXYInt, R"(
    %true = arith.constant true
    %c1 = arith.constant 1 : i32
    %px = tt.get_program_id x : i32
    %py = tt.get_program_id y : i32
    %pz = tt.get_program_id z : i32
    %nx = tt.get_num_programs x : i32
    %ny = tt.get_num_programs y : i32
    %a = arith.muli %pz, %ny : i32
    %b = arith.addi %a, %py : i32
    %c = arith.muli %b, %nx : i32
    %d = arith.addi %c, %px : i32
    %p = tt.addptr %y, %d : !tt.ptr<i32>, i32
    %old = tt.atomic_rmw add, relaxed, gpu, %p, %c1, %true : (!tt.ptr<i32>, i32, i1) -> i32
    %turn = tt.atomic_rmw add, relaxed, gpu, %x, %c1, %true : (!tt.ptr<i32>, i32, i1) -> i32)");
  for (uint64_t seed = 0; seed < 4; ++seed) {
    for (int threads : {1, 2, 3}) {
      TestLaunch launch(text);
      std::vector<int32_t> x(1), y(7 * 5 * 3);
      launch.Pointer(x, "x").Pointer(y, "y");
      EXPECT_EQ(FirstFault(launch.Run({7, 5, 3}, seed, threads)), "");
      EXPECT_EQ(x[0], 105);
      EXPECT_EQ(y, std::vector<int32_t>(105, 1)) << seed << " " << threads;
    }
  }
}

TEST(Machine, OrderDependsOnTheSeed) {
  const std::string text = Kernel(kXYInt, R"(
    %true = arith.constant true
    %c1 = arith.constant 1 : i32
    %pid = tt.get_program_id x : i32
    %turn = tt.atomic_rmw add, relaxed, gpu, %x, %c1, %true : (!tt.ptr<i32>, i32, i1) -> i32
    %p = tt.addptr %y, %pid : !tt.ptr<i32>, i32
    tt.store %p, %turn : !tt.ptr<i32>)");
  std::vector<std::vector<int32_t>> orders;
  for (uint64_t seed : {1, 1, 2}) {
    TestLaunch launch(text);
    std::vector<int32_t> x(1), y(64);
    launch.Pointer(x, "x").Pointer(y, "y");
    EXPECT_EQ(FirstFault(launch.Run(64, seed)), "");
    orders.push_back(y);
  }
  EXPECT_EQ(orders[0], orders[1]);
  EXPECT_NE(orders[0], orders[2]);
  EXPECT_NE(orders[0], Iota<int32_t>(64));
}

TEST(Machine, EmptyGridRunsNothing) {
  TestLaunch launch(Kernel(kXYInt, "    %c4 = arith.constant 4 : i32\n    tt.store %y, %c4 : !tt.ptr<i32>"));
  std::vector<int32_t> x(1), y(1, 9);
  launch.Pointer(x, "x").Pointer(y, "y");
  EXPECT_EQ(FirstFault(launch.Run({0, 4, 1})), "");
  EXPECT_EQ(y[0], 9);
}

TEST(Machine, ArgumentsMustFitTheParameters) {
  const std::string text = Kernel("%x: !tt.ptr<i32>, %n: i32, %f: f32", "");
  std::vector<int32_t> x(1);
  EXPECT_EQ(FirstFault(TestLaunch(text).Pointer(x, "x").Int(1).Float(0.5).Run()), "");
  EXPECT_EQ(FirstFault(TestLaunch(text).Pointer(x, "x").Int(1).Int(2).Run()), "");  // an int is a float too
  EXPECT_THROW(TestLaunch(text).Pointer(x, "x").Int(1).Run(), TtirError);
  EXPECT_THROW(TestLaunch(text).Pointer(x, "x").Float(1).Float(1).Run(), TtirError);
  EXPECT_THROW(TestLaunch(text).Int(1).Int(1).Float(1).Run(), TtirError);
  EXPECT_THROW(TestLaunch(text).Pointer(x, "x").Int(1).Float(1).Int(4).Run(), TtirError);
  EXPECT_THROW(TestLaunch(text).Pointer(x, "x").Int(1).Float(1).Run({-1, 1, 1}), TtirError);
}

TEST(Machine, ParametersAndFeatures) {
  const auto kernel =
      Load(Kernel("%x: !tt.ptr<f32>, %n: i64, %f: f32, %d: !tt.tensordesc<tensor<4x8xf16>>, %s0: i32, %s1: "
                  "i32, %t0: i64, %t1: i64",
                  R"(
    %a = arith.constant dense<1.000000e+00> : tensor<16x16xf32>
    %h = arith.truncf %a : tensor<16x16xf32> to tensor<16x16xf16>
    %t = tt.trans %h {order = array<i32: 1, 0>} : tensor<16x16xf16> -> tensor<16x16xf16>
    %r = tt.dot %t, %h, %a : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf32>
    %u = tt.dot %a, %a, %a, inputPrecision = tf32 : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>)"));
  const std::vector<Parameter> parameters = Parameters(*kernel);
  ASSERT_EQ(parameters.size(), 8u);
  EXPECT_EQ(parameters[0].kind, Parameter::Kind::kPointer);
  EXPECT_EQ(parameters[1].bits, 64);
  EXPECT_EQ(parameters[2].kind, Parameter::Kind::kFloat);
  EXPECT_EQ(parameters[3].kind, Parameter::Kind::kDescriptor);
  EXPECT_EQ(parameters[3].rank, 2);
  const Features features = Inspect(*kernel);
  EXPECT_TRUE(features.has_dot && features.tf32_dot && features.half_dot_of_float);
  EXPECT_FALSE(features.stores);
}

}  // namespace
}  // namespace tritogen::tile
