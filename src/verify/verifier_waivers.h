// The verifier's one seam for tests: rules may be waived.
#pragma once

#include "verify/verifier.h"

namespace tritogen {

struct Waivers {
  // A Plan of ATen calls alone may pass: stands in for kernels in tests of the other checks.
  bool no_triton = false;
};
Verdict VerifyWithWaivers(const Task& task, const Plan& candidate, const VerifyOptions& options,
                          const Waivers& waivers);

// Options with memory and threads filled in. `plan`: the reference.
VerifyOptions Resolved(VerifyOptions options, const Plan& plan);

}  // namespace tritogen
