// What a printed module returns: the original's tuples, lists, dicts and types of its own, around values.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace tritogen {

// "(t0, t1)", "Out(values=t0, indices=t1)". REQUIRES: a valid plan, and as many leaves as it has outputs.
std::string ReturnedText(const Plan& plan, const std::vector<std::string>& leaves);

// The containers' types when the file's class or function `entry` is called `original` there.
std::vector<PackedAs> RenamedTypes(std::vector<PackedAs> packed, const std::string& entry,
                                   const std::string& original);

}  // namespace tritogen
