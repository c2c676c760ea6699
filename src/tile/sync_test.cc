// What a release speaks for: one thread's work, and that of all threads behind a barrier.
#include "tile/sync.h"

#include <fmt/format.h>

#include <optional>

#include "tile/launch_test_util.h"

namespace tritogen::tile {
namespace {

// %px: the program's 16 elements of %x, %whole: everybody's; %y holds counters.
constexpr std::string_view kPrelude = R"(
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c7 = arith.constant 7 : i32
    %c16 = arith.constant 16 : i32
    %true = arith.constant true
    %pid = tt.get_program_id x : i32
    %n = tt.get_num_programs x : i32
    %end = arith.subi %n, %c1 : i32
    %i = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %first = arith.muli %pid, %c16 : i32
    %start = tt.splat %first : i32 -> tensor<16xi32>
    %own = arith.addi %start, %i : tensor<16xi32>
    %sx = tt.splat %x : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
    %px = tt.addptr %sx, %own : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
    %scalar = tt.addptr %x, %first : !tt.ptr<i32>, i32
    %j = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %wx = tt.splat %x : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
    %whole = tt.addptr %wx, %j : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
    %wz = tt.splat %z : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
    %pz = tt.addptr %wz, %j : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
    %y1 = tt.addptr %y, %c1 : !tt.ptr<i32>, i32
)";
constexpr std::string_view kStore = "    tt.store %px, %i : tensor<16x!tt.ptr<i32>>\n";
constexpr std::string_view kStoreScalar = "    tt.store %scalar, %pid : !tt.ptr<i32>\n";
constexpr std::string_view kLoad = "    %before = tt.load %px : tensor<16x!tt.ptr<i32>>\n";
constexpr std::string_view kAddTile =
    "    %sums = tt.atomic_rmw add, relaxed, gpu, %px, %i : (tensor<16x!tt.ptr<i32>>, tensor<16xi32>) -> "
    "tensor<16xi32>\n";
constexpr std::string_view kBarrier = "    gpu.barrier\n";
constexpr std::string_view kSum = R"(
    %sum = "tt.reduce"(%i) <{axis = 0 : i32}> ({
    ^bb0(%a: i32, %b: i32):
      %c = arith.addi %a, %b : i32
      tt.reduce.return %c : i32
    }) : (tensor<16xi32>) -> i32
)";
constexpr std::string_view kCount =
    "    %o = tt.atomic_rmw add, acq_rel, gpu, %y, %c1, %true : (!tt.ptr<i32>, i32, i1) -> i32\n";
// Beside it, of which the result is read or not.
constexpr std::string_view kOther =
    "    %p = tt.atomic_rmw add, acq_rel, gpu, %y1, %c1, %true : (!tt.ptr<i32>, i32, i1) -> i32\n";
constexpr std::string_view kReadOther = "    tt.store %scalar, %p : !tt.ptr<i32>\n";
// The last program reads what all wrote, or writes where the others read.
constexpr std::string_view kLast = R"(
    %is_last = arith.cmpi eq, %o, %end : i32
    scf.if %is_last {{
      {}
    }}
)";
constexpr std::string_view kReads =
    "%v = tt.load %whole : tensor<64x!tt.ptr<i32>>\n      tt.store %pz, %v : tensor<64x!tt.ptr<i32>>";
constexpr std::string_view kWrites = "tt.store %whole, %j : tensor<64x!tt.ptr<i32>>";

std::vector<Fault> RunAll(std::initializer_list<std::string_view> parts, std::string_view last, int warps,
                          uint64_t seed, int threads) {
  std::string text(kPrelude);
  for (std::string_view part : parts) text += part;
  text += fmt::format(fmt::runtime(kLast), last);
  TestLaunch launch(Kernel("%x: !tt.ptr<i32>, %y: !tt.ptr<i32>, %z: !tt.ptr<i32>", text));
  std::vector<int32_t> x(64), y(16), z(64);
  launch.options.warps = warps;
  return launch.Pointer(x, "x").Pointer(y, "y").Pointer(z, "z").Run(4, seed, threads).faults;
}

// Run by four programs in several orders: all find the barrier missing, or nothing.
void Expect(bool missing, std::initializer_list<std::string_view> parts, std::string_view last = kReads,
            int warps = 4) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    for (int threads : {1, 3}) {
      const std::vector<Fault> faults = RunAll(parts, last, warps, seed, threads);
      SCOPED_TRACE(fmt::format("seed {}, {} threads, then {}", seed, threads, last));
      for (std::string_view part : parts) SCOPED_TRACE(part);
      ASSERT_EQ(!faults.empty(), missing) << (faults.empty() ? "" : faults[0].message);
      if (!missing) continue;
      EXPECT_EQ(faults[0].kind, FaultKind::kReadWriteRace) << faults[0].message;
      EXPECT_NE(faults[0].message.find("tl.debug_barrier() before that atomic"), std::string::npos)
          << faults[0].message;
    }
  }
}

TEST(Release, OfATile) {
  Expect(true, {kStore, kCount});
  Expect(false, {kStore, kBarrier, kCount});
  Expect(false, {kStore, kSum, kCount});
  Expect(true, {kBarrier, kStore, kCount});
  Expect(true, {kStore, kBarrier, kStore, kCount});
  Expect(false, {kStore, kCount}, kReads, 1);  // one warp
}

TEST(Release, OfAScalar) {
  Expect(false, {kStoreScalar, kCount});
  Expect(false, {kStore, kBarrier, kStoreScalar, kCount});
}

// What other threads have yet to read may not be written, either.
TEST(Release, OfWhatATileReads) {
  Expect(true, {kLoad, kCount}, kWrites);
  Expect(false, {kLoad, kBarrier, kCount}, kWrites);
  Expect(false, {kLoad, kCount}, kWrites, 1);
}

TEST(Release, OfATileOfAtomics) {
  Expect(true, {kAddTile, kCount});
  Expect(false, {kAddTile, kBarrier, kCount});
}

// Threads wait for the result of a scalar atomic; where nobody reads it there is no barrier.
TEST(Release, BehindAnotherAtomic) {
  Expect(true, {kStore, kOther, kCount});
  Expect(false, {kStore, kOther, kReadOther, kCount}, kReads);
  Expect(false, {kStore, kBarrier, kOther, kCount});
}

// A later one behind a barrier speaks for everything before, an earlier one for what its barrier ended.
TEST(Release, SeveralOfOneProgram) {
  Expect(false, {kStore, kOther, kBarrier, kCount});
  SyncTracker tracker;
  constexpr uint64_t kAt = 100, kThen = 200;
  Segments s{.first = tracker.NewSegment(0, Threads::kFirst)};
  tracker.NewSegment(1, Threads::kFirst);
  const uint32_t scalar = s.first, tile = s.tiles = tracker.NewSegment(0, Threads::kAll);
  s = tracker.Release(0, s, kAt);
  const uint32_t later = s.tiles;
  EXPECT_NE(later, tile);
  tracker.Acquire(1, kAt);
  EXPECT_TRUE(tracker.Precedes(scalar, 1));
  EXPECT_FALSE(tracker.Precedes(tile, 1));
  EXPECT_TRUE(tracker.LacksBarrier(tile, 1));
  EXPECT_FALSE(tracker.LacksBarrier(later, 1));  // done behind the release
  s.met = s.tiles;
  s = tracker.Release(0, s, kThen);
  EXPECT_FALSE(tracker.Precedes(tile, 1));
  tracker.Acquire(1, kThen);
  EXPECT_TRUE(tracker.Precedes(tile, 1));
  EXPECT_TRUE(tracker.Precedes(later, 1));
  EXPECT_EQ(tracker.ProgramOf(tile), 0u);
}

constexpr std::string_view kWaitForNext = R"(
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %true = arith.constant true
    %pid = tt.get_program_id x : i32
    %n = tt.get_num_programs x : i32
    %place = arith.addi %pid, %c1 : i32
    %flag = tt.addptr %x, %place : !tt.ptr<i32>, i32
    %step = arith.constant STEP : i32
    %other = tt.addptr %flag, %step : !tt.ptr<i32>, i32
    scf.while : () -> () {
      %v = LOAD
      %wait = arith.cmpi eq, %v, %c0 : i32
      scf.condition(%wait)
    } do {
      scf.yield
    }
    SET
)";

// Programs wait for their neighbour's flag; the ends of the row are set.
LaunchReport Chain(std::string_view step, bool atomics, int64_t programs, int warps, bool like_a_gpu,
                   int threads) {
  std::string text(kWaitForNext);
  const auto put = [&](std::string_view name, std::string_view value) {
    text.replace(text.find(name), name.size(), value);
  };
  put("STEP", step);
  put("LOAD", atomics ? "tt.atomic_rmw add, acq_rel, gpu, %other, %c0, %true : (!tt.ptr<i32>, i32, i1) -> i32"
                      : "tt.load %other {isVolatile = true} : !tt.ptr<i32>");
  put("SET",
      atomics ? "%o = tt.atomic_rmw exch, acq_rel, gpu, %flag, %c1, %true : (!tt.ptr<i32>, i32, i1) -> i32"
              : "%w = arith.addi %v0, %c1 : i32\n    tt.store %flag, %w cacheModifier = wt : !tt.ptr<i32>");
  if (!atomics) put("    %w = ", "    %v0 = tt.load %other {isVolatile = true} : !tt.ptr<i32>\n    %w = ");
  TestLaunch launch(Kernel("%x: !tt.ptr<i32>", text));
  std::vector<int32_t> x(programs + 2);
  x.front() = x.back() = 1;
  launch.options.warps = warps;
  launch.options.like_a_gpu = like_a_gpu;
  LaunchReport report = launch.Pointer(x, "x").Run(programs, 3, threads);
  if (report.faults.empty() && !atomics) {
    for (int64_t i = 1; i <= programs; ++i) EXPECT_EQ(x[i], i + 1);
  }
  return report;
}

// What waits for later programs hangs where a GPU has no room for them.
TEST(Wait, ForProgramsThatHaveNoRoom) {
  for (int threads : {1, 2}) {
    EXPECT_EQ(FirstFault(Chain("-1", true, 700, 32, true, threads)), "");
    EXPECT_EQ(FirstFault(Chain("1", true, 200, 32, true, threads)), "");
    EXPECT_EQ(FirstFault(Chain("1", true, 700, 32, false, threads)), "");
    const LaunchReport report = Chain("1", true, 700, 32, true, threads);
    ASSERT_FALSE(report.faults.empty());
    EXPECT_EQ(report.faults[0].kind, FaultKind::kDeadlock);
    EXPECT_NE(report.faults[0].message.find("that a GPU holds at once"), std::string::npos);
  }
}

// A value that says itself that it is there needs no order.
TEST(Wait, ForTheValueItself) {
  for (int threads : {1, 2}) EXPECT_EQ(FirstFault(Chain("-1", false, 40, 4, false, threads)), "");
}

}  // namespace
}  // namespace tritogen::tile
