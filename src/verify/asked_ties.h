// Where calls that round what they are given, or what they make of it, have two numbers to choose from.
#pragma once

#include <set>

#include "plan/plan.h"

namespace tritogen {

// Of `round`, `fake_quantize` by a number and `grid_sample` that reads the nearest element. Only ties that
// lie halfway however it is computed: behind a power of two as a scale, and for a grid where nothing is
// rounded on the way. Of scales that a tensor holds nobody knows what they are.
std::set<double> TiesWithin(const Plan& plan, const AtenStep& step);

}  // namespace tritogen
