// Casts against the formats' definitions: exhaustive over the codes of small floats, and around every
// rounding boundary.
#include <gtest/gtest.h>

#include "tile/lanes_test_util.h"

namespace tritogen::tile::lanes {
namespace {

std::vector<Elem> SmallFloats() {
  return {Elem::kF16, Elem::kBF16, Elem::kF8E4M3, Elem::kF8E5M2};
}

Array AllCodes(Elem elem) {
  Array codes(elem, size_t{1} << (8 * ElemBytes(elem)));
  for (size_t i = 0; i < codes.size(); ++i) codes.Set(i, i);
  return codes;
}

// Values, midpoints, and both neighbours of each in `from`: every place where rounding to `to` can turn.
Array Boundaries(Elem from, Elem to) {
  const FloatLayout layout = LayoutOf(to);
  std::vector<double> points{INFINITY, NAN, 1e30, 3.4e38, 1e-45, 0};
  if (from == Elem::kF64) points.insert(points.end(), {1e300, 5e-324, 1e-200});
  for (uint32_t code = 0; code <= layout.max; ++code) {
    const double value = Decode(to, code),
                 next = code < layout.max ? Decode(to, code + 1) : 2 * value - Decode(to, code - 1);
    for (double x : {value, value / 2 + next / 2}) {
      const double down =
          from == Elem::kF64 ? std::nextafter(x, -1) : std::nextafterf(static_cast<float>(x), -1);
      const double up =
          from == Elem::kF64 ? std::nextafter(x, INFINITY) : std::nextafterf(static_cast<float>(x), INFINITY);
      points.insert(points.end(), {x, down, up});
    }
  }
  Array array(from, 2 * points.size());
  for (size_t i = 0; i < points.size(); ++i) {
    array.Set(2 * i, FloatBits(from, points[i]));
    array.Set(2 * i + 1, FloatBits(from, -points[i]));
  }
  return array;
}

void ExpectEncoded(OpCode code, const Array& in, Elem to, std::string_view rounding) {
  Array expected(to, in.size()), out(to, in.size());
  for (size_t i = 0; i < in.size(); ++i) expected.Set(i, Encode(to, in.Float(i), rounding == "rtz"));
  for (Isa isa : AllIsas()) {
    FindCast(code, in.elem, to, rounding, isa)(in.data(), out.data(), in.size());
    const int64_t at = FirstDifference(expected, out);
    EXPECT_EQ(at, -1) << Case(OpName(code), in.elem, isa) << " to " << static_cast<int>(to) << " " << rounding
                      << " of " << (at < 0 ? 0 : in.Float(at)) << ": " << (at < 0 ? 0 : out.Get(at));
  }
}

TEST(LanesCast, WideningIsExact) {
  for (Elem from : SmallFloats()) {
    const Array codes = AllCodes(from);
    for (Elem to : {Elem::kF32, Elem::kF64}) {
      Array expected(to, codes.size()), out(to, codes.size());
      for (size_t i = 0; i < codes.size(); ++i) expected.Set(i, FloatBits(to, codes.Float(i)));
      for (Isa isa : AllIsas()) {
        FindCast(OpCode::kFpToFp, from, to, "", isa)(codes.data(), out.data(), codes.size());
        EXPECT_EQ(FirstDifference(expected, out), -1) << Case("widen", from, isa);
      }
    }
  }
}

TEST(LanesCast, NarrowingAroundEveryBoundary) {
  for (Elem to : SmallFloats()) {
    for (Elem from : {Elem::kF32, Elem::kF64}) {
      for (std::string_view rounding : {"rtne", "rtz"})
        ExpectEncoded(OpCode::kFpToFp, Boundaries(from, to), to, rounding);
      ExpectEncoded(OpCode::kTruncF, RandomArray(from, 20000, 40), to, "");
    }
  }
}

TEST(LanesCast, SmallToSmallOverAllCodes) {
  for (Elem from : SmallFloats()) {
    for (Elem to : SmallFloats()) {
      for (std::string_view rounding : {"", "rtz"})
        ExpectEncoded(OpCode::kFpToFp, AllCodes(from), to, rounding);
    }
  }
}

TEST(LanesCast, F64ToF32) {
  const Array in = RandomArray(Elem::kF64, 20000, 41);
  Array out(Elem::kF32, in.size());
  FindCast(OpCode::kFpToFp, Elem::kF64, Elem::kF32, "rtz")(in.data(), out.data(), in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    const double x = in.Float(i), z = out.Float(i);
    if (std::isnan(x)) {
      EXPECT_TRUE(std::isnan(z));
    } else if (std::isfinite(x)) {
      EXPECT_LE(std::fabs(z), std::fabs(x));
      const double next = std::nextafterf(static_cast<float>(z), std::signbit(x) ? -INFINITY : INFINITY);
      EXPECT_GT(std::fabs(next), std::fabs(x));
    } else {
      EXPECT_EQ(z, x);
    }
  }
}

TEST(LanesCast, ScalarsAreTheSameFunctions) {
  for (uint32_t code = 0; code < 65536; ++code) {
    const uint16_t bits = static_cast<uint16_t>(code);
    const float half = HalfToFloat(bits), brain = BFloatToFloat(bits);
    if (!std::isnan(half)) {
      ASSERT_EQ(FloatToHalf(half), bits);
      ASSERT_EQ(half, Decode(Elem::kF16, code));
    }
    if (!std::isnan(brain)) {
      ASSERT_EQ(FloatToBFloat(brain), bits);
    }
  }
  for (uint32_t code = 0; code < 256; ++code) {
    const uint8_t bits = static_cast<uint8_t>(code);
    if (!std::isnan(E4M3ToFloat(bits))) {
      EXPECT_EQ(FloatToE4M3(E4M3ToFloat(bits)), bits);
    }
    if (std::isfinite(E5M2ToFloat(bits))) {
      EXPECT_EQ(FloatToE5M2(E5M2ToFloat(bits)), bits);
    }
  }
  EXPECT_EQ(FloatToE4M3(1e9f), 0x7e);
  EXPECT_EQ(FloatToE5M2(-INFINITY), 0xfb);
  EXPECT_EQ(FloatToE4M3(NAN) & 0x7f, 0x7f);
  EXPECT_EQ(FloatToBFloat(std::bit_cast<float>(0x7f800001u)), 0x7fc0);  // this NaN's payload is cut off
}

TEST(LanesCast, Tf32RoundsTiesAway) {
  EXPECT_EQ(RoundToTf32(1 + 0x1p-11f), 1 + 0x1p-10f);
  EXPECT_EQ(RoundToTf32(-1 - 0x1p-11f), -1 - 0x1p-10f);
  EXPECT_EQ(RoundToTf32(1 + 0x1.ffep-12f), 1.0f);
  EXPECT_EQ(RoundToTf32(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(RoundToTf32(std::bit_cast<float>(0x7f800001u))));
  EXPECT_TRUE(std::signbit(RoundToTf32(-0.0f)));
}

TEST(LanesCast, IntegerWidths) {
  for (Elem from : kIntegers) {
    const Array in = RandomArray(from, 3000, 42);
    for (Elem to : kIntegers) {
      const uint64_t mask = to == Elem::kI1 ? 1 : ~uint64_t{0} >> (64 - 8 * ElemBytes(to));
      Array out(to, in.size());
      for (OpCode code : {OpCode::kExtSI, OpCode::kExtUI, OpCode::kTruncI}) {
        FindCast(code, from, to)(in.data(), out.data(), in.size());
        const int spare = from == Elem::kI1 ? 63 : 64 - 8 * ElemBytes(from);
        for (size_t i = 0; i < in.size(); ++i) {
          const auto extended = static_cast<uint64_t>(static_cast<int64_t>(in.Get(i) << spare) >> spare);
          ASSERT_EQ(out.Get(i), (code == OpCode::kExtUI ? in.Get(i) : extended) & mask) << OpName(code);
        }
      }
    }
  }
}

// Integers whose f32 or f64 lies on a rounding boundary of f16 or bf16 need one rounding from the integer.
TEST(LanesCast, IntegersToFloatsRoundOnce) {
  for (Elem from : kIntegers) {
    Array in = RandomArray(from, 6000, 43);
    if (from == Elem::kI32 || from == Elem::kI64) {
      for (int shift = 9; shift < (from == Elem::kI32 ? 31 : 63); ++shift) {
        for (int64_t low : {-1, 0, 1}) {
          in.Set(3 * shift + low + 1,
                 static_cast<uint64_t>((int64_t{1} << shift) + (int64_t{1} << (shift - 8)) +
                                       low));  // bf16 midpoint
          in.Set(300 + 3 * shift + low + 1,
                 static_cast<uint64_t>((int64_t{1} << shift) + (int64_t{3} << (shift - 8)) + low));
        }
      }
    }
    for (bool is_signed : {false, true}) {
      for (Elem to : {Elem::kF16, Elem::kBF16, Elem::kF8E4M3, Elem::kF8E5M2, Elem::kF32, Elem::kF64}) {
        Array out(to, in.size());
        for (Isa isa : AllIsas()) {
          FindCast(is_signed ? OpCode::kSIToFP : OpCode::kUIToFP, from, to, "", isa)(in.data(), out.data(),
                                                                                     in.size());
          for (size_t i = 0; i < in.size(); ++i) {
            const int spare = from == Elem::kI1 ? 63 : 64 - 8 * ElemBytes(from);
            const auto value = static_cast<int64_t>(in.Get(i) << spare) >> spare;
            const long double exact =
                is_signed ? static_cast<long double>(value) : static_cast<long double>(in.Get(i));
            // The f64 next to `exact` toward zero, plus a speck: rounds as `exact` does.
            double speck = static_cast<double>(exact);
            if (std::fabs(static_cast<long double>(speck)) > std::fabs(exact))
              speck = std::nextafter(speck, 0);
            if (speck != exact) speck = std::bit_cast<double>(std::bit_cast<uint64_t>(speck) | 1);
            const uint64_t expected = to == Elem::kF32   ? std::bit_cast<uint32_t>(static_cast<float>(exact))
                                      : to == Elem::kF64 ? std::bit_cast<uint64_t>(static_cast<double>(exact))
                                                         : Encode(to, speck, false);
            ASSERT_EQ(out.Get(i), expected) << Case("int to float", from, isa) << " to "
                                            << static_cast<int>(to) << " of " << static_cast<double>(exact);
          }
        }
      }
    }
  }
}

TEST(LanesCast, FloatsToIntegersSaturate) {
  for (Elem from : {Elem::kF8E4M3, Elem::kF8E5M2, Elem::kF16, Elem::kBF16, Elem::kF32, Elem::kF64}) {
    Array in = ElemBytes(from) <= 2 ? AllCodes(from) : RandomArray(from, 20000, 44);
    for (Elem to : kIntegers) {
      const int width = to == Elem::kI1 ? 1 : 8 * ElemBytes(to);
      for (bool is_signed : {false, true}) {
        const int in_ptx = std::max(width, 16);  // which has no bytes
        const bool bit = width == 1;
        const long double low = !is_signed ? 0 : -std::ldexp(1.0L, (bit ? 1 : in_ptx) - 1),
                          high = std::ldexp(1.0L, (bit ? 1 : in_ptx) - is_signed) - 1;
        Array out(to, in.size());
        for (Isa isa : AllIsas()) {
          FindCast(is_signed ? OpCode::kFPToSI : OpCode::kFPToUI, from, to, "", isa)(in.data(), out.data(),
                                                                                     in.size());
          for (size_t i = 0; i < in.size(); ++i) {
            const long double x = std::trunc(static_cast<long double>(in.Float(i)));
            const long double clamped = std::isnan(x) ? 0 : std::fmin(std::fmax(x, low), high);
            const auto bits = clamped < 0 ? static_cast<uint64_t>(static_cast<int64_t>(clamped))
                                          : static_cast<uint64_t>(clamped);
            ASSERT_EQ(out.Get(i), bits & (~uint64_t{0} >> (64 - width)))
                << Case("float to int", from, isa) << " to " << static_cast<int>(to) << " signed "
                << is_signed << " of " << in.Float(i);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tritogen::tile::lanes
