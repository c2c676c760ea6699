// Prints the module that a user ships, from a verified Plan and nothing else: the original program under
// another name, the kernels, and a class (or function) with the original's name that launches them when the
// arguments are those that were verified and calls the original otherwise. The caller records the text again
// and compares Plan hashes before it is given to anybody (ARCHITECTURE.md, step 12), so a slip here can only
// refuse, never mislead.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "plan/plan.h"

namespace tritogen {

// What the original's class or function is called in the printed module: "OriginalModel", "original_f".
std::string OriginalName(const std::string& entry, bool is_function);

struct EmitRequest {
  const Plan* plan = nullptr;  // a candidate that passed; `unsaved`: only buffers that the reference has, too
  int variant = 0;             // which variant of autotuned launches, modulo their number
  std::string reference_source;
  std::string entry;  // class or function name in the reference
  bool is_function = false;
  // The original: what it writes to decides which arguments must not share memory, and it says what is
  // returned. None: nothing, and as in `plan`.
  const Plan* reference = nullptr;
  bool mode_matters = true;  // training and evaluation differ: the module's mode is one of the guards
  std::vector<std::string>
      header;  // lines of the module's docstring: what was verified, how, with which seed and versions
};

struct EmitFailure {
  std::string reason;  // why this Plan cannot be printed as a module
};

std::variant<std::string, EmitFailure> EmitModule(const EmitRequest& request);

// What one call of the printed module costs its caller, in microseconds of the host, beside which the GPU
// works: by the counts of launches, of PyTorch's calls and of guarded tensors, at the rates of one host
// (docs/log/2026-11-24-called-times.md). It says which of two modules keeps its caller longer, not how long.
double HostMicroseconds(const Plan& plan);

// The Plan with one variant per launch, as the emitted module will record.
Plan WithVariant(const Plan& plan, int variant);

}  // namespace tritogen
