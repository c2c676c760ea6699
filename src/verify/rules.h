// What can be said against a candidate from its Plan alone, before anything runs.
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

#include "plan/plan.h"
#include "verify/verdict.h"
#include "verify/verifier.h"
#include "verify/work_flow.h"

namespace tritogen {

// A finding that ends a verification.
struct Objection {
  Outcome outcome;
  std::string reason;
  std::string rule;
  nlohmann::json evidence = nlohmann::json::object();
};

// The candidate takes the reference's inputs and gives outputs of the same structure, shapes and dtypes.
// Outcomes: rejected (rule "contract"), wrong_shape, wrong_dtype.
std::optional<Objection> CheckContract(const Plan& reference, const Plan& candidate);

// An output of the candidate is an input, a piece of its state, or other memory that outlives the call, or
// its elements share memory, where the reference's is nothing of the kind. Rule "output_aliases".
std::optional<Objection> CheckAliasing(const Plan& reference, const Plan& candidate);

// Two outputs of the candidate lie in one place, the reference's do not, or the reference returns an input or
// its state itself, the candidate something new. No fault: honest programs return views of what they computed
// once. Empty: nothing of the kind.
std::string NoteOfSharing(const Plan& reference, const Plan& candidate);

// An output has other strides than the reference's. No fault either. Empty: none.
std::string NoteOfLayout(const Plan& reference, const Plan& candidate);

// A container is of another type than the reference's, a plain tuple in place of a named one. No fault of the
// values, which are compared by their places, and a printed module returns what the reference returns. Empty:
// none.
std::string NoteOfTypes(const Plan& reference, const Plan& candidate);

// A call copies from the GPU to the CPU, and none of the reference's does: everything is replayed on one
// device, where that costs next to nothing. Rule "host_copy".
std::optional<Objection> CheckHostCopies(const Plan& reference, const Plan& candidate, const Flow& flow);

// A kernel turns a pointer into a number: no other call's buffers lie where this one's do. Rule
// "raw_pointer".
std::optional<Objection> CheckAddresses(const Plan& candidate);

// An ATen call that can reach an output draws random numbers, where the reference draws none. Rule "random".
std::optional<Objection> CheckRandom(const Plan& reference, const Plan& candidate, const Flow& flow);

// Rules "no_triton" (no launch whose result can reach an output) and, in strict mode, "strict" (an ATen call
// of `run` is neither factory, view nor layout copy).
std::optional<Objection> CheckTriton(const Plan& candidate, const Flow& flow, Mode mode);

// Strict mode: layout copies do more than half of the work, which can only be where the reference does little
// else than move data. Rule "strict". `share` as from ShareOf.
std::optional<Objection> CheckCopies(const Plan& candidate, const WorkShare& share, Mode mode);

// The candidate with every launch of `run` left out; buffers that only launches would have written hold an
// arbitrary constant. When its outputs are still right, the launches were decoys.
Plan WithoutLaunches(const Plan& candidate);

// The text of sizes: "[2, 3]".
std::string ShapeText(const std::vector<int64_t>& sizes);

}  // namespace tritogen
