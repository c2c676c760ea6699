// From a Sketch to the System of its sizes, and from a solution to the Program.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "synth/sketch.h"
#include "synth/system.h"

namespace tritogen::synth {

struct ShapeOptions {
  Domain sizes = Domain::Common();  // of inputs' dimensions
  Domain image_sizes;               // of an operator's first operand, behind batch and channels; empty: sizes
  Domain windows{1, 2, 3, 4, 5, 7};         // of kernels of convolutions
  int64_t max_elements = int64_t{1} << 26;  // of one tensor
  int64_t min_elements = 1;
  // Bounds on whole programs. Floating-point operations as the catalogue counts them; bytes of all inputs and
  // results together.
  int64_t min_flops = 0, max_flops = kUnbounded;
  int64_t max_bytes = kUnbounded;
};

// The sizes of a sketch as variables. Bounds on whole programs are no part of the system (sampler.h rejects
// by them), but one tensor must not have more elements than max_bytes allow.
struct SketchSystem {
  System system;
  std::vector<std::vector<Var>> tensors;  // by tensor of the sketch, by dimension
  struct Attribute {
    int step;
    std::string name;
    int item;
    Var var;
  };
  std::vector<Attribute> attributes;
};
SketchSystem SystemOf(const Sketch& sketch, const ShapeOptions& options);

// A program with what its inputs may hold, by node: all inputs come first.
struct SizedProgram {
  Program program;
  struct Values {
    double low, high;
    bool nonzero;
    bool indices;  // integers in [0, high)
  };
  std::vector<Values> inputs;
  double flops = 0, bytes = 0;
};
// Writes a solution's attributes into the arguments of their steps, which are those of the sketch before.
void SetAttributes(const SketchSystem& system, const std::vector<int64_t>& values,
                   const std::function<BoundArgs*(int step)>& args_of);
SizedProgram ProgramOf(const Sketch& sketch, const SketchSystem& system, const std::vector<int64_t>& values);

}  // namespace tritogen::synth
