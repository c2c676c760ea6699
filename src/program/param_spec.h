// Which arguments of an operator may be drawn: ranks and values of tensors, domains of attributes. Written in
// a row as "input: rank 3..5, > 0; dim: axis; stride: 1..3": parameters apart by semicolons, what is said of
// one by commas.
//
//   tensors     rank 4 · rank 1..4 · rank as NAME (as many dimensions as that tensor, or as that list has
//               items) · rank one less than NAME · ranks 2 2 1 1 (of the tensors of a list, in turn) · below
//               NAME (of lower or equal rank, sizes that broadcast) float (the default: float32, and the half
//               types in turn) · float32 · int · bool · number (any of those) · as NAME (that tensor's dtype)
//               >= LOW · LOW to HIGH · nonzero: values · index of NAME: integers below its size in `dim`, or
//               in dimension 0 where there is no `dim` · class of NAME: integers below its second size ·
//               always, never: of tensors that may be left out · list 1..3: of Tensor[] ·
//               unrounded: the result jumps with it, so that values known up to rounding have no answer
//   attributes  axis (of the first tensor) · axes (some of its dimensions) · permutation · bool ·
//               LOW..HIGH: integers, which constraints may leave free · one of A | B | C · items 2..3: length
//               of a list
//   otherwise   an attribute has its default, a tensor rank 1..4 and any dtype float
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace tritogen {

struct ParamSpec {
  enum class Dtypes { kFloat, kFloat32, kInt, kBool, kNumber };
  enum class Domain { kDefault, kAxis, kAxes, kPermutation, kBool, kRange, kChoice };

  std::string param;
  // Tensors.
  int min_rank = 1, max_rank = 4;
  std::string rank_as, rank_less, below;
  std::vector<int> ranks;  // of a list's tensors
  Dtypes dtypes = Dtypes::kFloat;
  std::string dtype_as;
  double low_value = -std::numeric_limits<double>::infinity(),
         high_value = std::numeric_limits<double>::infinity();
  bool nonzero = false;
  bool unrounded = false;
  std::string index_of, class_of;
  bool always = false, never = false;
  // Attributes.
  Domain domain = Domain::kDefault;
  int64_t low = 1, high = std::numeric_limits<int64_t>::max();  // kRange
  std::vector<Arg> choices;                                     // kChoice
  // Lists of either kind.
  int min_items = 1, max_items = 1;
  std::string items_as;  // as many as that tensor has dimensions
};

// REQUIRES: text of the catalogue in this form.
std::vector<ParamSpec> ParseParamSpecs(std::string_view text);

}  // namespace tritogen
