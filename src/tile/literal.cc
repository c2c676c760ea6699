#include "tile/literal.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <string>

#include "tile/lanes/lanes.h"
#include "tile/lexer.h"
#include "tile/tile.h"

namespace tritogen::tile {
namespace {

uint64_t LowBits(int bits) {
  return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

[[noreturn]] void Fail(const Lexer& lexer, const std::string& message) {
  throw TtirError(lexer.token().line, message);
}

// Nearest even in the element's format.
uint64_t FloatBits(double value, Elem elem) {
  float narrow = static_cast<float>(value);
  switch (elem) {
    case Elem::kF64:
      return std::bit_cast<uint64_t>(value);
    case Elem::kF32:
      return std::bit_cast<uint32_t>(narrow);
    case Elem::kF16:
      return lanes::FloatToHalf(narrow);
    case Elem::kBF16:
      return lanes::FloatToBFloat(narrow);
    case Elem::kF8E4M3:
      return lanes::FloatToE4M3(narrow);
    case Elem::kF8E5M2:
      return lanes::FloatToE5M2(narrow);
    default:
      return 0;
  }
}

uint64_t IntegerBits(const Lexer& lexer, uint64_t magnitude, bool negative, Elem elem) {
  int bits = ElemBits(elem);
  uint64_t largest = negative ? uint64_t{1} << (bits - 1) : LowBits(bits);
  if (magnitude > largest) Fail(lexer, fmt::format("an integer does not fit in i{}", bits));
  return (negative ? 0 - magnitude : magnitude) & LowBits(bits);
}

uint64_t DecimalBits(const Lexer& lexer, std::string_view digits, bool negative, Elem elem) {
  double value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size()) {
    Fail(lexer, fmt::format("'{}' is no number that f64 can hold", digits.substr(0, 60)));
  }
  return FloatBits(negative ? -value : value, elem);
}

int Nibble(char c) {
  return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

// Raw little-endian bytes, one element for a splat; elements of i1 are packed eight to a byte.
ConstantBits ReadBlob(std::string_view hex, const Type& type, int line) {
  if (!hex.starts_with("0x") || hex.size() % 2 != 0 ||
      hex.find_first_not_of("0123456789abcdefABCDEF", 2) != std::string_view::npos) {
    throw TtirError(line, "dense<\"…\"> needs 0x and whole bytes");
  }
  hex.remove_prefix(2);
  auto byte_at = [&](size_t i) {
    return static_cast<uint64_t>(Nibble(hex[2 * i]) * 16 + Nibble(hex[2 * i + 1]));
  };
  const size_t bytes = hex.size() / 2, count = static_cast<size_t>(type.numel());
  ConstantBits out;
  if (type.elem == Elem::kI1) {
    out.splat = bytes == 1 && (byte_at(0) == 0 || byte_at(0) == 0xff);
    if (!out.splat && bytes != (count + 7) / 8)
      throw TtirError(line, "dense<\"…\"> has a wrong number of bytes");
    out.bits.resize(out.splat ? 1 : count);
    for (size_t i = 0; i < out.bits.size(); ++i) out.bits[i] = byte_at(i / 8) >> (i % 8) & 1;
    out.splat = out.bits.size() == 1;
    return out;
  }
  const size_t width = static_cast<size_t>(ElemBytes(type.elem));
  out.splat = bytes == width;
  if (!out.splat && bytes != width * count) throw TtirError(line, "dense<\"…\"> has a wrong number of bytes");
  out.bits.resize(bytes / width);
  for (size_t i = 0; i < bytes; ++i) out.bits[i / width] |= byte_at(i) << (8 * (i % width));
  return out;
}

// [[1, 2], [3, 4]], without recursion: at depth d, filled[d] items of shape[d] were read.
ConstantBits ReadList(Lexer& lexer, const Type& type) {
  const size_t rank = type.shape.size();
  std::vector<int64_t> filled;
  ConstantBits out;
  out.splat = false;
  do {
    if (lexer.token().Is('[')) {
      if (filled.size() == rank) Fail(lexer, "a dense list is nested deeper than its type");
      filled.push_back(0);
      lexer.Advance();
      continue;
    }
    if (filled.size() != rank) Fail(lexer, "a dense list does not have the shape of its type");
    out.bits.push_back(ReadScalarBits(lexer, type.elem));
    ++filled.back();
    while (!filled.empty() && lexer.token().Is(']')) {
      if (filled.back() != type.shape[filled.size() - 1])
        Fail(lexer, "a dense list does not have the shape of its type");
      filled.pop_back();
      if (!filled.empty()) ++filled.back();
      lexer.Advance();
    }
    if (filled.empty()) break;
    if (!lexer.token().Is(',')) Fail(lexer, "expected ',' or ']' in a dense list");
    if (filled.back() >= type.shape[filled.size() - 1])
      Fail(lexer, "a dense list does not have the shape of its type");
    lexer.Advance();
  } while (true);
  out.splat = out.bits.size() == 1;
  return out;
}

}  // namespace

std::optional<uint64_t> ParseMagnitude(std::string_view digits) {
  int base = 10;
  if (digits.starts_with("0x")) {
    base = 16;
    digits.remove_prefix(2);
  }
  uint64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

uint64_t ReadScalarBits(Lexer& lexer, Elem elem) {
  bool negative = lexer.token().Is('-');
  if (negative) lexer.Advance();
  const Token token = lexer.token();
  uint64_t bits = 0;
  if (!negative && elem == Elem::kI1 && (token.Is("true") || token.Is("false"))) {
    bits = token.Is("true") ? 1 : 0;
  } else if (token.kind == TokenKind::kInteger) {
    std::optional<uint64_t> magnitude = ParseMagnitude(token.text);
    if (!magnitude) Fail(lexer, "an integer does not fit in 64 bits");
    bool is_bits = IsFloat(elem);  // hexadecimal digits of a float are its bit pattern
    if (is_bits && (negative || !token.text.starts_with("0x") || *magnitude > LowBits(ElemBits(elem)))) {
      Fail(lexer, fmt::format("'{}' is no {}", token.text.substr(0, 60), TypeName({.elem = elem})));
    }
    bits = is_bits ? *magnitude : IntegerBits(lexer, *magnitude, negative, elem);
  } else if (token.kind == TokenKind::kFloat && IsFloat(elem)) {
    bits = DecimalBits(lexer, token.text, negative, elem);
  } else {
    Fail(lexer, fmt::format("'{}' is no {}", token.text.substr(0, 60), TypeName({.elem = elem})));
  }
  lexer.Advance();
  return bits;
}

ConstantBits ReadDense(std::string_view inside, const Type& type, int line) {
  Lexer lexer(inside, line);
  ConstantBits out;
  if (lexer.token().kind == TokenKind::kString) {
    out = ReadBlob(lexer.token().text, type, line);
    lexer.Advance();
  } else if (lexer.token().Is('[')) {
    out = ReadList(lexer, type);
  } else {
    out.bits = {ReadScalarBits(lexer, type.elem)};
  }
  if (lexer.token().kind != TokenKind::kEnd) Fail(lexer, "a dense constant goes on behind its value");
  return out;
}

}  // namespace tritogen::tile
