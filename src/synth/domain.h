// Domain: the values a variable may have, a finite set of positive integers kept as ranges.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace tritogen::synth {

class Domain {
 public:
  struct Range {
    int64_t low, high;  // both belong to it
    auto operator<=>(const Range&) const = default;
  };

  Domain() = default;  // empty
  Domain(std::initializer_list<int64_t> values);
  static Domain Interval(int64_t low, int64_t high);     // none above 2^31
  static Domain Of(const std::vector<int64_t>& values);  // any order, may repeat
  // "1..8, 16, 32", "common" (Common()) or "many" (Many()). Throws UserError naming what is wrong.
  static Domain Parse(std::string_view text);
  // Sizes as programs have them: powers of two, their multiples by three, and sizes that fit no block.
  static const Domain& Common();
  // Some 250 sizes with many divisors and few, all of Common() among them. Not in it, so that what was
  // learned on it can be tried on others: 6, 9, 10, 11, 13, 20, 27, 40, 63, 72, 80, 99, 120, … (eval.shapes).
  static const Domain& Many();

  bool empty() const { return ranges_.empty(); }
  int64_t size() const { return size_; }
  int64_t min() const { return ranges_.front().low; }
  int64_t max() const { return ranges_.back().high; }
  bool Contains(int64_t value) const;
  int64_t AtMost(int64_t value) const;  // the largest member that is. REQUIRES: value ≥ min()
  const std::vector<Range>& ranges() const { return ranges_; }
  std::vector<int64_t> Values() const;  // ascending
  Domain And(const Domain& other) const;
  std::string ToString() const;
  auto operator<=>(const Domain&) const = default;

 private:
  void Normalise();

  std::vector<Range> ranges_;  // ascending, disjoint, not adjacent
  int64_t size_ = 0;
};

}  // namespace tritogen::synth
