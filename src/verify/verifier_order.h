// Which trials a candidate runs how: watched, unwatched, in a row.
#pragma once

#include <vector>

#include "verify/verifier_task.h"

namespace tritogen {

const Trial& FirstGenerated(const Setting& setting);

// Poison finds what a program does with memory that nobody wrote, and two trials suffice for that: what the
// program shows in the others, it has to show unwatched. Of a program that behaves while it is watched, one
// trial that gives it away is enough, and each of them may be the only one.
bool IsWatched(const Trial& trial);

// The options for trials that are not: programs in the order of their numbers, and where nobody wrote no
// poison but what a GPU might show there, so that a program that looks whether it is watched sees nothing.
ReplayOptions Unwatched(ReplayOptions options);

// On one thread programs also end in that order.
ReplayOptions UnwatchedInOrder(ReplayOptions options);

// Calls that run in a row: inputs as generated, these and others but for a few elements (`planted`), those
// others. One alone where random numbers keep two calls apart.
std::vector<const Trial*> TrialsInARow(const Task::Impl& task, const Setting& setting);

// An output of the reference depends on state that a call before has updated.
bool CarriesState(const Task::Impl& task);

// The same, and what is expected of them in a row.
struct Row {
  std::vector<const Trial*> alone, expected;
  std::vector<Trial> made;  // what `expected` points at where state that the reference updates decides
};
// Only the first call where the reference cannot be asked.
Row CallsOnOneState(const Task::Impl& task, const Setting& setting, const Deadline& deadline);

// Calls that run one by one, each of which starts from the state that set-up made. The first one is watched,
// and runs once more unwatched.
struct TrialsAlone {
  std::vector<const Trial*> watched, unwatched;
};
TrialsAlone TrialsOneByOne(const Task::Impl& task, const Setting& setting);

}  // namespace tritogen
