// Large sizes of a program replaced by small ones: a model that was trained on small tensors is asked about
// those, and the numbers in its answer are taken back.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "program/program.h"

namespace tritogen {

// Whether any dimension of any of the program's tensors is longer.
bool HasSizeAbove(const Program& program, int64_t largest);

struct Resized {
  Program program;
  std::map<int64_t, int64_t> back;  // from the new numbers to those of the program
};

// The same operations on sizes of which those above `largest` are small, unlike each other where they were,
// and unlike any other number of the program, such that a number says which size is meant. What follows from
// sizes (a convolution's result, a flattened length) follows from the new ones. Nothing where no size is
// above `largest`, or where no such sizes were found. The same seed gives the same sizes. REQUIRES: a
// canonical program, whose operations the catalogue knows.
std::optional<Resized> WithSmallSizes(const Program& program, int64_t largest, uint64_t seed);

// Whole numbers of a text, code or prose, that `back` knows: "37", "37.0", no part of "x37" or "1.37".
std::string TakenBack(std::string_view text, const std::map<int64_t, int64_t>& back);

}  // namespace tritogen
