// Inputs with nothing in them: no element chosen, most choices the same, or the same as their neighbours,
// zeros, lines that are level. Random draws of many elements never are that, and programs are wrong there first: means of nothing without a bound, counts that are never
// zero, norms without an epsilon.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "verify/inputs.h"

namespace tritogen {

// What PyTorch asks of the inputs of a task, by tensor leaf.
struct BlankLimits {
  std::vector<bool> flags;  // integers that are 1, all of them, and only computed with: masks, too
  // Forward writes to places that integers say, and which of two at one place lasts is open.
  bool last_write_stays = false;
  // Integers that forward looks for among those of another input (KeysOf); empty: there are none.
  std::vector<std::optional<size_t>> keys = {};
};

// Inputs for a blank `distribution` (IsBlank), made of generated ones; nothing where none of them changes.
// `kNone`: bools are false, tensors of two values all have the lower one, flags are 0. `kAll`: bools are
// true, tensors of two values all have the upper one. `kUneven`: of the values of an integer tensor three of
// four become one that was generated, of keys the same in all of them; what is in order (offsets, row
// pointers) takes the values in front of it; what differs everywhere stays where places are written to.
// `kCrowded`: the same of all values; of what is in order the first stays and the others become the last.
// `kRepeats`: about half of the elements along a line take the value in front of them, some lines that of the
// line before; of vectors one value occurs once; lines of less than eight are repeated whole.
// `kZeros`: floating tensors but those of two values are zero. `kNothing`: what `kNone` and `kZeros` change,
// both or nothing; `kNothingBelow`: the same with -80 to -40 in the place of zeros. `kLevel`: of floating
// tensors but those of two values, by turns along the first dimension, a slice is that in front of it, its
// lines along the last dimension are one number each, its slices along the second are the same, or it stays.
std::optional<std::vector<at::Tensor>> Blank(Distribution distribution, const BlankLimits& limits,
                                             const std::vector<at::Tensor>& generated, uint64_t seed);

}  // namespace tritogen
