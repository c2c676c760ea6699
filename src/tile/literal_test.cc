#include "tile/literal.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tile/lexer.h"
#include "tile/tile.h"

namespace tritogen::tile {
namespace {

uint64_t Scalar(std::string_view text, Elem elem) {
  Lexer lexer(text);
  return ReadScalarBits(lexer, elem);
}

TEST(Scalar, Integers) {
  EXPECT_EQ(Scalar("16", Elem::kI32), 16u);
  EXPECT_EQ(Scalar("-1", Elem::kI8), 0xffu);
  EXPECT_EQ(Scalar("255", Elem::kI8), 0xffu);
  EXPECT_EQ(Scalar("-2147483648", Elem::kI32), 0x80000000u);
  EXPECT_EQ(Scalar("-9223372036854775808", Elem::kI64), uint64_t{1} << 63);
  EXPECT_EQ(Scalar("true", Elem::kI1), 1u);
  EXPECT_EQ(Scalar("-1", Elem::kI1), 1u);
  EXPECT_THROW(Scalar("256", Elem::kI8), TtirError);
  EXPECT_THROW(Scalar("-129", Elem::kI8), TtirError);
  EXPECT_THROW(Scalar("18446744073709551616", Elem::kI64), TtirError);
  EXPECT_THROW(Scalar("1.0", Elem::kI32), TtirError);
  EXPECT_THROW(Scalar("true", Elem::kI32), TtirError);
}

TEST(Scalar, DecimalFloatsRoundToTheirType) {
  EXPECT_EQ(Scalar("1.000000e-01", Elem::kF32), 0x3DCCCCCDu);
  EXPECT_EQ(Scalar("4.6566126E-10", Elem::kF32), 0x2FFFFFFFu);
  EXPECT_EQ(Scalar("-1.500000e+00", Elem::kF64), 0xBFF8000000000000u);
  EXPECT_EQ(Scalar("9.997550e-02", Elem::kF16), 0x2E66u);
  EXPECT_EQ(Scalar("1.000980e-01", Elem::kBF16), 0x3DCDu);
  EXPECT_EQ(Scalar("0.000000e+00", Elem::kF8E5M2), 0u);
  EXPECT_EQ(Scalar("1.0", Elem::kF8E4M3), 0x38u);
  EXPECT_THROW(Scalar("1.0e999", Elem::kF64), TtirError);
  EXPECT_THROW(Scalar("16", Elem::kF32), TtirError) << "an integer is no float";
}

TEST(Scalar, HexadecimalFloatsAreBits) {
  EXPECT_EQ(Scalar("0x7F800000", Elem::kF32), 0x7F800000u);
  EXPECT_EQ(Scalar("0x7E00", Elem::kF16), 0x7E00u);
  EXPECT_EQ(Scalar("0x7F80", Elem::kBF16), 0x7F80u);
  EXPECT_EQ(Scalar("0xFFF0000000000000", Elem::kF64), 0xFFF0000000000000u);
  EXPECT_THROW(Scalar("0x7F8000000", Elem::kF32), TtirError);
  EXPECT_THROW(Scalar("-0x7F80", Elem::kBF16), TtirError);
}

ConstantBits Dense(std::string_view inside, Elem elem, std::vector<int64_t> shape) {
  return ReadDense(inside, {.elem = elem, .shape = std::move(shape)}, 1);
}

TEST(Dense, Splats) {
  EXPECT_EQ(Dense("-1", Elem::kI16, {8}), (ConstantBits{true, {0xffff}}));
  EXPECT_EQ(Dense("\"0x0000803F\"", Elem::kF32, {8}), (ConstantBits{true, {0x3f800000}}));
  EXPECT_EQ(Dense("\"0xFF\"", Elem::kI1, {16}), (ConstantBits{true, {1}}));
}

TEST(Dense, ListsFollowTheShape) {
  EXPECT_EQ(Dense("[[1, 2], [3, -4]]", Elem::kI8, {2, 2}), (ConstantBits{false, {1, 2, 3, 0xfc}}));
  EXPECT_EQ(Dense("[true, false]", Elem::kI1, {2}), (ConstantBits{false, {1, 0}}));
  EXPECT_EQ(Dense("[7]", Elem::kI8, {1}), (ConstantBits{true, {7}}));
  for (std::string_view broken : {"[1, 2]", "[[1, 2], [3]]", "[[1, 2, 3], [4]]", "[[1, 2], [3, 4]", "[[[1]]]",
                                  "[[1, 2], [3, 4]] 5", "[]", ""}) {
    EXPECT_THROW(Dense(broken, Elem::kI8, {2, 2}), TtirError) << broken;
  }
}

TEST(Dense, BlobsAreLittleEndian) {
  EXPECT_EQ(Dense("\"0x01000200\"", Elem::kI16, {2}), (ConstantBits{false, {1, 2}}));
  EXPECT_EQ(Dense("\"0x05\"", Elem::kI1, {4}), (ConstantBits{false, {1, 0, 1, 0}}));
  for (std::string_view broken : {"\"0x010002\"", "\"0x0\"", "\"0x\"", "\"0102\"", "\"0xzz\""}) {
    EXPECT_THROW(Dense(broken, Elem::kI16, {2}), TtirError) << broken;
  }
}

}  // namespace
}  // namespace tritogen::tile
