// The program of a reference in words of the catalogue: what the catalogue does not know is recorded again as
// the operators it is made of.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "program/program.h"
#include "record/recorder.h"

namespace tritogen {

struct LiftedReference {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const Program> program;  // of it
  std::vector<std::string> unknown;        // operators that InKnownOps found no parts of
};

// Throws FormatError where the Plan has no canonical form.
LiftedReference LiftReference(Plan plan);

// Whether a program has complex numbers, which no kernel has; its parts are pairs of real ones.
bool HasComplex(const Program& program);

using RecordFunction = std::function<std::variant<Plan, RecordFailure>(const RecordRequest&)>;

// For who has to write all of it anew. `request`: that `whole` was recorded by. A Plan and a program in which
// the parts of operators that the catalogue does not know stand for them, when it knows all of those;
// otherwise `whole`, which names what the file calls. Both compute the same, with other rounding: candidates
// are judged against `whole`.
LiftedReference InKnownOps(const RecordFunction& record, RecordRequest request, const LiftedReference& whole);

}  // namespace tritogen
