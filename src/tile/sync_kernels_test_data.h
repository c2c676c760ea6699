// TTIR of kernels that synchronise, as Triton printed it. Python sources stand beside each.
#pragma once

namespace tritogen::tile {

// s = tl.sum(tl.load(x + p * 16 + arange)); tl.store(partial + p, s); done = tl.atomic_add(counter, 1)
// if done == num_programs - 1: tl.store(out, tl.sum(tl.load(partial + tl.arange(0, 8)))); tl.store(counter, 0)
inline constexpr const char* kLastReduces = R"(module {
  tt.func public @last_reduces(%arg0: !tt.ptr<f32>, %arg1: !tt.ptr<f32>, %arg2: !tt.ptr<i32>, %arg3: !tt.ptr<f32>, %arg4: i32) attributes {noinline = false} {
    %c0_i32 = arith.constant 0 : i32
    %true = arith.constant true
    %c1_i32 = arith.constant 1 : i32
    %c16_i32 = arith.constant 16 : i32
    %0 = tt.get_program_id x : i32
    %1 = arith.muli %0, %c16_i32 : i32
    %2 = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %3 = tt.splat %1 : i32 -> tensor<16xi32>
    %4 = arith.addi %3, %2 : tensor<16xi32>
    %5 = tt.splat %arg0 : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    %6 = tt.addptr %5, %4 : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    %7 = tt.load %6 : tensor<16x!tt.ptr<f32>>
    %8 = tt.reshape %7 allow_reorder : tensor<16xf32> -> tensor<16xf32>
    %9 = "tt.reduce"(%8) <{axis = 0 : i32}> ({
    ^bb0(%arg5: f32, %arg6: f32):
      %15 = arith.addf %arg5, %arg6 : f32
      tt.reduce.return %15 : f32
    }) : (tensor<16xf32>) -> f32
    %10 = tt.addptr %arg1, %0 : !tt.ptr<f32>, i32
    tt.store %10, %9 : !tt.ptr<f32>
    %11 = tt.atomic_rmw add, acq_rel, gpu, %arg2, %c1_i32, %true : (!tt.ptr<i32>, i32, i1) -> i32
    %12 = tt.get_num_programs x : i32
    %13 = arith.subi %12, %c1_i32 : i32
    %14 = arith.cmpi eq, %11, %13 : i32
    scf.if %14 {
      %15 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
      %16 = tt.splat %arg1 : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
      %17 = tt.addptr %16, %15 : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
      %18 = tt.load %17 : tensor<8x!tt.ptr<f32>>
      %19 = tt.reshape %18 allow_reorder : tensor<8xf32> -> tensor<8xf32>
      %20 = "tt.reduce"(%19) <{axis = 0 : i32}> ({
      ^bb0(%arg5: f32, %arg6: f32):
        %21 = arith.addf %arg5, %arg6 : f32
        tt.reduce.return %21 : f32
      }) : (tensor<8xf32>) -> f32
      tt.store %arg3, %20 : !tt.ptr<f32>
      tt.store %arg2, %c0_i32 : !tt.ptr<i32>
    }
    tt.return
  }
})";

// while tl.atomic_cas(lock, 0, 1) == 1: pass
// tl.store(total, tl.load(total) + tl.load(x + p)); tl.atomic_xchg(lock, 0)
inline constexpr const char* kCasLock = R"(module {
  tt.func public @cas_lock(%arg0: !tt.ptr<f32>, %arg1: !tt.ptr<i32>, %arg2: !tt.ptr<f32>) attributes {noinline = false} {
    %true = arith.constant true
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = tt.get_program_id x : i32
    %1 = tt.addptr %arg0, %0 : !tt.ptr<f32>, i32
    %2 = tt.load %1 : !tt.ptr<f32>
    scf.while : () -> () {
      %6 = tt.atomic_cas acq_rel, gpu, %arg1, %c0_i32, %c1_i32 : (!tt.ptr<i32>, i32, i32) -> i32
      %7 = arith.cmpi eq, %6, %c1_i32 : i32
      scf.condition(%7)
    } do {
      scf.yield
    }
    %3 = tt.load %arg2 : !tt.ptr<f32>
    %4 = arith.addf %3, %2 : f32
    tt.store %arg2, %4 : !tt.ptr<f32>
    %5 = tt.atomic_rmw exch, acq_rel, gpu, %arg1, %c0_i32, %true : (!tt.ptr<i32>, i32, i1) -> i32
    tt.return
  }
})";

// tl.store(x + p, p * 10); tl.atomic_add(bar, 1); while tl.atomic_add(bar, 0) < n: pass
// tl.store(out + p, tl.load(x + (p + 1) % n))
inline constexpr const char* kGridBarrier = R"(module {
  tt.func public @grid_barrier(%arg0: !tt.ptr<i32>, %arg1: !tt.ptr<i32>, %arg2: !tt.ptr<i32>) attributes {noinline = false} {
    %c0_i32 = arith.constant 0 : i32
    %true = arith.constant true
    %c1_i32 = arith.constant 1 : i32
    %c10_i32 = arith.constant 10 : i32
    %0 = tt.get_program_id x : i32
    %1 = tt.get_num_programs x : i32
    %2 = tt.addptr %arg0, %0 : !tt.ptr<i32>, i32
    %3 = arith.muli %0, %c10_i32 : i32
    tt.store %2, %3 : !tt.ptr<i32>
    %4 = tt.atomic_rmw add, acq_rel, gpu, %arg1, %c1_i32, %true : (!tt.ptr<i32>, i32, i1) -> i32
    scf.while : () -> () {
      %10 = tt.atomic_rmw add, acq_rel, gpu, %arg1, %c0_i32, %true : (!tt.ptr<i32>, i32, i1) -> i32
      %11 = arith.cmpi slt, %10, %1 : i32
      scf.condition(%11)
    } do {
      scf.yield
    }
    %5 = tt.addptr %arg2, %0 : !tt.ptr<i32>, i32
    %6 = arith.addi %0, %c1_i32 : i32
    %7 = arith.remsi %6, %1 : i32
    %8 = tt.addptr %arg0, %7 : !tt.ptr<i32>, i32
    %9 = tt.load %8 : !tt.ptr<i32>
    tt.store %5, %9 : !tt.ptr<i32>
    tt.return
  }
})";

// tl.atomic_add(c + tile, tl.dot(a[:, p * 16 : …], b[p * 16 : …, :]))
inline constexpr const char* kSplitK = R"(module {
  tt.func public @split_k(%arg0: !tt.ptr<f32>, %arg1: !tt.ptr<f32>, %arg2: !tt.ptr<f32>) attributes {noinline = false} {
    %cst = arith.constant dense<true> : tensor<16x16xi1>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<16x16xf32>
    %cst_1 = arith.constant dense<16> : tensor<16x1xi32>
    %cst_2 = arith.constant dense<64> : tensor<16x1xi32>
    %c16_i32 = arith.constant 16 : i32
    %0 = tt.get_program_id x : i32
    %1 = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %2 = arith.muli %0, %c16_i32 : i32
    %3 = tt.splat %2 : i32 -> tensor<16xi32>
    %4 = arith.addi %3, %1 : tensor<16xi32>
    %5 = tt.expand_dims %1 {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
    %6 = arith.muli %5, %cst_2 : tensor<16x1xi32>
    %7 = tt.splat %arg0 : !tt.ptr<f32> -> tensor<16x1x!tt.ptr<f32>>
    %8 = tt.addptr %7, %6 : tensor<16x1x!tt.ptr<f32>>, tensor<16x1xi32>
    %9 = tt.expand_dims %4 {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
    %10 = tt.broadcast %8 : tensor<16x1x!tt.ptr<f32>> -> tensor<16x16x!tt.ptr<f32>>
    %11 = tt.broadcast %9 : tensor<1x16xi32> -> tensor<16x16xi32>
    %12 = tt.addptr %10, %11 : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
    %13 = tt.load %12 : tensor<16x16x!tt.ptr<f32>>
    %14 = tt.expand_dims %4 {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
    %15 = arith.muli %14, %cst_1 : tensor<16x1xi32>
    %16 = tt.splat %arg1 : !tt.ptr<f32> -> tensor<16x1x!tt.ptr<f32>>
    %17 = tt.addptr %16, %15 : tensor<16x1x!tt.ptr<f32>>, tensor<16x1xi32>
    %18 = tt.expand_dims %1 {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
    %19 = tt.broadcast %17 : tensor<16x1x!tt.ptr<f32>> -> tensor<16x16x!tt.ptr<f32>>
    %20 = tt.broadcast %18 : tensor<1x16xi32> -> tensor<16x16xi32>
    %21 = tt.addptr %19, %20 : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
    %22 = tt.load %21 : tensor<16x16x!tt.ptr<f32>>
    %23 = tt.dot %13, %22, %cst_0 : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
    %24 = arith.muli %5, %cst_1 : tensor<16x1xi32>
    %25 = tt.splat %arg2 : !tt.ptr<f32> -> tensor<16x1x!tt.ptr<f32>>
    %26 = tt.addptr %25, %24 : tensor<16x1x!tt.ptr<f32>>, tensor<16x1xi32>
    %27 = tt.broadcast %26 : tensor<16x1x!tt.ptr<f32>> -> tensor<16x16x!tt.ptr<f32>>
    %28 = tt.addptr %27, %20 : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
    %29 = tt.atomic_rmw fadd, acq_rel, gpu, %28, %23, %cst : (tensor<16x16x!tt.ptr<f32>>, tensor<16x16xf32>, tensor<16x16xi1>) -> tensor<16x16xf32>
    tt.return
  }
})";

// if p > 0: while tl.load(flags + p - 1, volatile=True) == 0: pass; tl.store(data + p, tl.load(data + p - 1) + 1)
// else: tl.store(data, 1)
// tl.debug_barrier(); tl.store(flags + p, 1, cache_modifier=".wt")
// A race: neither is the store a release nor the load an acquire.
inline constexpr const char* kVolatileFlags = R"(module {
  tt.func public @volatile_flags(%arg0: !tt.ptr<i32>, %arg1: !tt.ptr<i32>, %arg2: !tt.ptr<i32>) attributes {noinline = false} {
    %c-1_i32 = arith.constant -1 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = tt.get_program_id x : i32
    %1 = arith.cmpi sgt, %0, %c0_i32 : i32
    scf.if %1 {
      scf.while : () -> () {
        %7 = tt.addptr %arg1, %0 : !tt.ptr<i32>, i32
        %8 = tt.addptr %7, %c-1_i32 : !tt.ptr<i32>, i32
        %9 = tt.load %8 {isVolatile = true} : !tt.ptr<i32>
        %10 = arith.cmpi eq, %9, %c0_i32 : i32
        scf.condition(%10)
      } do {
        scf.yield
      }
      %3 = tt.addptr %arg0, %0 : !tt.ptr<i32>, i32
      %4 = tt.addptr %3, %c-1_i32 : !tt.ptr<i32>, i32
      %5 = tt.load %4 : !tt.ptr<i32>
      %6 = arith.addi %5, %c1_i32 : i32
      tt.store %3, %6 : !tt.ptr<i32>
    } else {
      tt.store %arg0, %c1_i32 : !tt.ptr<i32>
    }
    gpu.barrier
    %2 = tt.addptr %arg1, %0 : !tt.ptr<i32>, i32
    tt.store %2, %c1_i32 cacheModifier = wt : !tt.ptr<i32>
    tt.return
  }
})";

// v = tl.cumsum(tl.load(x + r)); if p > 0: while tl.atomic_add(flags + p - 1, 0) == 0: pass; base = tl.load(out + p * 16 - 1)
// tl.store(out + r, v + base); tl.debug_barrier(); tl.atomic_xchg(flags + p, 1)
inline constexpr const char* kLookback = R"(module {
  tt.func public @lookback(%arg0: !tt.ptr<i32>, %arg1: !tt.ptr<i32>, %arg2: !tt.ptr<i32>) attributes {noinline = false} {
    %c-1_i32 = arith.constant -1 : i32
    %true = arith.constant true
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %c16_i32 = arith.constant 16 : i32
    %0 = tt.get_program_id x : i32
    %1 = arith.muli %0, %c16_i32 : i32
    %2 = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %3 = tt.splat %1 : i32 -> tensor<16xi32>
    %4 = arith.addi %3, %2 : tensor<16xi32>
    %5 = tt.splat %arg0 : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
    %6 = tt.addptr %5, %4 : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
    %7 = tt.load %6 : tensor<16x!tt.ptr<i32>>
    %8 = "tt.scan"(%7) <{axis = 0 : i32, reverse = false}> ({
    ^bb0(%arg3: i32, %arg4: i32):
      %17 = arith.addi %arg3, %arg4 : i32
      tt.scan.return %17 : i32
    }) : (tensor<16xi32>) -> tensor<16xi32>
    %9 = arith.cmpi sgt, %0, %c0_i32 : i32
    %10 = scf.if %9 -> (i32) {
      scf.while : () -> () {
        %20 = tt.addptr %arg2, %0 : !tt.ptr<i32>, i32
        %21 = tt.addptr %20, %c-1_i32 : !tt.ptr<i32>, i32
        %22 = tt.atomic_rmw add, acq_rel, gpu, %21, %c0_i32, %true : (!tt.ptr<i32>, i32, i1) -> i32
        %23 = arith.cmpi eq, %22, %c0_i32 : i32
        scf.condition(%23)
      } do {
        scf.yield
      }
      %17 = tt.addptr %arg1, %1 : !tt.ptr<i32>, i32
      %18 = tt.addptr %17, %c-1_i32 : !tt.ptr<i32>, i32
      %19 = tt.load %18 : !tt.ptr<i32>
      scf.yield %19 : i32
    } else {
      scf.yield %c0_i32 : i32
    }
    %11 = tt.splat %arg1 : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
    %12 = tt.addptr %11, %4 : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
    %13 = tt.splat %10 : i32 -> tensor<16xi32>
    %14 = arith.addi %8, %13 : tensor<16xi32>
    tt.store %12, %14 : tensor<16x!tt.ptr<i32>>
    gpu.barrier
    %15 = tt.addptr %arg2, %0 : !tt.ptr<i32>, i32
    %16 = tt.atomic_rmw exch, acq_rel, gpu, %15, %c1_i32, %true : (!tt.ptr<i32>, i32, i1) -> i32
    tt.return
  }
})";

// while tl.atomic_add(flag, 0) == 0: pass
inline constexpr const char* kWaitForever = R"(module {
  tt.func public @wait_forever(%arg0: !tt.ptr<i32>, %arg1: !tt.ptr<i32>) attributes {noinline = false} {
    %c1_i32 = arith.constant 1 : i32
    %true = arith.constant true
    %c0_i32 = arith.constant 0 : i32
    scf.while : () -> () {
      %0 = tt.atomic_rmw add, acq_rel, gpu, %arg0, %c0_i32, %true : (!tt.ptr<i32>, i32, i1) -> i32
      %1 = arith.cmpi eq, %0, %c0_i32 : i32
      scf.condition(%1)
    } do {
      scf.yield
    }
    tt.store %arg1, %c1_i32 : !tt.ptr<i32>
    tt.return
  }
})";

}  // namespace tritogen::tile
