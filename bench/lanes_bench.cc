// Speed of the lane kernels per instruction set, on tiles that fit the first-level cache or nearly.
//   lanes_bench --benchmark_filter=dot
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "tile/lanes/lanes.h"

namespace tritogen::tile::lanes {
namespace {

constexpr size_t kLanes = 4096;

struct Operands {
  std::vector<float> a = std::vector<float>(kLanes * 4, 1.25f), b = std::vector<float>(kLanes * 4, 0.75f);
  std::vector<float> out = std::vector<float>(kLanes * 4);
};

void Report(benchmark::State& state, double lanes) {
  state.counters["Glanes/s"] =
      benchmark::Counter(lanes * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void Unary(benchmark::State& state, UnaryFn function) {
  Operands x;
  for (auto _ : state) {
    function(x.a.data(), x.out.data(), kLanes);
    benchmark::ClobberMemory();
  }
  Report(state, kLanes);
}

void Binary(benchmark::State& state, BinaryFn function) {
  Operands x;
  for (auto _ : state) {
    function.vv(x.a.data(), x.b.data(), x.out.data(), kLanes);
    benchmark::ClobberMemory();
  }
  Report(state, kLanes);
}

void Reduction(benchmark::State& state, ReduceFn function, size_t outer, size_t axis, size_t inner) {
  Operands x;
  for (auto _ : state) {
    function(x.a.data(), x.out.data(), outer, axis, inner);
    benchmark::ClobberMemory();
  }
  Report(state, static_cast<double>(outer * axis * inner));
}

void Scan(benchmark::State& state, ScanFn function, size_t axis) {
  Operands x;
  for (auto _ : state) {
    function(x.a.data(), x.out.data(), kLanes / axis, axis, 1, false);
    benchmark::ClobberMemory();
  }
  Report(state, kLanes);
}

void Dot(benchmark::State& state, DotFn function, DotShape shape) {
  std::vector<double> a(shape.m * shape.k), b(shape.k * shape.n), c(shape.m * shape.n);
  std::vector<char> scratch(DotScratchBytes(shape));
  for (auto _ : state) {
    function(a.data(), b.data(), c.data(), shape, scratch.data());
    benchmark::ClobberMemory();
  }
  const double flops = 2e-9 * static_cast<double>(shape.m * shape.n * shape.k);
  state.counters["GFLOP/s"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}

void Register(const std::string& isa_name, Isa isa) {
  const auto name = [&](const char* what) { return what + ("/" + isa_name); };
  const auto add = [&](const char* what, auto run, auto... arguments) {
    benchmark::RegisterBenchmark(name(what).c_str(), run, arguments...);
  };
  add("add_f32", Binary, FindBinary(OpCode::kAddF, Elem::kF32, isa));
  add("add_f16", Binary, FindBinary(OpCode::kAddF, Elem::kF16, isa));
  add("add_i32", Binary, FindBinary(OpCode::kAddI, Elem::kI32, isa));
  add("max_f32", Binary, FindBinary(OpCode::kMaxNumF, Elem::kF32, isa));
  add("rem_i32", Binary, FindBinary(OpCode::kRemSI, Elem::kI32, isa));
  add("less_f32", Binary, FindCompare(OpCode::kCmpF, "olt", Elem::kF32, isa));
  add("exp_f32", Unary, FindUnary(OpCode::kExp, Elem::kF32, isa));
  add("exp_f64", Unary, FindUnary(OpCode::kExp, Elem::kF64, isa));
  add("tanh_f32", Unary, FindUnary(OpCode::kTanh, Elem::kF32, isa));
  add("cast_f32_f16", Unary, FindCast(OpCode::kTruncF, Elem::kF32, Elem::kF16, "", isa));
  add("cast_bf16_f32", Unary, FindCast(OpCode::kExtF, Elem::kBF16, Elem::kF32, "", isa));
  add("cast_f32_e4m3", Unary, FindCast(OpCode::kFpToFp, Elem::kF32, Elem::kF8E4M3, "", isa));
  add("cast_f32_i32", Unary, FindCast(OpCode::kFPToSI, Elem::kF32, Elem::kI32, "", isa));
  add("sum_f32_rows_4x1024", Reduction, FindReduce(OpCode::kAddF, Elem::kF32, isa), 4, 1024, 1);
  add("sum_f32_rows_64x64", Reduction, FindReduce(OpCode::kAddF, Elem::kF32, isa), 64, 64, 1);
  add("sum_f32_columns_64x64", Reduction, FindReduce(OpCode::kAddF, Elem::kF32, isa), 1, 64, 64);
  add("max_f32_rows_4x1024", Reduction, FindReduce(OpCode::kMaxNumF, Elem::kF32, isa), 4, 1024, 1);
  add("cumsum_f32_4x1024", Scan, FindScan(OpCode::kAddF, Elem::kF32, isa), 1024);
  add("dot_f32_64x64x32", Dot, FindDot(Elem::kF32, Elem::kF32, DotPrecision::kIeee, isa),
      DotShape{64, 64, 32});
  add("dot_f32_128x128x64", Dot, FindDot(Elem::kF32, Elem::kF32, DotPrecision::kIeee, isa),
      DotShape{128, 128, 64});
  add("dot_tf32_128x128x64", Dot, FindDot(Elem::kF32, Elem::kF32, DotPrecision::kTf32, isa),
      DotShape{128, 128, 64});
  add("dot_tf32x3_128x128x64", Dot, FindDot(Elem::kF32, Elem::kF32, DotPrecision::kTf32x3, isa),
      DotShape{128, 128, 64});
  add("dot_f16_128x128x64", Dot, FindDot(Elem::kF16, Elem::kF32, DotPrecision::kIeee, isa),
      DotShape{128, 128, 64});
  add("dot_bf16_64x64x32", Dot, FindDot(Elem::kBF16, Elem::kF32, DotPrecision::kIeee, isa),
      DotShape{64, 64, 32});
  add("dot_i8_128x128x64", Dot, FindDot(Elem::kI8, Elem::kI32, DotPrecision::kIeee, isa),
      DotShape{128, 128, 64});
  add("dot_f64_64x64x32", Dot, FindDot(Elem::kF64, Elem::kF64, DotPrecision::kIeee, isa),
      DotShape{64, 64, 32});
}

}  // namespace
}  // namespace tritogen::tile::lanes

int main(int argc, char** argv) {
  using tritogen::tile::lanes::Isa;
  const Isa best = tritogen::tile::lanes::BestIsa();
  tritogen::tile::lanes::Register("generic", Isa::kGeneric);
  if (best != Isa::kGeneric) tritogen::tile::lanes::Register("avx2", Isa::kAvx2);
  if (best == Isa::kAvx512) tritogen::tile::lanes::Register("avx512", Isa::kAvx512);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
