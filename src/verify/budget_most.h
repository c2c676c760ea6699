// The third part of the error budget: most elements. Where a few of an output have nearly all of the noise
// (distances of things from themselves, logarithms next to a pole), rows, columns and the root mean square go
// by these, and another precision in all others would pass. So the error that half of the elements stay
// below, and the one that nine in ten do, are compared with the noise's own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace tritogen {

// The same places for everybody who compares with one output, and no others can be known beforehand: they
// hang on its largest magnitude.
class SampledPlaces {
 public:
  static constexpr int64_t kMost = 1024;
  static constexpr int64_t kLeast = 256;  // of fewer elements what most are like is a draw

  static constexpr int64_t CountIn(int64_t n) { return n < kLeast ? 0 : std::min(n, kMost); }

  SampledPlaces(int64_t n, double scale);  // n: elements of the output

  int64_t count() const { return count_; }
  int64_t operator[](int64_t sample) const;  // flat index; ascending

 private:
  int64_t n_, count_;
  uint32_t salt_;
};

struct MostElements {
  // Of a candidate's elements such percentages are judged.
  static constexpr std::array<int64_t, 2> kPercent = {50, 90};
  // By the noise that so many percent more of the elements stay below: where half of an output is exact
  // (behind a ReLU, say), half of it and a little more has none; and of some rounding the one program is
  // lucky here, the next one there.
  static constexpr int64_t kPercentMore = 5;

  using Numbers = std::array<double, 2>;  // for each of kPercent

  Numbers noise{}, scale{};  // absolute; 0 and 0: nobody asks. `scale` is that of elements' rows

  // Counts the noise of another, of the same output.
  void Widen(const MostElements& other);

  // What so many percent of the numbers stay below, none of them negative; 0 of none.
  static Numbers Of(std::vector<double> numbers, int64_t percent_more);
};

}  // namespace tritogen
