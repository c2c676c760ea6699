// From a verified Plan to the text of a module that records to the same Plan.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "emit/emit.h"
#include "record/recorder.h"

namespace tritogen {

// The module's text, with `header` as its docstring and this variant of autotuned launches; or why the Plan
// cannot be shipped: it cannot be printed, or what was printed does not record to the Plan that was verified.
// `request` is how the reference was recorded.
std::variant<std::string, EmitFailure> Ship(Recorder* recorder, const RecordRequest& request,
                                            const Plan& reference, const Plan& verified, int variant,
                                            std::vector<std::string> header);

}  // namespace tritogen
