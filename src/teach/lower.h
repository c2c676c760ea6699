// Program → Graph.
#pragma once

#include <optional>
#include <vector>

#include "base/fp32_precision.h"
#include "program/program.h"
#include "teach/graph.h"

namespace tritogen::teach {

inline constexpr int64_t kManyPrograms = 2 * kProcessors;

// A product of so many operations takes longer than its factors' parts or copies take to be made.
inline constexpr double kFlopsWorthStoring = double{1u << 27};

struct LowerOptions {
  // Reductions with few results and many elements are cut in two, so that many programs take part: anywhere
  // along their lines, or only between dimensions of the program's own, or not at all.
  enum class Cuts { kAnywhere, kBetweenDimensions, kNone } cuts = Cuts::kAnywhere;
  // Matrix products, convolutions, attention and recurrent layers stay calls: PyTorch's libraries have good
  // kernels for them.
  bool keep_products = false;
  // Nothing is fused across operations of the program: each has kernels of its own.
  bool apart = false;
  // What large products of float32 multiply: their factors as they are; bfloat16 numbers, of which three add
  // up to each float32; or, for TF32 dots, factors whose neighbours along the sum are neighbours in memory,
  // which are copies where need be, or all are.
  enum class Products { kAsTheyAre, kBfloat16Parts, kTf32, kTf32OfCopies } products = Products::kAsTheyAre;
  bool UsesTf32() const { return products == Products::kTf32 || products == Products::kTf32OfCopies; }
  // Which operations TF32 dots are for; products of all others are of bfloat16 parts then.
  Fp32Precision fp32_precision = Fp32Precision::kTf32;
  // Convolutions of few channels are outer products, not dots.
  bool outer_products = true;
  // Recurrent layers: by size, or all in waves (a launch for each step), or none.
  enum class Waves { kBySize, kAlways, kNever } waves = Waves::kBySize;
  // Numbers of a state that a program of such a launch makes.
  int64_t wave_columns = 4;
  // Products of one row stay products, as of attention they do in any case. Otherwise they are reductions.
  bool keep_rows = false;
  // Operations that are parts of attention which is to be one kernel: AttentionOf the program.
  std::vector<NodeId> attention = {};
  bool operator==(const LowerOptions&) const = default;
};

// Takes a program apart. What the catalogue does not cover becomes a kCall. Nothing when the program holds
// something that no candidate can be written for (an empty tensor, an operation in place, a launch). Outputs
// that are no tensors are none of the graph's.
std::optional<Graph> Lower(const Program& program, const LowerOptions& options);

// The operations of a program that attention is made of: products and softmaxes between them, or the call.
std::vector<NodeId> AttentionOf(const Program& program);

}  // namespace tritogen::teach
