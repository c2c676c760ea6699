// What a lane does behind another one of its program, with a barrier between and without one.
#include "tile/lane_order.h"

#include <fmt/format.h>

#include <numeric>
#include <optional>

#include "tile/launch_test_util.h"

namespace tritogen::tile {
namespace {

// %px: the elements of %x in the order of the lanes, %back: in the other one, %first: the first for each
// lane; %i: 0 … 63, %twice: their doubles.
constexpr std::string_view kPrelude = R"(
    %c7 = arith.constant 7 : i32
    %last = arith.constant dense<63> : tensor<64xi32>
    %seven = arith.constant dense<7> : tensor<64xi32>
    %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %j = arith.subi %last, %i : tensor<64xi32>
    %twice = arith.addi %i, %i : tensor<64xi32>
    %none = arith.subi %i, %i : tensor<64xi32>
    %sx = tt.splat %x : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
    %px = tt.addptr %sx, %i : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
    %back = tt.addptr %sx, %j : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
    %first = tt.addptr %sx, %none : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
    %sy = tt.splat %y : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
    %py = tt.addptr %sy, %i : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
)";
constexpr std::string_view kStore = "    tt.store %px, %twice : tensor<64x!tt.ptr<i32>>\n";
constexpr std::string_view kLoad = "    %v = tt.load %px : tensor<64x!tt.ptr<i32>>\n";
constexpr std::string_view kLoadBack = "    %w = tt.load %back : tensor<64x!tt.ptr<i32>>\n";
constexpr std::string_view kLoadScalar = "    %s = tt.load %x : !tt.ptr<i32>\n";
constexpr std::string_view kStoreScalar = "    tt.store %x, %c7 : !tt.ptr<i32>\n";
constexpr std::string_view kBarrier = "    gpu.barrier\n";
constexpr std::string_view kSum = R"(
    %sum = "tt.reduce"(%i) <{axis = 0 : i32}> ({
    ^bb0(%a: i32, %b: i32):
      %c = arith.addi %a, %b : i32
      tt.reduce.return %c : i32
    }) : (tensor<64xi32>) -> i32
)";

std::string Join(std::initializer_list<std::string_view> parts) {
  std::string text(kPrelude);
  for (std::string_view part : parts) text += part;
  return text;
}

constexpr std::string_view kKeepScalar = "    tt.store %y, %s : !tt.ptr<i32>\n";
constexpr std::string_view kKeepBack = "    tt.store %py, %w : tensor<64x!tt.ptr<i32>>\n";

struct Outcome {
  LaunchReport report;
  std::vector<int32_t> y = std::vector<int32_t>(128);
};

// A program with this body, over x (1, 2, …) and y.
Outcome RunOnce(std::initializer_list<std::string_view> parts, bool blame, int warps = 4) {
  TestLaunch launch(Kernel("%x: !tt.ptr<i32>, %y: !tt.ptr<i32>", Join(parts)));
  std::vector<int32_t> x(128);
  std::iota(x.begin(), x.end(), 1);
  launch.options.warps = warps;
  launch.options.blame_lanes = blame;
  Outcome outcome;
  outcome.report = launch.Pointer(x, "x").Pointer(outcome.y, "y").Run();
  return outcome;
}

// This kind of fault, or none.
void Expect(std::optional<FaultKind> kind, std::initializer_list<std::string_view> parts, int warps = 4) {
  SCOPED_TRACE(Join(parts).substr(kPrelude.size()));
  const LaunchReport report = RunOnce(parts, true, warps).report;
  if (!kind) {
    EXPECT_EQ(FirstFault(report), "");
    return;
  }
  ASSERT_FALSE(report.faults.empty());
  EXPECT_EQ(report.faults[0].kind, *kind) << report.faults[0].message;
  EXPECT_NE(report.faults[0].message.find("another lane of the program"), std::string::npos)
      << report.faults[0].message;
}

TEST(LaneOrder, WhatAnotherLaneHasWritten) {
  Expect(FaultKind::kReadWriteRace, {kStore, kLoadBack});
  Expect(std::nullopt, {kStore, kBarrier, kLoadBack});
  Expect(std::nullopt, {kStore, kSum, kLoadBack});
  Expect(std::nullopt, {kStore, kLoad});
  Expect(FaultKind::kReadWriteRace, {kStore, kLoadScalar});
  Expect(FaultKind::kReadWriteRace, {kStoreScalar, kLoad});
  Expect(std::nullopt, {kStoreScalar, kBarrier, kLoad});
  Expect(std::nullopt, {kStoreScalar, kLoadScalar});
}

// Who does not need what it reads so is no worse for it.
TEST(LaneOrder, OthersGetWhatWasThereBefore) {
  const Outcome early = RunOnce({kStore, kLoadBack, kKeepBack}, false);
  EXPECT_EQ(FirstFault(early.report), "");
  for (int i = 0; i < 64; ++i) EXPECT_EQ(early.y[i], 64 - i);
  const Outcome behind = RunOnce({kStore, kBarrier, kLoadBack, kKeepBack}, false);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(behind.y[i], 2 * (63 - i));
  const Outcome twice =
      RunOnce({kStore, "    tt.store %px, %seven : tensor<64x!tt.ptr<i32>>\n", kLoadBack, kKeepBack}, false);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(twice.y[i], 64 - i);
  EXPECT_EQ(RunOnce({kStore, kLoadScalar, kKeepScalar}, false).y[0], 1);
  EXPECT_EQ(RunOnce({kStoreScalar, kLoadScalar, kKeepScalar}, false).y[0], 7);
}

TEST(LaneOrder, WritesOfTwoLanes) {
  constexpr std::string_view kBackwards = "    tt.store %back, %i : tensor<64x!tt.ptr<i32>>\n";
  constexpr std::string_view kSame = "    tt.store %back, %seven : tensor<64x!tt.ptr<i32>>\n";
  Expect(FaultKind::kWriteRace, {kStore, kBackwards});
  Expect(std::nullopt, {kStore, kBarrier, kBackwards});
  Expect(std::nullopt, {kStore, kStore});
  Expect(std::nullopt, {"    tt.store %px, %seven : tensor<64x!tt.ptr<i32>>\n", kSame, kLoad});
}

// Both are races; which of them is named does not depend on what the store before wrote.
TEST(LaneOrder, LanesOfOneStoreAreNamedFirst) {
  constexpr std::string_view kInOnePlace = "    tt.store %first, %i : tensor<64x!tt.ptr<i32>>\n";
  for (const bool blame : {false, true}) {
    EXPECT_NE(FirstFault(RunOnce({kStoreScalar, kInOnePlace}, blame).report).find("lanes of one store"),
              std::string::npos);
  }
}

TEST(LaneOrder, WhatChangesNothingIsFine) {
  constexpr std::string_view kSameBits = R"(
    %one = arith.constant dense<1> : tensor<64xi32>
    %as_it_is = arith.addi %i, %one : tensor<64xi32>
    tt.store %px, %as_it_is : tensor<64x!tt.ptr<i32>>
)";
  Expect(std::nullopt, {kSameBits, kLoadBack});
}

TEST(LaneOrder, AtomicsOfLanes) {
  const auto add = [](std::string_view pointers, std::string_view name) {
    return fmt::format(R"(
    %true{1} = arith.constant dense<true> : tensor<64xi1>
    %old{1} = tt.atomic_rmw add, relaxed, gpu, {0}, %twice, %true{1} : (tensor<64x!tt.ptr<i32>>, tensor<64xi32>, tensor<64xi1>) -> tensor<64xi32>
)",
                       pointers, name);
  };
  Expect(std::nullopt, {add("%first", "1"), add("%back", "2")});  // atomics are one after the other
  Expect(FaultKind::kReadWriteRace, {add("%first", "1"), kLoadScalar});
  Expect(std::nullopt, {add("%first", "1"), kBarrier, kLoadScalar});
  Expect(FaultKind::kWriteRace, {kStore, add("%back", "1")});
  Expect(std::nullopt, {kStore, kBarrier, add("%back", "1")});
}

// Lanes of one warp are in step.
TEST(LaneOrder, OneWarpIsNotAskedAbout) {
  Expect(std::nullopt, {kStore, kLoadBack}, 1);
}

// Halves of elements that were written whole: by the same lanes, and by others.
TEST(LaneOrder, ElementsOfTwoSizes) {
  const auto halves = [](std::string_view places) {
    return fmt::format(R"(
    %halves = tt.bitcast %x : !tt.ptr<i32> -> !tt.ptr<i16>
    %sh = tt.splat %halves : !tt.ptr<i16> -> tensor<64x!tt.ptr<i16>>
    %ph = tt.addptr %sh, {} : tensor<64x!tt.ptr<i16>>, tensor<64xi32>
    %low = tt.load %ph : tensor<64x!tt.ptr<i16>>
)",
                       places);
  };
  Expect(std::nullopt, {kStore, halves("%twice")});
  Expect(FaultKind::kReadWriteRace, {kStore, halves("%i")});
}

// In place, 100 programs after one another in the same worker.
TEST(LaneOrder, EachProgramBeginsAnew) {
  std::string own(kPrelude);
  own += R"(
    %pid = tt.get_program_id x : i32
    %width = arith.constant 64 : i32
    %start = arith.muli %pid, %width : i32
    %starts = tt.splat %start : i32 -> tensor<64xi32>
    %own = tt.addptr %px, %starts : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
    %v = tt.load %own : tensor<64x!tt.ptr<i32>>
    %w = arith.addi %v, %twice : tensor<64xi32>
    tt.store %own, %w : tensor<64x!tt.ptr<i32>>
)";
  for (int threads : {1, 4}) {
    TestLaunch launch(Kernel("%x: !tt.ptr<i32>, %y: !tt.ptr<i32>", own));
    std::vector<int32_t> x(64 * 100, 3), y(64);
    EXPECT_EQ(FirstFault(launch.Pointer(x, "x").Pointer(y, "y").Run(100, 0, threads)), "");
  }
}

}  // namespace
}  // namespace tritogen::tile
