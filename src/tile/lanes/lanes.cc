#include "tile/lanes/lanes.h"

#include "tile/lanes/formats.h"
#include "tile/lanes/isa.h"

namespace tritogen::tile::lanes {

const Tables& TablesOf(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return avx512::kTables;
  if (isa == Isa::kAvx2) return avx2::kTables;
#endif
  return generic::kTables;
}

namespace {

Isa DetectIsa() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  if (v4) return Isa::kAvx512;
  if (v3) return Isa::kAvx2;
#endif
  return Isa::kGeneric;
}

struct NamedPredicate {
  std::string_view name;
  Predicate predicate;
};

constexpr NamedPredicate kIntegerPredicates[] = {
    {"eq", Predicate::kEq},   {"ne", Predicate::kNe},   {"slt", Predicate::kSlt}, {"sle", Predicate::kSle},
    {"sgt", Predicate::kSgt}, {"sge", Predicate::kSge}, {"ult", Predicate::kUlt}, {"ule", Predicate::kUle},
    {"ugt", Predicate::kUgt}, {"uge", Predicate::kUge}};

constexpr NamedPredicate kFloatPredicates[] = {
    {"false", Predicate::kFalse}, {"oeq", Predicate::kOeq},  {"ogt", Predicate::kOgt},
    {"oge", Predicate::kOge},     {"olt", Predicate::kOlt},  {"ole", Predicate::kOle},
    {"one", Predicate::kOne},     {"ord", Predicate::kOrd},  {"ueq", Predicate::kUeq},
    {"ugt", Predicate::kFUgt},    {"uge", Predicate::kFUge}, {"ult", Predicate::kFUlt},
    {"ule", Predicate::kFUle},    {"une", Predicate::kUne},  {"uno", Predicate::kUno},
    {"true", Predicate::kTrue}};

template <size_t kCount>
BinaryFn CompareNamed(const NamedPredicate (&rows)[kCount], std::string_view name, Elem elem, Isa isa) {
  for (const NamedPredicate& row : rows) {
    if (row.name == name) return TablesOf(isa).compare(row.predicate, elem);
  }
  return {};
}

}  // namespace

Isa BestIsa() {
  static const Isa best = DetectIsa();
  return best;
}

BinaryFn FindBinary(OpCode code, Elem elem, Isa isa) {
  return TablesOf(isa).binary(code, elem);
}
UnaryFn FindUnary(OpCode code, Elem elem, Isa isa) {
  return TablesOf(isa).unary(code, elem);
}
TernaryFn FindTernary(OpCode code, Elem elem, Isa isa) {
  return TablesOf(isa).ternary(code, elem);
}
TernaryFn FindClampAll(Elem elem, Isa isa) {
  return TablesOf(isa).clamp_all(elem);
}

BinaryFn FindCompare(OpCode code, std::string_view predicate, Elem elem, Isa isa) {
  if (code == OpCode::kCmpI) return CompareNamed(kIntegerPredicates, predicate, elem, isa);
  if (code == OpCode::kCmpF) return CompareNamed(kFloatPredicates, predicate, elem, isa);
  return {};
}

TernaryFn FindSelect(int elem_bytes, Isa isa) {
  return TablesOf(isa).select(elem_bytes);
}

UnaryFn FindCast(OpCode code, Elem from, Elem to, std::string_view rounding, Isa isa) {
  if (!rounding.empty() && rounding != "rtne" && rounding != "rtz") return nullptr;
  return TablesOf(isa).cast(code, from, to, rounding == "rtz");
}

ReduceFn FindReduce(OpCode code, Elem elem, Isa isa) {
  return TablesOf(isa).reduce(code, elem);
}
ScanFn FindScan(OpCode code, Elem elem, Isa isa) {
  return TablesOf(isa).scan(code, elem);
}
DotFn FindDot(Elem in, Elem out, DotPrecision precision, Isa isa) {
  return TablesOf(isa).dot(in, out, precision);
}

size_t DotScratchBytes(DotShape shape) {
  // Panels of b (f64 at most, one register block wider than n), rows of a and sums in f32, each aligned. See
  // kernels_dot.cc.
  const size_t depth = shape.k < 256 ? shape.k : 256;
  return depth * (shape.n + 32) * 8 + shape.m * depth * 4 + shape.m * shape.n * 4 + 3 * 64;
}

uint16_t FloatToHalf(float x) {
  return common::HalfFormat::Narrow<false>(x);
}
float HalfToFloat(uint16_t bits) {
  return common::HalfFormat::Widen(bits);
}
uint16_t FloatToBFloat(float x) {
  return common::BFloatFormat::Narrow<false>(x);
}
float BFloatToFloat(uint16_t bits) {
  return common::BFloatFormat::Widen(bits);
}
uint8_t FloatToE4M3(float x) {
  return common::E4M3Format::Narrow<false>(x);
}
float E4M3ToFloat(uint8_t bits) {
  return common::E4M3Format::Widen(bits);
}
uint8_t FloatToE5M2(float x) {
  return common::E5M2Format::Narrow<false>(x);
}
float E5M2ToFloat(uint8_t bits) {
  return common::E5M2Format::Widen(bits);
}
float RoundToTf32(float x) {
  return common::NearestTf32(x);
}

}  // namespace tritogen::tile::lanes
