// Sketch: a program without sizes. Which operators, wired how, of which ranks, along which dimensions; what
// is left open are sizes and the integer attributes that enter their equations. Its System (shapes.h) says
// which sizes fit; each solution is a Program.
#pragma once

#include <limits>
#include <set>
#include <string>
#include <vector>

#include "base/splitmix.h"
#include "program/catalogue.h"
#include "program/program.h"
#include "program/shape_rules.h"

namespace tritogen::synth {

// What may stand in an input: values, and for indices the size that they must stay below.
struct InputValues {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  bool nonzero = false;
  int indexed_step = -1, indexed_operand = 0, indexed_axis = 0;  // step −1: these are no indices
  bool Any() const { return indexed_step < 0 && !nonzero && low <= -3 && high >= 3; }
};

struct SketchInput {
  Dtype dtype = Dtype::kFloat32;
  InputValues values;
};

struct SketchStep {
  const OpRow* row = nullptr;
  const Signature* signature = nullptr;
  BoundArgs args;             // NodeRef{i} stands for operands[i]
  std::vector<int> operands;  // tensors of the sketch
  std::vector<int> results;   // tensors of the sketch
  ShapeSystem shapes;         // over local variables
  bool equal_sizes = false;   // sizes that could broadcast are equal
};

struct SketchTensor {
  int rank = 0;
  Dtype dtype = Dtype::kFloat32;
  int input = -1;             // of an input: its number
  int step = -1, result = 0;  // of a result
  int uses = 0;
  bool exact = true;  // its values do not depend on how anything was rounded
};

struct Sketch {
  std::vector<SketchTensor> tensors;
  std::vector<SketchInput> inputs;
  std::vector<SketchStep> steps;
  // Results that no step uses, in order.
  std::vector<int> Outputs() const;
};

// Adds a step and its results; says why not when the operator refuses such operands or a result would have
// more than `most_rank` dimensions. `free`: integer attributes that become variables. Its args, operands, row
// and signature are given; the rest is found here. REQUIRES: the step has operands.
std::string AddStep(Sketch* sketch, SketchStep step, const std::set<std::string, std::less<>>& free,
                    int most_rank);

// A graph as text: "h = matmul(x:2, w:2); relu(h); sum(h, dim=1)". Steps are apart by semicolons or line
// ends; a name that no step made is an input and has its rank behind a colon where it first stands;
// attributes come by name. Attributes that the catalogue says may be drawn from a range are left open. Throws
// UserError naming the step that is wrong.
Sketch ParseSketch(std::string_view text);

// How sketches are drawn. docs/synthesis.md says which distribution this is.
struct SketchOptions {
  std::vector<const OpRow*> operators;  // a step's operator is drawn uniformly from them
  int max_rank = 4;
  double fresh = 0.35;      // that an operand after the first is a new input
  double fan_out = 0.2;     // that any tensor will do, used or not; else one that no step uses yet
  double broadcast = 0.25;  // that a step's sizes may broadcast rather than be equal
  // How often a call is as modules have it, each of these apart: it is of any overload, an operand that may
  // be a number is one, a real argument is any number of the size of one that is listed, integers and axes
  // keep their default, a step's integers go beyond what is listed (groups to any size, others to thrice its
  // end), windows are square, images as high as wide.
  double as_modules = 0;
  bool jumps = false;  // operators whose results jump may take values that were rounded
};

// A sketch of `level` steps. REQUIRES: level ≥ 1, operators not empty and each Drawable().
Sketch DrawSketch(const SketchOptions& options, int level, SplitMix* random);

// Whether synthesis can draw calls of the row: it takes tensors, gives a
// fixed number of them, and PyTorch has a public name for it.
bool Drawable(const OpRow& row);

}  // namespace tritogen::synth
