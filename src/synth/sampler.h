// Programs without end: sketches are drawn, their sizes sampled uniformly, and what must not come is left
// out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "synth/mould.h"
#include "synth/permutation.h"
#include "synth/shapes.h"
#include "synth/sketch.h"
#include "synth/solver.h"

namespace tritogen::synth {

// Operators, or pairs of operators of which the second takes what the first made, that are kept apart.
struct HeldOut {
  std::set<std::string, std::less<>> operators;
  std::set<std::pair<std::string, std::string>> pairs;
  bool only = false;  // true: only programs that have one of them; false: none that has

  // "relu, matmul>relu". Throws UserError for what the catalogue does not know.
  static HeldOut Parse(std::string_view text);
  bool Allows(const Sketch& sketch) const;
};

// Two sides of all programs there are, told apart by their fingerprints: whichever graph, seed or index a
// program came from, it is always on the same side. (Indices would not do: two graphs can hold one program.)
enum class Side { kAll, kTrain, kTest };
Side SideOf(std::string_view fingerprint, double test_share);

struct SamplerOptions {
  int level = 1;
  uint64_t seed = 0;
  SketchOptions sketch;
  ShapeOptions shapes;
  SolverOptions solver;
  int per_sketch = 4;  // programs drawn from one sketch, without replacement
  // 0: a sketch has all of shapes.sizes (and image_sizes). Else so many of them, drawn for it: small ones as
  // often as large ones, by the logarithm. Sizes in equations are then any, where of more than 64 only the
  // common ones would be.
  int sizes_per_sketch = 0;
  Side side = Side::kAll;
  double test_share = 0.1;
  // Of the programs that all other options give, in their order, only those of one side. Unlike `side` it
  // changes nothing in which programs are drawn, so that graphs without a program on that side need not be
  // counted. `shown_by_graph`: sides are told apart by the fingerprints of graphs.
  Side shown = Side::kAll;
  bool shown_by_graph = false;
  HeldOut held_out;
  std::set<std::string> avoid;  // fingerprints, of either kind
};

struct Sample {
  SizedProgram sized;
  std::string text;  // as PrintProgram writes it
  std::vector<std::string> operators;
  Natural index, count;  // of the sketch's sizes; count is a bound from above when not exact
  bool exact = true;
  std::string fingerprint, graph_fingerprint;
};

// Deterministic: the same options give the same samples in the same order on every machine. Not thread-safe.
class Sampler {
 public:
  explicit Sampler(SamplerOptions options);

  // The next program, unlike all before it. Throws UserError when none comes for long, with the reasons.
  Sample Next();

  struct Statistics {
    int64_t sketches = 0, impossible = 0, too_large = 0, held_out = 0;
    int64_t draws = 0;        // of sizes
    int64_t over_bounds = 0;  // outside what was only bounded from above
    int64_t over_limits = 0;  // of floating-point operations or bytes
    int64_t repeated = 0, avoided = 0, other_side = 0;
    int64_t passed_over = 0, hidden = 0;  // graphs, and programs of others, on the side that is not shown
  };
  const Statistics& statistics() const { return statistics_; }
  const Solver& solver() const { return solver_; }

 private:
  struct Current;  // the sketch that sizes are drawn for

  void NextSketch();
  std::optional<Sample> Draw();
  bool HasShown(Mould* mould) const;
  bool Shown(const Sample& sample) const;
  bool Fresh(const Sample& sample);

  SamplerOptions options_;
  Solver solver_;
  Statistics statistics_;
  uint64_t number_ = 0;  // of the next sketch
  std::shared_ptr<Current> current_;
  std::set<std::string> seen_;
};

// The row of a name of the catalogue; ".default" may stand behind it. Throws UserError with the nearest name.
const OpRow& OperatorNamed(std::string_view name);

// Operators by name, for SketchOptions: "all", a class ("pointwise", "reductions", "products", "norms",
// "layouts", "others") or names, comma between. Throws UserError naming what the catalogue does not have.
std::vector<const OpRow*> OperatorsNamed(std::string_view names);

}  // namespace tritogen::synth
