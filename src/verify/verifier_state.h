// How a candidate's state relates to the reference's.
#pragma once

#include "verify/verifier_task.h"

namespace tritogen {

// Parameters match strictly, one to one by name, shape and dtype; state that was made non-neutral must be
// there too.
bool MatchesByName(const Task::Impl& task, const Plan& candidate);

// The setting's values for the state that the candidate has.
Bindings BindingsFor(const Task::Impl& task, const Setting& setting, const Plan& candidate);

// For a candidate whose names do not match: gives each affine parameter and running statistic of the setting
// to an entry of the candidate's state with as many elements and the same neutral values, of the same name,
// the same last part of the name, or else the first that is left. Rule "neutral_parameters" when one that the
// outputs visibly depend on finds none: a candidate that leaves it out would pass.
std::optional<Objection> PairNeutralState(const Task::Impl& task, const Setting& setting,
                                          const Plan& candidate, const ReplayOptions& options,
                                          Bindings* bindings);

// State that the reference updates and that holds other values after the candidate's call than after the
// reference's: no fault of the call, but of those that follow in evaluation mode.
struct NeglectedState {
  std::vector<std::string> unchanged;  // holds what it held before
  std::vector<std::string> other;
  std::string Note() const;  // empty: neither
};
NeglectedState FindNeglectedState(const Task::Impl& task, const Setting& setting, const Bindings& bindings,
                                  const Trial& trial, const Plan& candidate, const ReplayOptions& options);

}  // namespace tritogen
