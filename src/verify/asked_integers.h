// What a program asks of an integer input: what it chooses from by them, numbers that it names (the class
// that a loss ignores, a token that it compares with, what lies behind a bound of its), and whether any
// number may come.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace tritogen {

// Of numbers that are sorted, looked up or compared with each other fewer may be categories, and others mean
// nothing.
inline constexpr int64_t kMostCategories = 64;

// A number that forward compares integers with.
struct ComparedInteger {
  std::string_view op;  // "aten::ge"
  int64_t number = 0;
  std::vector<int64_t>
      bounded;  // of it and its neighbours: nothing is read or written beyond an end by these

  bool Holds(double value) const;  // the comparison, of another number with this one
};

struct AskedIntegers {
  std::optional<int64_t> choices;  // they do nothing but say which of so many elements are read, or written
  bool writes = false;             // something is written there: who is distinct must stay so
  std::vector<int64_t> named;
  std::vector<ComparedInteger> compared;
  // Forward may read elements by these integers in a way that is not known: named ones are meant to come only
  // if they are among those that are generated, or between them.
  bool within_generated = false;
  // From one bound to the other of what sums of them are clamped to (relative positions), where elements are
  // read by nothing else: further away than that they are at a bound.
  std::optional<int64_t> span;
  // 8 or 16 bits, and only ever computed with.
  bool whole_range = false;
  // 32 or 64 bits, and only ever computed with, in integers up to the outputs: large numbers are no other
  // case to the program. Nor are negative ones, where nothing is divided: Triton's own % and // cut what
  // Python's round down, and who knows that an input holds none may take them.
  bool far_numbers = false, negative = false;

  // Only computed with, and compared with nothing but 0 and 1: where all are 1 (a mask that lets everything
  // through), others may be 0. No reason for a trial of their own.
  bool flags = false;

  bool ranked = false;  // they may be categories (kMostCategories)

  // 32 or 64 bits, taken for their size or compared with each other, and any number may come: they may all
  // lie far below zero, one near the other.
  bool sinks = false;

  bool empty() const {
    return !choices && !span && named.empty() && compared.empty() && !whole_range && !far_numbers;
  }
};

// `leaf`: an integer input.
AskedIntegers AskedIntegersOf(const Plan& plan, TensorId leaf);

// By tensor leaf of the inputs: of integers that are compared with those of another input for being equal,
// and by which nothing is read, the first of these inputs.
std::vector<std::optional<size_t>> KeysOf(const Plan& plan);

// Whether elements are read by the numbers in `leaf`, an input of any dtype, or by what elementwise calls
// make of them, and no bound is between: there is none but what the generator makes.
bool ChoosesUnbounded(const Plan& plan, TensorId leaf);

}  // namespace tritogen
