// Races, planted in both orders, and honest look-alikes that must pass.
#include <numeric>

#include "tile/launch_test_util.h"
#include "tile/sync_kernels_test_data.h"

namespace tritogen::tile {
namespace {

// Order of programs and number of threads must not decide what is found.
template <class Run>
void InEveryOrder(Run&& run) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    for (int threads : {1, 2, 4}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << threads << " threads");
      run(seed, threads);
    }
  }
}

constexpr std::string_view kPrelude = R"(
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %true = arith.constant true
    %pid = tt.get_program_id x : i32
    %n = tt.get_num_programs x : i32
    %next = arith.addi %pid, %c1 : i32
    %right = arith.remsi %next, %n : i32
    %own = tt.addptr %x, %pid : !tt.ptr<i32>, i32
    %other = tt.addptr %x, %right : !tt.ptr<i32>, i32
)";

// A kernel over x and y, run by four programs in every order: all must give this kind of fault, or none.
void Expect(std::optional<FaultKind> kind, const std::string& body, int64_t programs = 4) {
  InEveryOrder([&](uint64_t seed, int threads) {
    TestLaunch launch(Kernel("%x: !tt.ptr<i32>, %y: !tt.ptr<i32>", std::string(kPrelude) + body));
    std::vector<int32_t> x(16), y(16);
    const LaunchReport report = launch.Pointer(x, "x").Pointer(y, "y").Run(programs, seed, threads);
    if (!kind) {
      EXPECT_EQ(FirstFault(report), "");
      return;
    }
    ASSERT_FALSE(report.faults.empty());
    EXPECT_EQ(report.faults[0].kind, *kind) << report.faults[0].message;
  });
}

TEST(Race, DifferentValuesInOnePlace) {
  Expect(FaultKind::kWriteRace, "    tt.store %x, %pid : !tt.ptr<i32>");
}

TEST(Race, EqualValuesInOnePlaceAreFine) {
  Expect(std::nullopt, "    tt.store %x, %n : !tt.ptr<i32>");
}

TEST(Race, ValuesThatBecomeEqualAreNot) {
  Expect(FaultKind::kWriteRace, R"(
    %first = arith.cmpi eq, %pid, %c0 : i32
    scf.if %first {
      tt.store %x, %c1 : !tt.ptr<i32>
    }
    tt.store %x, %n : !tt.ptr<i32>)");
}

// Of which lane the value stays is up to the GPU.
TEST(Race, LanesOfOneStoreInOnePlace) {
  constexpr std::string_view kStore = R"(
    %i = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %shift = arith.constant dense<SHIFT> : tensor<16xi32>
    %place = arith.shrsi %i, %shift : tensor<16xi32>
    %value = arith.shrsi %i, %shift : tensor<16xi32>
    %ptrs = tt.splat %x : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
    %at = tt.addptr %ptrs, %place : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
    %few = arith.constant dense<2> : tensor<16xi32>
    %mask = arith.cmpi slt, %i, %few : tensor<16xi32>
    tt.store %at, STORED : tensor<16x!tt.ptr<i32>>)";
  auto store = [&](std::string shift, std::string stored) {
    std::string text(kStore);
    text.replace(text.find("SHIFT"), 5, shift);
    return text.replace(text.find("STORED"), 6, stored);
  };
  for (const char* shift : {"1", "3", "4"}) {
    SCOPED_TRACE(shift);
    Expect(FaultKind::kWriteRace, store(shift, "%i"), 1);
    Expect(FaultKind::kWriteRace, store(shift, "%i, %mask"), 1);
    Expect(std::nullopt, store(shift, "%value"), 1);
  }
  Expect(std::nullopt, store("0", "%i"), 1);
}

TEST(Race, ReadOfWhatAnotherProgramWrites) {
  Expect(FaultKind::kReadWriteRace, R"(
    %v = tt.load %other : !tt.ptr<i32>
    tt.store %own, %v : !tt.ptr<i32>)");
  Expect(FaultKind::kReadWriteRace, R"(
    tt.store %own, %pid : !tt.ptr<i32>
    %v = tt.load %other : !tt.ptr<i32>
    %p = tt.addptr %y, %pid : !tt.ptr<i32>, i32
    tt.store %p, %v : !tt.ptr<i32>)");
}

TEST(Race, OneReaderOfManyIsEnough) {
  Expect(FaultKind::kReadWriteRace, R"(
    %v = tt.load %x : !tt.ptr<i32>
    %p = tt.addptr %y, %pid : !tt.ptr<i32>, i32
    tt.store %p, %v : !tt.ptr<i32>
    %last = arith.cmpi eq, %right, %c0 : i32
    scf.if %last {
      tt.store %x, %n : !tt.ptr<i32>
    })");
}

TEST(Race, InPlaceAndSharedInputsAreFine) {
  Expect(std::nullopt, R"(
    %v = tt.load %own : !tt.ptr<i32>
    %shared = tt.load %y : !tt.ptr<i32>
    %w = arith.addi %v, %shared : i32
    tt.store %own, %w : !tt.ptr<i32>)");
}

TEST(Race, NeighboursInOneWordAreFine) {
  InEveryOrder([](uint64_t seed, int threads) {
    TestLaunch launch(Kernel("%x: !tt.ptr<i8>", R"(
    %pid = tt.get_program_id x : i32
    %p = tt.addptr %x, %pid : !tt.ptr<i8>, i32
    %v = arith.trunci %pid : i32 to i8
    tt.store %p, %v : !tt.ptr<i8>)"));
    std::vector<int8_t> x(64);
    EXPECT_EQ(FirstFault(launch.Pointer(x, "x", false).Run(64, seed, threads)), "");
    for (int i = 0; i < 64; ++i) EXPECT_EQ(x[i], i);
  });
}

TEST(Race, AtomicsOnOnePlaceAreFine) {
  Expect(std::nullopt,
         "    %o = tt.atomic_rmw add, acq_rel, gpu, %x, %c1, %true : (!tt.ptr<i32>, i32, i1) -> i32");
}

// Of scope "cta" they are atomic within a program only.
TEST(Race, AtomicsWithinPrograms) {
  const std::string kAdd = "tt.atomic_rmw add, acq_rel, cta, ",
                    kType = ", %c1, %true : (!tt.ptr<i32>, i32, i1) -> i32\n";
  Expect(FaultKind::kWriteRace, "    %o = " + kAdd + "%x" + kType);
  Expect(std::nullopt, "    %o = " + kAdd + "%x" + kType, 1);
  Expect(FaultKind::kWriteRace,
         "    %o = tt.atomic_cas acq_rel, cta, %x, %c0, %c1 : (!tt.ptr<i32>, i32, i32) -> i32");
  Expect(std::nullopt, "    %o = " + kAdd + "%own" + kType + R"(
    %v = tt.load %own : !tt.ptr<i32>
    tt.store %own, %v : !tt.ptr<i32>
    %o2 = )" + kAdd + "%own" +
                           kType);
  // Beside them those of wider scope are not safe, either.
  Expect(FaultKind::kWriteRace, R"(
    %first = arith.cmpi eq, %pid, %c0 : i32
    scf.if %first {
      %o = tt.atomic_rmw add, relaxed, cta, %x, %c1, %true : (!tt.ptr<i32>, i32, i1) -> i32
    } else {
      %o = tt.atomic_rmw add, relaxed, gpu, %x, %c1, %true : (!tt.ptr<i32>, i32, i1) -> i32
    })");
  Expect(FaultKind::kReadWriteRace, "    %o = " + kAdd + "%own" + kType + R"(
    %v = tt.load %other : !tt.ptr<i32>
    %p = tt.addptr %y, %pid : !tt.ptr<i32>, i32
    tt.store %p, %v : !tt.ptr<i32>)");
}

TEST(Race, AtomicsMixedWithPlainAccesses) {
  Expect(FaultKind::kWriteRace, R"(
    %first = arith.cmpi eq, %pid, %c0 : i32
    scf.if %first {
      tt.store %x, %c0 : !tt.ptr<i32>
    }
    %o = tt.atomic_rmw add, relaxed, gpu, %x, %c1, %true : (!tt.ptr<i32>, i32, i1) -> i32)");
  Expect(FaultKind::kReadWriteRace, R"(
    %o = tt.atomic_rmw add, relaxed, gpu, %x, %c1, %true : (!tt.ptr<i32>, i32, i1) -> i32
    %v = tt.load %x : !tt.ptr<i32>
    %p = tt.addptr %y, %pid : !tt.ptr<i32>, i32
    tt.store %p, %v : !tt.ptr<i32>)");
}

TEST(Race, RelaxedCounterDoesNotOrder) {
  Expect(FaultKind::kReadWriteRace, R"(
    %p = tt.addptr %y, %next : !tt.ptr<i32>, i32
    tt.store %p, %pid : !tt.ptr<i32>
    %o = tt.atomic_rmw add, relaxed, gpu, %x, %c1, %true : (!tt.ptr<i32>, i32, i1) -> i32
    %end = arith.subi %n, %c1 : i32
    %last = arith.cmpi eq, %o, %end : i32
    scf.if %last {
      %q0 = tt.addptr %y, %c1 : !tt.ptr<i32>, i32
      %v0 = tt.load %q0 : !tt.ptr<i32>
      %q1 = tt.addptr %y, %n : !tt.ptr<i32>, i32
      %v1 = tt.load %q1 : !tt.ptr<i32>
      %s = arith.addi %v0, %v1 : i32
      tt.store %y, %s : !tt.ptr<i32>
    })");
}

TEST(Race, StoreAfterTheReleaseIsNotCovered) {
  Expect(FaultKind::kReadWriteRace, R"(
    %o = tt.atomic_rmw add, acq_rel, gpu, %x, %c1, %true : (!tt.ptr<i32>, i32, i1) -> i32
    %p = tt.addptr %y, %next : !tt.ptr<i32>, i32
    tt.store %p, %pid : !tt.ptr<i32>
    %end = arith.subi %n, %c1 : i32
    %last = arith.cmpi eq, %o, %end : i32
    scf.if %last {
      %q0 = tt.addptr %y, %c1 : !tt.ptr<i32>, i32
      %v0 = tt.load %q0 : !tt.ptr<i32>
      %q1 = tt.addptr %y, %n : !tt.ptr<i32>, i32
      %v1 = tt.load %q1 : !tt.ptr<i32>
      %s = arith.addi %v0, %v1 : i32
      tt.store %y, %s : !tt.ptr<i32>
    })");
}

TEST(Sync, LastProgramReduces) {
  InEveryOrder([](uint64_t seed, int threads) {
    std::vector<float> x(128), partial(8), out(1);
    std::vector<int32_t> counter(1);
    std::iota(x.begin(), x.end(), 0.0f);
    TestLaunch launch(kLastReduces);
    launch.Pointer(x, "x")
        .Pointer(partial, "partial", false)
        .Pointer(counter, "counter")
        .Pointer(out, "out", false)
        .Int(128);
    EXPECT_EQ(FirstFault(launch.Run(8, seed, threads)), "");
    EXPECT_EQ(out[0], 127 * 64);
    EXPECT_EQ(counter[0], 0);
  });
}

TEST(Sync, LockByCompareAndSwap) {
  InEveryOrder([](uint64_t seed, int threads) {
    std::vector<float> x(40, 1.0f), total(1);
    std::vector<int32_t> lock(1);
    TestLaunch launch(kCasLock);
    EXPECT_EQ(
        FirstFault(
            launch.Pointer(x, "x").Pointer(lock, "lock").Pointer(total, "total").Run(40, seed, threads)),
        "");
    EXPECT_EQ(total[0], 40);
  });
}

TEST(Sync, BarrierAcrossTheGrid) {
  InEveryOrder([](uint64_t seed, int threads) {
    std::vector<int32_t> x(50), bar(1), out(50);
    TestLaunch launch(kGridBarrier);
    EXPECT_EQ(FirstFault(launch.Pointer(x, "x", false)
                             .Pointer(bar, "bar")
                             .Pointer(out, "out", false)
                             .Run(50, seed, threads)),
              "");
    for (int i = 0; i < 50; ++i) EXPECT_EQ(out[i], (i + 1) % 50 * 10);
  });
}

TEST(Sync, SplitKWithAtomicTiles) {
  std::vector<float> a(16 * 64), b(64 * 16);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7), b[i] = static_cast<float>(i % 5);
  InEveryOrder([&](uint64_t seed, int threads) {
    std::vector<float> c(256);
    TestLaunch launch(kSplitK);
    EXPECT_EQ(FirstFault(launch.Pointer(a, "a").Pointer(b, "b").Pointer(c, "c").Run(4, seed, threads)), "");
    for (int i = 0; i < 16; ++i) {
      for (int j = 0; j < 16; ++j) {
        float expected = 0;
        for (int k = 0; k < 64; ++k) expected += a[i * 64 + k] * b[k * 16 + j];
        ASSERT_EQ(c[i * 16 + j], expected);
      }
    }
  });
}

TEST(Sync, FlagsThroughVolatileLoadsOrderNothing) {
  InEveryOrder([](uint64_t seed, int threads) {
    std::vector<int32_t> data(20), flags(20), out(1);
    TestLaunch launch(kVolatileFlags);
    launch.Pointer(data, "data", false).Pointer(flags, "flags").Pointer(out, "out");
    const LaunchReport report = launch.Run(20, seed, threads);
    ASSERT_FALSE(report.faults.empty());
    EXPECT_EQ(report.faults[0].kind, FaultKind::kReadWriteRace) << report.faults[0].message;
    EXPECT_NE(report.faults[0].message.find("volatile loads"), std::string::npos) << report.faults[0].message;
  });
}

TEST(Sync, LookBackScan) {
  InEveryOrder([](uint64_t seed, int threads) {
    std::vector<int32_t> x(16 * 12, 2), out(16 * 12), flags(12);
    TestLaunch launch(kLookback);
    EXPECT_EQ(
        FirstFault(
            launch.Pointer(x, "x").Pointer(out, "out", false).Pointer(flags, "flags").Run(12, seed, threads)),
        "");
    for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], 2 * static_cast<int>(i + 1));
  });
}

TEST(Sync, WaitingForNobodyIsADeadlock) {
  InEveryOrder([](uint64_t seed, int threads) {
    std::vector<int32_t> flag(1), out(1);
    TestLaunch launch(kWaitForever);
    const LaunchReport report = launch.Pointer(flag, "flag").Pointer(out, "out").Run(5, seed, threads);
    ASSERT_FALSE(report.faults.empty());
    EXPECT_EQ(report.faults[0].kind, FaultKind::kDeadlock) << report.faults[0].message;
  });
}

TEST(Sync, MessagesNameBothPrograms) {
  TestLaunch launch(Kernel("%x: !tt.ptr<i32>",
                           "    %pid = tt.get_program_id x : i32\n    tt.store %x, %pid : !tt.ptr<i32>"));
  std::vector<int32_t> x(1);
  const std::string message = FirstFault(launch.Pointer(x, "output 0").Run(2));
  for (const char* word :
       {"store in `kernel` line 4", "offset 0 of 'output 0'", "program (0,0,0)", "program (1,0,0)"}) {
    EXPECT_NE(message.find(word), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace tritogen::tile
