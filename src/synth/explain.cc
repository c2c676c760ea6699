#include "synth/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace tritogen::synth {

Share EstimateShare(const Space& space, const System& system, int draws, SplitMix* random) {
  int64_t good = 0;
  std::vector<int64_t> values;
  for (int i = 0; i < draws; ++i) {
    space.Draw(random, &values);
    good += system.Holds(values);
  }
  const double n = draws, p = static_cast<double>(good) / n, z = 1.96;
  const double centre = (p + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z / (1 + z * z / n) * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  return {std::max(0.0, centre - half), std::min(1.0, centre + half), draws};
}

std::string Explain(const Sketch& sketch, const ShapeOptions& shapes, uint64_t seed) {
  const SketchSystem system = SystemOf(sketch, shapes);
  auto names = [&](int tensor) {
    std::vector<std::string> sizes;
    for (Var var : system.tensors[tensor]) sizes.push_back(system.system.variables()[var].name);
    return fmt::format("t{}[{}]", tensor, fmt::join(sizes, ", "));
  };
  std::string text = "Graph\n";
  for (size_t t = 0; t < sketch.tensors.size(); ++t) {
    if (sketch.tensors[t].input >= 0)
      text +=
          fmt::format("  {} = input, {}\n", names(static_cast<int>(t)), DtypeName(sketch.tensors[t].dtype));
  }
  for (const SketchStep& step : sketch.steps) {
    std::vector<std::string> operands, results;
    for (int tensor : step.operands) operands.push_back(fmt::format("t{}", tensor));
    for (int tensor : step.results) results.push_back(names(tensor));
    text +=
        fmt::format("  {} = {}({}){}\n", fmt::join(results, ", "), step.row->name, fmt::join(operands, ", "),
                    step.equal_sizes || step.operands.size() < 2 ? "" : ", sizes may broadcast");
  }
  text += "\nVariables\n";
  for (const auto& variable : system.system.variables())
    text += fmt::format("  {} ∈ {}\n", variable.name, variable.domain.ToString());
  text += "\nConstraints\n";
  for (const Constraint& constraint : system.system.constraints())
    text += fmt::format("  {}\n", system.system.ToString(constraint));
  const SolverOptions no_hurry{.max_rows = size_t{1} << 20, .most_steps = 8 * kManySteps};
  const auto space = Solver(no_hurry).Compile(system.system);
  if (!space) return text + "\nToo entangled to count: fewer sizes or lower ranks help.\n";
  if (space->exact()) return text + fmt::format("\nSolutions: {} (exact)\n", space->count().ToString());
  SplitMix random(seed);
  const Share share = EstimateShare(*space, system.system, 20000, &random);
  const double count = space->count().ToDouble();
  return text + fmt::format(
                    "\nSolutions: {:.4g} to {:.4g} (95 %), estimated: of {} assignments counted with bounds\n"
                    "loosened, {:.3g} to {:.3g} keep them, by {} draws. Draws are uniform all the same.\n",
                    share.low * count, share.high * count, space->count().ToString(), share.low, share.high,
                    share.draws);
}

}  // namespace tritogen::synth
