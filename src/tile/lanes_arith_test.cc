// Element-wise operations against definitions written another way: integers through 128 bits, floats through
// f64.
#include <gtest/gtest.h>

#include <functional>

#include "tile/lanes_test_util.h"

namespace tritogen::tile::lanes {
namespace {

using Wide = __int128;

constexpr size_t kLanes = 3000;

Wide SignedValue(Elem elem, uint64_t bits) {
  const int width = elem == Elem::kI1 ? 1 : 8 * ElemBytes(elem);
  return bits >> (width - 1) & 1 ? static_cast<Wide>(bits) - (static_cast<Wide>(1) << width)
                                 : static_cast<Wide>(bits);
}
int Width(Elem elem) {
  return elem == Elem::kI1 ? 1 : 8 * ElemBytes(elem);
}

struct IntegerCase {
  OpCode code;
  bool is_signed;
  std::function<Wide(Wide a, Wide b, int width)> expected;  // reduced modulo 2^width by the test
};

Wide FloorDivide(Wide a, Wide b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

const std::vector<IntegerCase>& IntegerCases() {
  static const std::vector<IntegerCase> cases{
      {OpCode::kAddI, true, [](Wide a, Wide b, int) { return a + b; }},
      {OpCode::kSubI, true, [](Wide a, Wide b, int) { return a - b; }},
      {OpCode::kMulI, true, [](Wide a, Wide b, int) { return a * b; }},
      {OpCode::kDivSI, true, [](Wide a, Wide b, int) { return b == 0 ? -1 : a / b; }},
      {OpCode::kRemSI, true, [](Wide a, Wide b, int) { return b == 0 ? a : a % b; }},
      {OpCode::kDivUI, false, [](Wide a, Wide b, int) { return b == 0 ? -1 : a / b; }},
      {OpCode::kRemUI, false, [](Wide a, Wide b, int) { return b == 0 ? a : a % b; }},
      {OpCode::kFloorDivSI, true, [](Wide a, Wide b, int) { return b == 0 ? -1 : FloorDivide(a, b); }},
      {OpCode::kCeilDivSI, true, [](Wide a, Wide b, int) { return b == 0 ? -1 : -FloorDivide(-a, b); }},
      {OpCode::kCeilDivUI, false, [](Wide a, Wide b, int) { return b == 0 ? -1 : (a + b - 1) / b; }},
      {OpCode::kAndI, true, [](Wide a, Wide b, int) { return a & b; }},
      {OpCode::kOrI, true, [](Wide a, Wide b, int) { return a | b; }},
      {OpCode::kXorI, true, [](Wide a, Wide b, int) { return a ^ b; }},
      {OpCode::kMinSI, true, [](Wide a, Wide b, int) { return a < b ? a : b; }},
      {OpCode::kMaxSI, true, [](Wide a, Wide b, int) { return a < b ? b : a; }},
      {OpCode::kMinUI, false, [](Wide a, Wide b, int) { return a < b ? a : b; }},
      {OpCode::kMaxUI, false, [](Wide a, Wide b, int) { return a < b ? b : a; }},
      {OpCode::kShlI, false,
       [](Wide a, Wide b, int width) { return b >= width ? 0 : a << static_cast<int>(b); }},
      {OpCode::kShrUI, false,
       [](Wide a, Wide b, int width) { return b >= width ? 0 : a >> static_cast<int>(b); }},
  };
  return cases;
}

TEST(LanesArith, Integers) {
  for (const IntegerCase& test : IntegerCases()) {
    for (Elem elem : kIntegers) {
      const Array a = RandomArray(elem, kLanes, 20), b = RandomArray(elem, kLanes, 21);
      const auto value = [&](uint64_t bits) {
        return test.is_signed ? SignedValue(elem, bits) : static_cast<Wide>(bits);
      };
      const uint64_t mask = ~uint64_t{0} >> (64 - Width(elem));
      Array out(elem, kLanes);
      FindBinary(test.code, elem).vv(a.data(), b.data(), out.data(), kLanes);
      for (size_t i = 0; i < kLanes; ++i) {
        const uint64_t expected =
            static_cast<uint64_t>(test.expected(value(a.Get(i)), value(b.Get(i)), Width(elem))) & mask;
        ASSERT_EQ(out.Get(i), expected)
            << Case(OpName(test.code), elem, BestIsa()) << ": " << a.Get(i) << ", " << b.Get(i);
      }
    }
  }
}

TEST(LanesArith, SignedShiftAndHighProduct) {
  for (Elem elem : kIntegers) {
    const Array a = RandomArray(elem, kLanes, 22), b = RandomArray(elem, kLanes, 23);
    const uint64_t mask = ~uint64_t{0} >> (64 - Width(elem));
    Array out(elem, kLanes);
    FindBinary(OpCode::kShrSI, elem).vv(a.data(), b.data(), out.data(), kLanes);
    for (size_t i = 0; i < kLanes; ++i) {
      const int amount = b.Get(i) >= 64 ? 64 : static_cast<int>(b.Get(i));
      ASSERT_EQ(out.Get(i), static_cast<uint64_t>(SignedValue(elem, a.Get(i)) >> amount) & mask)
          << static_cast<int>(elem);
    }
    if (Width(elem) < 32) continue;
    FindBinary(OpCode::kMulHiUI, elem).vv(a.data(), b.data(), out.data(), kLanes);
    for (size_t i = 0; i < kLanes; ++i) {
      const unsigned __int128 product = static_cast<unsigned __int128>(a.Get(i)) * b.Get(i);
      ASSERT_EQ(out.Get(i), static_cast<uint64_t>(product >> Width(elem)) & mask);
    }
  }
}

TEST(LanesArith, AbsOfSmallestIntegerStays) {
  int32_t x[] = {-5, 5, INT32_MIN}, out[3];
  FindUnary(OpCode::kAbsI, Elem::kI32)(x, out, 3);
  EXPECT_EQ(out[0], 5);
  EXPECT_EQ(out[1], 5);
  EXPECT_EQ(out[2], INT32_MIN);
}

// Correctly rounded results in every float type: f64 (80 bits for f64 itself) is wide enough to round once
// more.
template <class Op>
void ExpectRounded(OpCode code, Op op) {
  for (Elem elem : kFloats) {
    const Array a = RandomArray(elem, kLanes, 24), b = RandomArray(elem, kLanes, 25);
    Array out(elem, kLanes), expected(elem, kLanes);
    FindBinary(code, elem).vv(a.data(), b.data(), out.data(), kLanes);
    for (size_t i = 0; i < kLanes; ++i) {
      const double x = a.Float(i), y = b.Float(i);
      if (elem == Elem::kF32)
        expected.Set(
            i, std::bit_cast<uint32_t>(static_cast<float>(op(static_cast<float>(x), static_cast<float>(y)))));
      else
        expected.Set(i, FloatBits(elem, op(x, y)));
    }
    const int64_t at = FirstDifference(expected, out);
    EXPECT_EQ(at, -1) << Case(OpName(code), elem, BestIsa()) << " of " << a.Float(at) << ", " << b.Float(at);
  }
}

TEST(LanesArith, FloatsRoundOnce) {
  ExpectRounded(OpCode::kAddF, [](auto x, auto y) { return x + y; });
  ExpectRounded(OpCode::kSubF, [](auto x, auto y) { return x - y; });
  ExpectRounded(OpCode::kMulF, [](auto x, auto y) { return x * y; });
  ExpectRounded(OpCode::kDivF, [](auto x, auto y) { return x / y; });
  ExpectRounded(OpCode::kPreciseDivF, [](auto x, auto y) { return x / y; });
  ExpectRounded(OpCode::kRemF, [](auto x, auto y) { return std::fmod(x, y); });
}

// The product lies between two numbers of the format; only the smallest of addends says which is nearer.
TEST(LanesArith, FmaOfSmallFloatsRoundsOnce) {
  struct Row {
    Elem elem;
    double a, b, up;
  };
  for (const Row& row : {Row{Elem::kF16, 65.0 / 64, 33.0 / 32, 1 + 3.0 / 64 + 1.0 / 1024},
                         Row{Elem::kBF16, 17.0 / 16, 17.0 / 16, 1 + 1.0 / 8 + 1.0 / 128}}) {
    Array a(row.elem, 1), b(row.elem, 1), c(row.elem, 1), out(row.elem, 1);
    a.Set(0, FloatBits(row.elem, row.a));
    b.Set(0, FloatBits(row.elem, row.b));
    c.Set(0, 1);  // the smallest subnormal
    for (Isa isa : AllIsas()) {
      FindTernary(OpCode::kFma, row.elem, isa)(a.data(), b.data(), c.data(), out.data(), 1);
      EXPECT_EQ(out.Float(0), row.up) << Case("fma", row.elem, isa);
    }
  }
}

TEST(LanesArith, FmaIsFused) {
  const Array a = RandomArray(Elem::kF32, kLanes, 26), b = RandomArray(Elem::kF32, kLanes, 27);
  const Array c = RandomArray(Elem::kF32, kLanes, 28);
  Array out(Elem::kF32, kLanes), expected(Elem::kF32, kLanes);
  for (size_t i = 0; i < kLanes; ++i) {
    const auto at = [&](const Array& x) { return static_cast<float>(x.Float(i)); };
    expected.Set(i, std::bit_cast<uint32_t>(std::fma(at(a), at(b), at(c))));
  }
  for (Isa isa : AllIsas()) {
    FindTernary(OpCode::kFma, Elem::kF32, isa)(a.data(), b.data(), c.data(), out.data(), kLanes);
    EXPECT_EQ(FirstDifference(expected, out), -1) << Case("fma", Elem::kF32, isa);
    float x = 1 + 0x1p-12f, y = 1 - 0x1p-12f, z = -1, fused;
    FindTernary(OpCode::kFma, Elem::kF32, isa)(&x, &y, &z, &fused, 1);
    EXPECT_EQ(fused, -0x1p-24f);
  }
}

TEST(LanesArith, MinimaAndMaxima) {
  const float nan = NAN, inf = INFINITY;
  const float pairs[][2] = {{nan, 1},      {1, nan}, {nan, nan},  {0.0f, -0.0f},
                            {-0.0f, 0.0f}, {1, 2},   {-inf, inf}, {nan, -inf}};
  const float num_max[] = {1, 1, nan, 0.0f, 0.0f, 2, inf, -inf},
              num_min[] = {1, 1, nan, -0.0f, -0.0f, 1, -inf, -inf};
  for (Isa isa : AllIsas()) {
    for (Elem elem : kFloats) {
      for (size_t i = 0; i < std::size(pairs); ++i) {
        Array a(elem, 1), b(elem, 1), out(elem, 1);
        a.Set(0, FloatBits(elem, pairs[i][0]));
        b.Set(0, FloatBits(elem, pairs[i][1]));
        const auto expect = [&](OpCode code, double expected) {
          FindBinary(code, elem, isa).vv(a.data(), b.data(), out.data(), 1);
          if (std::isnan(expected))
            EXPECT_TRUE(std::isnan(out.Float(0))) << Case(OpName(code), elem, isa) << " pair " << i;
          else
            EXPECT_EQ(out.Get(0), FloatBits(elem, expected))
                << Case(OpName(code), elem, isa) << " pair " << i;
        };
        const bool any_nan = std::isnan(pairs[i][0]) || std::isnan(pairs[i][1]);
        expect(OpCode::kMaxNumF, num_max[i]);
        expect(OpCode::kMinNumF, num_min[i]);
        expect(OpCode::kMaximumF, any_nan ? nan : num_max[i]);
        expect(OpCode::kMinimumF, any_nan ? nan : num_min[i]);
      }
    }
  }
}

TEST(LanesArith, Clamp) {
  const float x[] = {-3, 0.5f, 7, NAN}, lo[] = {0, 0, 0, 0}, hi[] = {6, 6, 6, 6};
  float out[4];
  FindTernary(OpCode::kClampF, Elem::kF32)(x, lo, hi, out, 4);
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[1], 0.5f);
  EXPECT_EQ(out[2], 6);
  EXPECT_EQ(out[3], 0);  // NaN gives way to the bounds
  FindClampAll(Elem::kF32)(x, lo, hi, out, 4);
  EXPECT_EQ(out[2], 6);
  EXPECT_TRUE(std::isnan(out[3]));
}

TEST(LanesArith, FloatPredicates) {
  struct Row {
    std::string_view name;
    bool less, equal, greater, unordered;
  };
  const Row rows[] = {{"false", 0, 0, 0, 0}, {"oeq", 0, 1, 0, 0}, {"ogt", 0, 0, 1, 0}, {"oge", 0, 1, 1, 0},
                      {"olt", 1, 0, 0, 0},   {"ole", 1, 1, 0, 0}, {"one", 1, 0, 1, 0}, {"ord", 1, 1, 1, 0},
                      {"ueq", 0, 1, 0, 1},   {"ugt", 0, 0, 1, 1}, {"uge", 0, 1, 1, 1}, {"ult", 1, 0, 0, 1},
                      {"ule", 1, 1, 0, 1},   {"une", 1, 0, 1, 1}, {"uno", 0, 0, 0, 1}, {"true", 1, 1, 1, 1}};
  for (const Row& row : rows) {
    for (Elem elem : kFloats) {
      const Array a = RandomArray(elem, kLanes, 29), b = RandomArray(elem, kLanes, 30);
      Array out(Elem::kI1, kLanes);
      FindCompare(OpCode::kCmpF, row.name, elem).vv(a.data(), b.data(), out.data(), kLanes);
      for (size_t i = 0; i < kLanes; ++i) {
        const double x = a.Float(i), y = b.Float(i);
        const bool expected = std::isunordered(x, y) ? row.unordered
                              : x < y                ? row.less
                              : x > y                ? row.greater
                                                     : row.equal;
        ASSERT_EQ(out.Get(i), expected) << row.name << " " << x << " " << y;
      }
    }
  }
  EXPECT_FALSE(FindCompare(OpCode::kCmpF, "slt", Elem::kF32));
  EXPECT_FALSE(FindCompare(OpCode::kCmpI, "oeq", Elem::kI32));
}

TEST(LanesArith, IntegerPredicates) {
  for (std::string_view name : {"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"}) {
    for (Elem elem : kIntegers) {
      const Array a = RandomArray(elem, kLanes, 31), b = RandomArray(elem, kLanes, 32);
      Array out(Elem::kI1, kLanes);
      FindCompare(OpCode::kCmpI, name, elem).vv(a.data(), b.data(), out.data(), kLanes);
      for (size_t i = 0; i < kLanes; ++i) {
        const bool is_signed = name[0] == 's';
        const Wide x = is_signed ? SignedValue(elem, a.Get(i)) : static_cast<Wide>(a.Get(i));
        const Wide y = is_signed ? SignedValue(elem, b.Get(i)) : static_cast<Wide>(b.Get(i));
        const std::string_view relation = name.size() == 3 ? name.substr(1) : name;
        const bool expected = relation == "eq"   ? x == y
                              : relation == "ne" ? x != y
                              : relation == "lt" ? x < y
                              : relation == "le" ? x <= y
                              : relation == "gt" ? x > y
                                                 : x >= y;
        ASSERT_EQ(out.Get(i), expected) << name << " elem " << static_cast<int>(elem);
      }
    }
  }
}

// Functions of one f16 or bf16 lane over all 65536 codes, and of f32 and f64 over edges and random lanes,
// against libm.
TEST(LanesArith, UnaryFunctions) {
  const std::pair<OpCode, double (*)(double)> functions[] = {
      {OpCode::kExp, [](double x) { return std::exp(x); }},
      {OpCode::kExp2, [](double x) { return std::exp2(x); }},
      {OpCode::kLog, [](double x) { return std::log(x); }},
      {OpCode::kLog2, [](double x) { return std::log2(x); }},
      {OpCode::kSin, [](double x) { return std::sin(x); }},
      {OpCode::kCos, [](double x) { return std::cos(x); }},
      {OpCode::kSqrt, [](double x) { return std::sqrt(x); }},
      {OpCode::kRsqrt, [](double x) { return 1 / std::sqrt(x); }},
      {OpCode::kErf, [](double x) { return std::erf(x); }},
      {OpCode::kTanh, [](double x) { return std::tanh(x); }},
      {OpCode::kFloor, [](double x) { return std::floor(x); }},
      {OpCode::kCeil, [](double x) { return std::ceil(x); }},
      {OpCode::kAbsF, [](double x) { return std::fabs(x); }},
      {OpCode::kNegF, [](double x) { return -x; }}};
  for (const auto& [code, reference] : functions) {
    for (Elem elem : kFloats) {
      const bool small = ElemBytes(elem) == 2;
      Array in = RandomArray(elem, small ? 65536 : 20000, 33);
      for (size_t i = 0; small && i < 65536; ++i) in.Set(i, i);
      Array expected(elem, in.size()), out(elem, in.size());
      for (size_t i = 0; i < in.size(); ++i) expected.Set(i, FloatBits(elem, reference(in.Float(i))));
      for (Isa isa : AllIsas()) {
        FindUnary(code, elem, isa)(in.data(), out.data(), in.size());
        // 1 is added to these, as GELU does, and what is left near -1 are their last places.
        const bool saturates = elem == Elem::kF32 && (code == OpCode::kErf || code == OpCode::kTanh);
        const int64_t at = FirstDifference(expected, out, small ? 1 : saturates ? 2 : 4);
        EXPECT_EQ(at, -1) << Case(OpName(code), elem, isa) << " of " << (at < 0 ? 0 : in.Float(at));
      }
    }
  }
}

TEST(LanesArith, EmptyArrays) {
  for (Isa isa : AllIsas()) {
    FindBinary(OpCode::kAddF, Elem::kF32, isa).vv(nullptr, nullptr, nullptr, 0);
    FindUnary(OpCode::kExp, Elem::kF32, isa)(nullptr, nullptr, 0);
    FindCast(OpCode::kTruncF, Elem::kF32, Elem::kF16, "", isa)(nullptr, nullptr, 0);
  }
}

}  // namespace
}  // namespace tritogen::tile::lanes
