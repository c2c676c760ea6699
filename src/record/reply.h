// From how a child ended and what it wrote to a Plan or the reason why there is none.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "record/recorder.h"
#include "record/zygote.h"

namespace tritogen {

// Never throws on what the child wrote.
std::variant<Plan, RecordFailure> ReadChildEnd(const ChildEnd& end, const ChildLimits& limits);

// Of a child that recorded several programs: a Plan, or nothing where anything is amiss.
std::vector<std::optional<Plan>> ReadPlans(const ChildEnd& end);

}  // namespace tritogen
