// What kind of thing an ATen operator does, from libtorch's own schemas and tags: whether it makes a tensor
// from nothing, gives a view, only moves data, or computes; and which arguments it writes.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "plan/visit.h"

namespace tritogen {

enum class OpKind {
  kFactory,  // reads no tensor's values: empty, zeros, full_like, arange, …
  kView,     // another look at the same storage
  kLayout,   // the same values in the same dtype elsewhere: contiguous, clone, copy_
  kCompute,  // everything else, also every operator that libtorch does not know
};

struct OpTraits {
  bool known = false;  // libtorch has a schema for it
  bool pointwise = false;
  bool random = false;             // may draw random numbers
  bool view = false;               // some result aliases an argument that is not written
  std::vector<std::string> names;  // of the schema's arguments, positional order
  std::vector<bool> writes;        // of the schema's arguments: the call writes them
  std::vector<bool> outs;          // of these: results are put there, whatever it was (`out=`)
};

// `op` as in a Plan, "aten::add.Tensor". Thread-safe; the reference stays valid.
const OpTraits& TraitsOf(const std::string& op);

OpKind KindOf(const Plan& plan, const AtenStep& step);

// The argument with this name in the operator's schema, given by place or by name; null when it is left to
// its default.
const Value* FindArgument(const AtenStep& step, const std::string& name);
// The same where it is one tensor; else kNoTensor.
TensorId TensorArgument(const AtenStep& step, const std::string& name);

// The call draws random numbers. An operator that could (attention, recurrent layers, dropout) does not when
// its dropout is zero or it is not in training.
bool DrawsRandom(const AtenStep& step);

// The call sorts or picks by size, and PyTorch leaves open in which order equal values come.
bool OrdersFreely(const AtenStep& step);

// Whether it makes float16 or bfloat16 of float32 or float64 numbers, as autocast does of what products are
// given.
bool IsCastToHalf(const Plan& plan, const AtenStep& step);
// Whether it factors a matrix or solves with one, for which a line of zeros leaves no or any answer.
bool FactorsMatrix(const AtenStep& step);
// The tensor in which the call looks for places, taking for granted that its lines are in order.
std::optional<TensorId> SearchedIn(const AtenStep& step);
// What the call takes as probabilities, and lets no other number pass for.
std::vector<TensorId> ProbabilitiesOf(const AtenStep& step);
// True where, of many elements, a few may count for all, and a rounding says which: softmaxes and other
// exponentials, attention, what picks or orders.
bool LetsFewCount(const AtenStep& step);
// Whether gates or tanh decide, step after step, what a layer of a recurrent network carries on: where its
// sums are large each is a jump, which everything behind it repeats.
bool CarriesBySigns(const AtenStep& step);

// The call gives variances or deviations.
bool IsVariance(const AtenStep& step);

// Subtracts a mean and divides by a deviation.
bool IsNorm(const AtenStep& step);

// Some number between 0 and 1e-3 stands in the call, as the epsilons of norms do, or is its default.
bool HasEpsilon(const AtenStep& step);

// Somewhere in run what was computed of floating inputs is divided by, or its logarithm taken: an epsilon that
// forward does not have would show where that is small.
bool DividesByComputed(const Plan& plan);

// Takes the largest or smallest elements, or weighs all by their exponentials.
bool IsExtremum(const AtenStep& step);

// Whether all are true, or any.
bool AsksOfAll(const AtenStep& step);

// Whether some call takes extrema or asks of all, and none is a norm or a variance: what is far from zero has
// no digits left for these.
bool TakesExtrema(const Plan& plan);

// Tensors among the arguments that the call writes, and those whose values it reads.
std::vector<TensorId> WrittenArguments(const AtenStep& step);
// Memory that the ATen calls of `run` write.
std::set<StorageId> WrittenStorages(const Plan& plan);
std::vector<TensorId> ReadArguments(const AtenStep& step);

}  // namespace tritogen
