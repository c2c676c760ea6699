// What a program asks of an integer input: numbers that it names (the class that a loss ignores, a token that
// it compares with, what lies behind a bound of its), and whether any number of its dtype may come.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/plan.h"

namespace tritogen {

struct AskedIntegers {
  std::vector<int64_t> named;
  // Forward may read elements by these integers in a way that is not known: named ones are meant to come only
  // if they are among those that are generated, or between them.
  bool within_generated = false;
  // 8 or 16 bits, and only ever computed with.
  bool whole_range = false;
};

bool IsInteger(Dtype dtype);  // bools are none

// In place or not, with a number or a tensor.
bool IsComparison(const AtenStep& step);

// How many elements the integers in `id` choose from where a call reads them as places, and as nothing else.
std::optional<int64_t> ChoicesIn(const Plan& plan, const AtenStep& step, TensorId id);

// `leaf`: an integer input.
AskedIntegers AskedIntegersOf(const Plan& plan, TensorId leaf);

}  // namespace tritogen
