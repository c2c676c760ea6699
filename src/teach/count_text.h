// Numbers that are products of sizes, as Python.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace tritogen::teach {

// The product of the factors: a number where it is in `known` or has one factor besides 1, else written out,
// "7 * 3 * 4", as people write what they do not want to compute; a small policy computes such numbers
// wrongly.
std::string CountText(const std::set<int64_t>& known, const std::vector<int64_t>& factors);

// The same as one operand of whatever stands around it: "(7 * 3 * 4)".
std::string CountOperand(const std::set<int64_t>& known, const std::vector<int64_t>& factors);

// The factors, of a mixed radix with these digits (outermost first), whose product is `size` and behind which
// digits of product `inner` follow; {size} where the digits have no borders there.
std::vector<int64_t> FactorsAt(const std::vector<int64_t>& digits, int64_t inner, int64_t size);

}  // namespace tritogen::teach
