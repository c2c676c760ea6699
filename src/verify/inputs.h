// Input distributions of trials, made from what the task's own generator gives.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tritogen {

enum class Distribution {
  kGenerated,  // as the task's generator makes them
  kSpread,     // random signs, and per-slice scales over three orders of magnitude
  kFlipped,    // some of the inputs negated
  kShifted,    // per-slice offsets of a few standard deviations
  kSpikes,     // a few values of up to a hundred times the rest, at random places, and larger ones at ends of
               // lines
  kPlanted,    // as generated but for a handful of elements at random places
  // The same with fewer, where no regular sample that sees one of the others sees any.
  kPlantedApart,
  kLarge,     // magnitudes in the hundreds: exponentials overflow
  kBinary,    // zeros and ones: sums and products are exact
  kNearOne,   // one, give or take a percent: products neither vanish nor overflow
  kSwings,    // near one, with jumps along every dimension: products shrink to nothing and grow back
  kHuge,      // a hundred thousand times as generated: beyond what float16 holds. Where nothing is decided by
              // size
  kFarBelow,  // far below zero, each slice by another number. Where elements are taken for their size
  kFarAbove,  // the same above zero; of several inputs by turns above and below
  kAsked,     // as generated but for a few elements: what the program names (asked_values.h)
  kMissing,   // as generated but for NaN in a few places. Where the program looks for it (asked_values.h)
  kMinusInf,  // as generated but for -Inf in a few places. Where the program looks for Inf
  kOpposed,   // factors of opposite signs. Where their products are taken for their size (opposed_factors.h)
  kTiny,      // slices one to nine decades smaller. Where a small number stands beside what is computed, or
              // forward divides by a sum, a norm or the like or asks for `all` or `any`
  kNone,      // masks and labels all false or the lower of their two values (inputs_blank.h)
  kAll,       // the same all true, or the upper one (inputs_blank.h)
  kUneven,    // most integers the same one: most others do not occur (inputs_blank.h)
  kCrowded,   // all integers the same one: one group, bag or row has everything (inputs_blank.h)
  kRepeats,   // integers that stand beside each other are often the same (inputs_blank.h)
  kZeros,     // floating inputs all zero (inputs_blank.h)
  kLevel,     // lines of one number each, slices that are the same (inputs_blank.h)
  kNothing,   // as kNone and as kZeros at once (inputs_blank.h)
  kNothingBelow,  // as kNone, and floating inputs far below zero (inputs_blank.h)
  kAlike,         // inputs of one shape the same, or one the other negated, slice by slice (inputs_alike.h)
  kSunk,          // integers that are taken for their size far below zero (inputs_sunk.h)
};
std::string_view DistributionName(Distribution distribution);

inline bool IsFar(Distribution distribution) {
  return distribution == Distribution::kFarBelow || distribution == Distribution::kFarAbove;
}

inline bool IsPlanted(Distribution distribution) {
  return distribution == Distribution::kPlanted || distribution == Distribution::kPlantedApart;
}

// NaN or Inf, which nothing else does.
inline bool HoldsBroken(Distribution distribution) {
  return distribution == Distribution::kAsked || distribution == Distribution::kMissing ||
         distribution == Distribution::kMinusInf;
}

// Nothing chosen, and nothing found: for divisions.
inline bool IsNothing(Distribution distribution) {
  return distribution == Distribution::kNothing || distribution == Distribution::kNothingBelow;
}

// Masks and labels, all alike.
inline bool Chooses(Distribution distribution) {
  return distribution == Distribution::kNone || distribution == Distribution::kAll;
}

// Integers that become others of them: mostly, or all, one, or those beside them.
inline bool Gathers(Distribution distribution) {
  return distribution == Distribution::kUneven || distribution == Distribution::kCrowded ||
         distribution == Distribution::kRepeats;
}

inline bool IsBlank(Distribution distribution) {
  return Chooses(distribution) || Gathers(distribution) || distribution == Distribution::kZeros ||
         distribution == Distribution::kLevel || IsNothing(distribution);
}

// Differences, and what nothing is taken from, are zero but for rounding.
inline bool MayCancel(Distribution distribution) {
  return IsNothing(distribution) || distribution == Distribution::kAlike ||
         distribution == Distribution::kZeros;
}

// Where it means nothing for a task, nobody has to know.
inline bool MayMeanNothing(Distribution distribution) {
  return IsBlank(distribution) || distribution == Distribution::kAlike || distribution == Distribution::kSunk;
}

// The largest magnitude of kLarge lies between them.
inline constexpr double kLeastLarge = 150, kMostLarge = 500;

// Holds two different values and no others, as masks and labels do; of fewer than three elements nobody
// knows.
bool IsTwoValued(const at::Tensor& x);

// Lines along the last dimension are in order, all of them.
bool IsAscending(const at::Tensor& x);
// In order as before, from the first to the last, of which there are three at least: each of the others takes
// the value in front of it.
at::Tensor Delayed(const at::Tensor& x);

bool IsInteger(const at::Tensor& x);  // bools are none

// All elements are different ones.
bool AreApart(const at::Tensor& x);

// Floats that are integers, all of them, as labels, masks and places are.
bool HoldsIntegers(const at::Tensor& x);

// New inputs from generated ones; the arguments are not changed. Random, but the same for the same seed.
// `strength` in (0, 1] tames scales, shifts, spikes and jumps; more makes `large` inputs larger. Integer
// tensors stay as generated; of bool tensors some elements are redrawn. Floating tensors of two values
// (IsTwoValued) are permuted, or left as they are. Where all of a tensor would be flipped, shifted or large,
// its beginning is left as it was generated: a program that looks there sees nothing unusual. `kAsked`,
// `kMissing`, `kOpposed`, `kAlike`, `kSunk` and blank ones are not made here. `keep_signs`: tensors without a
// negative number get none.
std::vector<at::Tensor> Transform(Distribution distribution, const std::vector<at::Tensor>& generated,
                                  uint64_t seed, double strength, bool keep_signs = false);

// Lines along the last dimension of what is `searched` are in order again, where those of all generated lines
// are: eager PyTorch's own answer means nothing otherwise.
void KeepInOrder(const std::vector<bool>& searched, const std::vector<at::Tensor>& generated,
                 std::vector<at::Tensor>* inputs);

// `probabilities` are between 0 and 1 again: of those that left, what lies behind the decimal point.
void KeepProbabilities(const std::vector<bool>& probabilities, std::vector<at::Tensor>* inputs);

// Integer `flags` of zeros and ones, or of ones alone, are drawn anew: as masks in a `binary` trial.
void LowerFlags(const std::vector<bool>& flags, uint64_t seed, double strength,
                std::vector<at::Tensor>* inputs);

// Other values for one tensor of the same kind, far enough from the old ones to matter; nothing when there
// are none (an integer tensor with one value). Integers are permuted (those in order stay so, from the first
// to the last), bools flipped, floats redrawn from a distribution like theirs.
std::optional<at::Tensor> Redraw(const at::Tensor& tensor, uint64_t seed);

// Each floating tensor moved by up to half a unit in the last place of its own dtype, as fp64; fp64 itself,
// which has no halves of it, by up to two whole ones.
std::vector<at::Tensor> Wobble(const std::vector<at::Tensor>& tensors, uint64_t seed);

// Each float32 tensor rounded to the 11 significant bits that TF32 and fp16 keep, as fp64; others as they
// are.
std::vector<at::Tensor> RoundToTf32(const std::vector<at::Tensor>& tensors);

// Each float32 tensor rounded to bfloat16, as fp64; others as they are.
std::vector<at::Tensor> RoundToBfloat16(const std::vector<at::Tensor>& tensors);

// A float64 tensor as tensor cores see it that take TF32: of each element what its first 10 places after the
// leading one say, the rest cut off. With a `seed` a random share of that rest instead: errors of the same
// kind, but others for each seed.
at::Tensor CutToTf32(const at::Tensor& x, uint64_t seed = 0);

}  // namespace tritogen
