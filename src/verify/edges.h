// Where a little more or less in what a call of the reference is given makes a lot of difference or none at
// all: functions that jump (round, casts to integers, comparisons with a number) and functions with flat
// parts (relu, clamp). How far honest programs differ behind them says no run that stays on one side.
#pragma once

#include <vector>

#include "plan/plan.h"

namespace tritogen {

enum class EdgeKind {
  kFlat,    // a flat part
  kStep,    // jumps at one value: a comparison, a sign
  kStairs,  // jumps everywhere: rounding, a cast to integers
  kPick,    // says which elements are taken: topk, argmin
};

struct Edge {
  const AtenStep* step;  // of the Plan that was asked about
  TensorId argument;     // floating, of which a little more or less matters
  EdgeKind kind;
  TensorId other = kNoTensor;  // what it is compared with, where that is a tensor

  bool jumps() const { return kind != EdgeKind::kFlat; }
};

// The first ones on the way to the output through elementwise calls, layout and pooling; a flat part behind
// another edge does not count. Behind sums and products of matrices nothing does: they average.
std::vector<Edge> EdgesBefore(const Plan& plan, TensorId output);

// The first jumps on all other ways to the output, through sums, products and places of elements, and what
// picks elements by their size where these places are asked for. One place that is decided otherwise is a
// whole step there, too, which others may hide, but need not.
std::vector<Edge> JumpsWithin(const Plan& plan, TensorId output);

}  // namespace tritogen
