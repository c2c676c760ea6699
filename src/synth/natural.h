// Natural: unsigned integers of 512 bits, for counts of solutions and for their indices. A sum or product
// that does not fit throws CountOverflow: a count is exact or absent.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/splitmix.h"

namespace tritogen::synth {

struct CountOverflow : std::runtime_error {
  CountOverflow() : std::runtime_error("a count of more than 512 bits") {}
};

class Natural {
 public:
  static constexpr int kLimbs = 8;

  constexpr Natural() = default;
  constexpr Natural(uint64_t value) { limbs_[0] = value; }  // NOLINT: numbers are numbers
  static Natural FromWide(unsigned __int128 value);
  // From decimal digits; throws UserError for anything else.
  static Natural Parse(std::string_view digits);

  Natural& operator+=(const Natural& other);
  Natural& operator-=(const Natural& other);  // REQUIRES: other <= *this
  friend Natural operator+(Natural a, const Natural& b) { return a += b; }
  friend Natural operator-(Natural a, const Natural& b) { return a -= b; }
  friend Natural operator*(const Natural& a, const Natural& b);
  // Quotient and remainder. REQUIRES: divisor > 0.
  struct Division;
  static Division Divide(const Natural& value, const Natural& divisor);
  Natural ShiftRight(int bits) const;
  Natural ShiftLeft(int bits) const;  // bits that leave at the top are lost

  std::strong_ordering operator<=>(const Natural& other) const;
  bool operator==(const Natural&) const = default;
  bool IsZero() const { return *this == Natural(); }
  int BitWidth() const;  // 0 for 0
  uint64_t Limb(int i) const { return limbs_[i]; }
  void SetLimb(int i, uint64_t value) { limbs_[i] = value; }
  bool FitsWide() const { return BitWidth() <= 128; }
  unsigned __int128 ToWide() const;  // REQUIRES: FitsWide()
  double ToDouble() const;
  std::string ToString() const;  // decimal

  // Uniform in [0, bound). REQUIRES: bound > 0.
  static Natural Below(const Natural& bound, SplitMix* random);

 private:
  std::array<uint64_t, kLimbs> limbs_{};  // least significant first
};

struct Natural::Division {
  Natural quotient, remainder;
};

}  // namespace tritogen::synth
