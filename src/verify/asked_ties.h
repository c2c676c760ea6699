// Where calls that scale and shift what they are given before they round it have two numbers to choose from.
#pragma once

#include <set>

#include "plan/plan.h"

namespace tritogen {

// Of `fake_quantize` by a number and of `grid_sample` that reads the nearest element. Only ties that lie
// halfway however it is computed: behind a power of two as a scale, and for a grid where nothing is rounded
// on the way. Of scales that a tensor holds nobody knows what they are.
std::set<double> TiesWithin(const Plan& plan, const AtenStep& step);

}  // namespace tritogen
