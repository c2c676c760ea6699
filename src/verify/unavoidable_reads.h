// How much of an input a program cannot help reading, from the reference's Plan alone.
#pragma once

#include "plan/plan.h"
#include "verify/work_flow.h"

namespace tritogen {

// Bytes of the input, at most its own: those that the one step reads which reads most of it and can reach an
// output. Views, copies and element-wise functions may be cut later; what looks up or samples is taken to
// read no more elements than it gives, and an operator that is not known every element.
double UnavoidableReads(const Plan& plan, const Flow& flow, TensorId input);

}  // namespace tritogen
