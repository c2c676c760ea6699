// Draws calls of an operator at random, from what its row says may be drawn (param_spec.h).
//
//   auto form = DrawForm(row, signature, &random);  // ranks, dtypes, structural attributes; integers left
//   free auto sized = Size(*form, &random);              // small sizes that meet the row's constraints, by
//   search
//
// src/synth takes forms and draws sizes uniformly instead; Size() is for tests, and small.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/splitmix.h"
#include "program/catalogue.h"

namespace tritogen {

// A call whose sizes are open.
struct CallForm {
  struct Operand {
    const Param* param;
    const ParamSpec* spec;  // null: nothing is said of it
    int rank;
    Dtype dtype;
  };
  const OpRow* row = nullptr;
  const Signature* signature = nullptr;
  BoundArgs args;  // NodeRef{i} stands for operands[i]; free attributes have a placeholder for each item
  std::vector<Operand> operands;
  std::set<std::string, std::less<>> free;

  // For ConstraintsOf; refers to this form.
  OpForm Unsized() const;
};

// Nothing when a draw contradicts itself (more normalised dimensions than the input has); draw again.
// Throws InternalError for a parameter that has no default and no spec.
std::optional<CallForm> DrawForm(const OpRow& row, const Signature& signature, SplitMix* random);

// A program of one call, its tensors inputs "t0", "t1", … Nothing when no sizes were found in a few hundred
// tries. `low` sizes and attributes come out: up to 6 where constraints do not ask for more.
std::optional<Program> Size(const CallForm& form, SplitMix* random);

}  // namespace tritogen
