// From a verified Plan to the text of a module that records to the same Plan.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "emit/emit.h"
#include "record/recorder.h"

namespace tritogen {

// A candidate that passed.
struct Verified {
  const Plan* plan = nullptr;
  int variant = 0;  // of autotuned launches
  // State that the reference updates: what the candidate leaves as it was, or with other values.
  std::vector<std::string> unchanged_state, other_state;
};

// The module's text, with `header` as its docstring and the reference's own updates of
// state that the candidate leaves alone; or why the Plan
// cannot be shipped: it cannot be printed, or what was printed does not record to the Plan that was verified.
// `request` is how the reference was recorded.
std::variant<std::string, EmitFailure> Ship(Recorder* recorder, const RecordRequest& request,
                                            const Plan& reference, const Verified& verified,
                                            std::vector<std::string> header);

}  // namespace tritogen
