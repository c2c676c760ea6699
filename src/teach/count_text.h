// Numbers that are products of sizes, as Python: counts, strides, places in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tritogen::teach {

// The product of the factors, written out where more than one of them is not 1: "7 * 3 * 4". People write so
// what they do not want to compute, and it says whose sizes are meant; a small policy that has to compute or
// choose such a number gets it wrong.
std::string CountText(const std::vector<int64_t>& factors);

// The same as one operand of whatever stands around it: "(7 * 3 * 4)".
std::string CountOperand(const std::vector<int64_t>& factors);

// The factors, of a mixed radix with these digits (outermost first), whose product is `size` and behind which
// digits of product `inner` follow; {size} where the digits have no borders there.
std::vector<int64_t> FactorsAt(const std::vector<int64_t>& digits, int64_t inner, int64_t size);

// A stride in a row-major value of this shape, as an operand: the last dimensions, as many as divide it, and
// in front of them how often. 24 in [3, 4, 6] is "(4 * 6)", 12 is "(2 * 6)", 5 is "5".
std::string StrideText(const std::vector<int64_t>& shape, int64_t stride);

// The number of an element ≥ 0 of a row-major value of this shape as a sum over its dimensions, of places and
// strides: 31 in [3, 4, 6] is {"4 * 6", "6", "1"}. Nothing for 0.
std::vector<std::string> PlaceTerms(const std::vector<int64_t>& shape, int64_t element);

}  // namespace tritogen::teach
