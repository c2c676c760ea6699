// Long programs in parts: a model that was trained on programs of a few operations is asked about runs of a
// few operations each, and its answers are put together into one file.
#pragma once

#include <string>
#include <vector>

#include "program/program.h"

namespace tritogen {

// Operations of a program that stand together, as a program whose inputs are what they read from before.
struct ProgramPart {
  // Its leaves are inputs, in the order in which they are read, and come first. One without dimensions that
  // is spread over others has one element instead.
  Program program;
  std::vector<NodeRef> reads;   // what they are in the whole program, in that order
  std::vector<NodeRef> writes;  // what is read behind the part or returned, in the part's order; at least one
};

// Whether it is an operation that only looks at a tensor's memory in another way.
bool IsView(const Node& node);

struct PartLimits {
  int operations = 3;        // of a part
  int computing = 3;         // of them, operations that are no views
  bool views_apart = false;  // views are in no part: FileOfParts computes them
  bool operator==(const PartLimits&) const = default;
};

// All operations in their order, in parts within the limits (a single operation is always one), such that
// views stand with who reads them, then such that parts are few, hand on few values and are of equal length.
// A part of which nothing is read is left out.
std::vector<ProgramPart> CutIntoParts(const Program& program, const PartLimits& limits);

// One file whose ModelNew takes the program's leaves in order and calls the parts' answers: `codes[i]`
// defines a ModelNew without state that takes parts[i].reads and returns parts[i].writes. Views that are in
// no part stand in its forward; what is a view is handed to a part as a contiguous tensor. Names that two
// codes define are told apart by a number behind them, imports come once. REQUIRES: as many codes as parts.
std::string FileOfParts(const Program& program, const std::vector<ProgramPart>& parts,
                        const std::vector<std::string>& codes);

}  // namespace tritogen
