// From how a child ended and what it wrote to a Plan or the reason why there is none.
#pragma once

#include <variant>

#include "record/recorder.h"
#include "record/zygote.h"

namespace tritogen {

// Never throws on what the child wrote.
std::variant<Plan, RecordFailure> ReadChildEnd(const ChildEnd& end, const ChildLimits& limits);

}  // namespace tritogen
