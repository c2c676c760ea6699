// What calls do with integers: choose elements by them, compare them, add them up.
#pragma once

#include <cstdint>
#include <optional>

#include "plan/plan.h"

namespace tritogen {

bool IsInteger(Dtype dtype);  // bools are none

std::optional<int64_t> IntegerArgument(const AtenStep& step, const char* name);

// In place or not, with a number or a tensor.
bool IsComparison(const AtenStep& step);

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

// How many numbers 0, 1, … the integers in `id` are looked for among: `id[:, None] == arange(n)`, which is
// what `one_hot` is made of.
std::optional<int64_t> MatchesIn(const Plan& plan, const AtenStep& step, TensorId id);

// The index that bags of embeddings leave out.
std::optional<int64_t> PaddingOfBags(const AtenStep& step);

}  // namespace tritogen
