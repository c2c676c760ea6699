#include "synth/natural.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace tritogen::synth {

using Wide = unsigned __int128;

Natural Natural::FromWide(Wide value) {
  Natural result(static_cast<uint64_t>(value));
  result.limbs_[1] = static_cast<uint64_t>(value >> 64);
  return result;
}

Natural Natural::Parse(std::string_view digits) {
  Natural value;
  if (digits.empty()) throw UserError("a number was expected, and there is nothing");
  for (char c : digits) {
    if (c < '0' || c > '9') throw UserError(fmt::format("'{}' is no whole number", digits));
    value = value * Natural(10) + Natural(static_cast<uint64_t>(c - '0'));
  }
  return value;
}

Natural& Natural::operator+=(const Natural& other) {
  Wide carry = 0;
  for (int i = 0; i < kLimbs; ++i) {
    carry += static_cast<Wide>(limbs_[i]) + other.limbs_[i];
    limbs_[i] = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
  if (carry != 0) throw CountOverflow();
  return *this;
}

Natural& Natural::operator-=(const Natural& other) {
  uint64_t borrow = 0;
  for (int i = 0; i < kLimbs; ++i) {
    const Wide take = static_cast<Wide>(other.limbs_[i]) + borrow;
    borrow = limbs_[i] < take;
    limbs_[i] = static_cast<uint64_t>(limbs_[i] - take);
  }
  TRITOGEN_CHECK(borrow == 0);
  return *this;
}

Natural operator*(const Natural& a, const Natural& b) {
  const int na = (a.BitWidth() + 63) / 64, nb = (b.BitWidth() + 63) / 64;
  Natural result;
  for (int i = 0; i < na; ++i) {
    Wide carry = 0;
    for (int j = 0; j < nb || carry != 0; ++j) {
      if (i + j >= Natural::kLimbs) throw CountOverflow();
      carry += result.limbs_[i + j];
      if (j < nb) carry += static_cast<Wide>(a.limbs_[i]) * b.limbs_[j];
      result.limbs_[i + j] = static_cast<uint64_t>(carry);
      carry >>= 64;
    }
  }
  return result;
}

Natural::Division Natural::Divide(const Natural& value, const Natural& divisor) {
  TRITOGEN_CHECK(!divisor.IsZero());
  if (value.FitsWide() && divisor.FitsWide()) {
    const Wide a = value.ToWide(), b = divisor.ToWide();
    return {FromWide(a / b), FromWide(a % b)};
  }
  Division result;
  if (divisor.BitWidth() <= 64) {
    Wide remainder = 0;
    for (int i = kLimbs - 1; i >= 0; --i) {
      const Wide current = remainder << 64 | value.limbs_[i];
      result.quotient.limbs_[i] = static_cast<uint64_t>(current / divisor.limbs_[0]);
      remainder = current % divisor.limbs_[0];
    }
    result.remainder = Natural(static_cast<uint64_t>(remainder));
    return result;
  }
  for (int bit = value.BitWidth() - 1; bit >= 0; --bit) {
    const bool overflows = result.remainder.BitWidth() == 64 * kLimbs;
    result.remainder = result.remainder.ShiftLeft(1);
    result.remainder.limbs_[0] |= value.limbs_[bit / 64] >> (bit % 64) & 1;
    if (overflows || result.remainder >= divisor) {
      // With the lost bit the remainder is 2^512 more; the wrap-around below takes that into account.
      Wide borrow = 0;
      for (int i = 0; i < kLimbs; ++i) {
        const Wide take = static_cast<Wide>(divisor.limbs_[i]) + borrow;
        borrow = result.remainder.limbs_[i] < take;
        result.remainder.limbs_[i] = static_cast<uint64_t>(result.remainder.limbs_[i] - take);
      }
      result.quotient.limbs_[bit / 64] |= uint64_t{1} << (bit % 64);
    }
  }
  return result;
}

Natural Natural::ShiftRight(int bits) const {
  Natural result;
  const int limbs = bits / 64, rest = bits % 64;
  for (int i = 0; i + limbs < kLimbs; ++i) {
    result.limbs_[i] = limbs_[i + limbs] >> rest;
    if (rest != 0 && i + limbs + 1 < kLimbs) result.limbs_[i] |= limbs_[i + limbs + 1] << (64 - rest);
  }
  return result;
}

Natural Natural::ShiftLeft(int bits) const {
  Natural result;
  const int limbs = bits / 64, rest = bits % 64;
  for (int i = kLimbs - 1; i >= limbs; --i) {
    result.limbs_[i] = limbs_[i - limbs] << rest;
    if (rest != 0 && i - limbs - 1 >= 0) result.limbs_[i] |= limbs_[i - limbs - 1] >> (64 - rest);
  }
  return result;
}

std::strong_ordering Natural::operator<=>(const Natural& other) const {
  for (int i = kLimbs - 1; i >= 0; --i) {
    if (limbs_[i] != other.limbs_[i]) return limbs_[i] <=> other.limbs_[i];
  }
  return std::strong_ordering::equal;
}

int Natural::BitWidth() const {
  for (int i = kLimbs - 1; i >= 0; --i) {
    if (limbs_[i] != 0) return 64 * i + std::bit_width(limbs_[i]);
  }
  return 0;
}

Wide Natural::ToWide() const {
  TRITOGEN_CHECK(FitsWide());
  return static_cast<Wide>(limbs_[1]) << 64 | limbs_[0];
}

double Natural::ToDouble() const {
  double value = 0;
  for (int i = kLimbs - 1; i >= 0; --i) value = value * 0x1p64 + static_cast<double>(limbs_[i]);
  return value;
}

std::string Natural::ToString() const {
  std::string digits;
  Natural rest = *this;
  do {
    Wide remainder = 0;
    for (int i = kLimbs - 1; i >= 0; --i) {
      const Wide current = remainder << 64 | rest.limbs_[i];
      rest.limbs_[i] = static_cast<uint64_t>(current / 10);
      remainder = current % 10;
    }
    digits += static_cast<char>('0' + static_cast<int>(remainder));
  } while (!rest.IsZero());
  std::reverse(digits.begin(), digits.end());
  return digits;
}

Natural Natural::Below(const Natural& bound, SplitMix* random) {
  TRITOGEN_CHECK(!bound.IsZero());
  const int width = bound.BitWidth();
  while (true) {  // each turn succeeds with a probability above one half
    Natural value;
    for (int i = 0; i * 64 < width; ++i) value.limbs_[i] = random->Next();
    if (width % 64 != 0) value.limbs_[width / 64] &= (uint64_t{1} << (width % 64)) - 1;
    if (value < bound) return value;
  }
}

}  // namespace tritogen::synth
