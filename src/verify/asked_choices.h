// What calls do with integers: choose elements by them, compare them, add them up.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "plan/plan.h"

namespace tritogen {

bool IsInteger(Dtype dtype);  // bools are none

std::optional<int64_t> IntegerArgument(const AtenStep& step, const char* name);

// In place or not, with a number or a tensor.
bool IsComparison(const AtenStep& step);
// What one of them says of two numbers. REQUIRES: `name` is a comparison's, as it is called out of place.
template <typename T>
bool Compares(std::string_view name, T one, T other) {
  if (name == "aten::eq") return one == other;
  if (name == "aten::ne") return one != other;
  if (name == "aten::gt") return one > other;
  if (name == "aten::ge") return one >= other;
  return name == "aten::lt" ? one < other : one <= other;
}

// In place or not, at one end or both.
bool IsClamp(const AtenStep& step);

// Whether each element of what it makes is made of elements in the same place.
bool IsElementwise(const AtenStep& step);

// Of `id`, an argument, not every number will do, or none that is negative: it divides, or shifts bits.
bool IsPickyAbout(const AtenStep& step, TensorId id);

// Sums, products, extrema.
bool IsSumOfIntegers(const AtenStep& step);

// How many elements the integers in `id` choose from where a call reads or writes by them as places, and by
// nothing else.
std::optional<int64_t> ChoicesIn(const Plan& plan, const AtenStep& step, TensorId id);

// Whether a call writes at places that integers say.
bool WritesByPlaces(const AtenStep& step);
// Of two elements that it writes at one place, one lasts.
bool LastWriteStays(const AtenStep& step);

// How many numbers 0, 1, … the integers in `id` are looked for among: `id[:, None] == arange(n)`, which is
// what `one_hot` is made of.
std::optional<int64_t> MatchesIn(const Plan& plan, const AtenStep& step, TensorId id);

// Whether the integers in `id` say how many of 0, 1, … come before them: `arange(n) < id[:, None]`, of which
// masks of lines with lengths of their own are made.
bool IsLength(const Plan& plan, const AtenStep& step, TensorId id);

// The index that bags of embeddings leave out.
std::optional<int64_t> PaddingOfBags(const AtenStep& step);

}  // namespace tritogen
