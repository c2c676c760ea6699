#include "teach/roll_loops.h"

#include <algorithm>
#include <string>
#include <vector>

#include "teach/loop_cells.h"
#include "teach/program_edit.h"
#include "teach/sequences.h"

namespace tritogen::teach {
namespace {

constexpr size_t kFewestSteps = 3;
constexpr int64_t kMostStates = 4096;  // of a layer that has kernels of its own
// Of one step; what does more keeps its products, which use tensor cores, and whose launches count for less.
constexpr double kMostFlops = double{1u << 30};

struct Chain {
  std::vector<LoopCell> cells;
  int state = 1;  // which source the state is
};

// The sources that are no state.
std::vector<int> InputsOf(const Chain& chain) {
  std::vector<int> inputs;
  for (int s = 0; s < static_cast<int>(chain.cells[0].sources.size()); ++s) {
    if (s != chain.state) inputs.push_back(s);
  }
  return inputs;
}

bool SameWeights(const LoopCell& a, const LoopCell& b) {
  if (a.op != b.op || a.batch != b.batch || a.size != b.size || a.sources.size() != b.sources.size())
    return false;
  for (size_t i = 0; i < a.sources.size(); ++i) {
    if (a.sources[i].weights != b.sources[i].weights || a.sources[i].biases != b.sources[i].biases)
      return false;
  }
  return true;
}

// The source of `next` that is the state which `cell` has made; -1: none.
int StateOf(const LoopCell& cell, const LoopCell& next) {
  if (!SameWeights(cell, next)) return -1;
  if (cell.op == "lstm" && !(next.cell_before == cell.cell)) return -1;
  for (int s = 0; s < static_cast<int>(next.sources.size()); ++s) {
    if (next.sources[s].value == cell.hidden && (next.state < 0 || next.state == s)) return s;
  }
  return -1;
}

// The cells of a program, each followed by the next step's.
std::vector<Chain> ChainsOf(ProgramEdit& edit) {
  std::vector<Chain> chains;
  const std::vector<bool> needed = edit.Needed();
  for (NodeId id = 0; id < static_cast<NodeId>(needed.size()); ++id) {
    if (!needed[id] || edit[id].kind != NodeKind::kOp) continue;
    const auto cell = CellOf(edit, {id, 0});
    if (!cell) continue;
    bool goes_on = false;
    for (Chain& chain : chains) {
      const int state = StateOf(chain.cells.back(), *cell);
      if (state < 0 || (chain.cells.size() > 1 && state != chain.state)) continue;
      chain.state = state;
      chain.cells.push_back(*cell);
      goes_on = true;
      break;
    }
    if (!goes_on) chains.push_back({{*cell}, 1});
  }
  std::erase_if(chains, [](const Chain& chain) { return chain.cells.size() < kFewestSteps; });
  return chains;
}

// Whether a layer's kernels are the better way.
bool IsSmall(const Chain& chain) {
  const LoopCell& cell = chain.cells[0];
  const double gates = static_cast<double>(cell.sources[0].weights.size()),
               size = static_cast<double>(cell.size);
  return cell.size <= kMostStates && 2 * static_cast<double>(cell.batch) * gates * size * size <= kMostFlops;
}

// Whether an input of a later step is made of the states before it: then steps cannot share a product.
bool InputsWait(const ProgramEdit& edit, const Chain& chain) {
  std::vector<bool> after(edit.program().nodes.size(), false);
  for (const LoopCell& cell : chain.cells) {
    after[cell.hidden.id] = true;
    if (cell.op == "lstm") after[cell.cell.id] = true;
  }
  // Nodes that were added stand behind those that read them: until nothing changes.
  for (bool changed = true; changed;) {
    changed = false;
    for (NodeId id = 0; id < static_cast<NodeId>(after.size()); ++id) {
      if (after[id]) continue;
      bool reads = false;
      ForEachRef(edit[id], [&](NodeRef ref) { reads |= after[ref.id]; });
      if (reads) after[id] = changed = true;
    }
  }
  for (const LoopCell& cell : chain.cells) {
    for (int s : InputsOf(chain)) {
      if (after[cell.sources[s].value.id]) return true;
    }
  }
  return false;
}

// Weights and biases as torch.lstm and its like take them.
class Parameters {
 public:
  Parameters(ProgramEdit& edit, Dtype dtype) : edit_(edit), dtype_(dtype) {}

  // Of all gates, one below the other.
  NodeRef Joined(std::vector<WeightPart> parts) {
    std::vector<WeightPart> runs;
    for (const WeightPart& part : parts) {
      if (!runs.empty() && FollowsOn(runs.back(), part)) {
        runs.back().rows += part.rows;
      } else {
        runs.push_back(part);
      }
    }
    std::vector<NodeRef> made;
    int64_t rows = 0;
    for (const WeightPart& run : runs) {
      made.push_back(Cut(run));
      rows += run.rows;
    }
    if (made.size() == 1) return made[0];
    std::vector<int64_t> sizes = {rows};
    if (runs[0].columns > 0) sizes.push_back(runs[0].columns);
    return edit_.Add("aten::cat", {ListArg(made), Arg{int64_t{0}}}, {dtype_, sizes});
  }

  NodeRef Biases(const CellSource& source, int64_t size) {
    std::vector<WeightPart> parts;
    for (const auto& bias : source.biases) {
      if (!bias) break;
      parts.push_back(*bias);
    }
    if (parts.size() == source.biases.size()) return Joined(parts);
    std::vector<NodeRef> made;  // some gates have none
    for (const auto& bias : source.biases) made.push_back(bias ? Cut(*bias) : Zeros(size));
    const auto count = static_cast<int64_t>(made.size());
    return edit_.Add("aten::cat", {ListArg(made), Arg{int64_t{0}}}, {dtype_, {count * size}});
  }

 private:
  static bool FollowsOn(const WeightPart& run, const WeightPart& part) {
    return run.of == part.of && run.turned == part.turned && run.column == part.column &&
           run.columns == part.columns && part.row == run.row + run.rows;
  }

  NodeRef Zeros(int64_t size) {
    Node node;
    node.op = "aten::zeros";
    node.args = {IntsArg({size})};
    node.kwargs = {{"dtype", Arg{dtype_}}};
    node.results = {{dtype_, {size}}};
    return {edit_.Add(std::move(node)), 0};
  }

  NodeRef Narrowed(NodeRef of, int64_t dim, int64_t start, int64_t length) {
    Shape shape = edit_.ShapeOf(of);
    if (shape.sizes[dim] == length) return of;
    shape.sizes[dim] = length;
    return edit_.Add("aten::narrow", {Arg{of}, Arg{dim}, Arg{start}, Arg{length}}, shape);
  }

  NodeRef Cut(const WeightPart& part) {
    NodeRef made = Narrowed(part.of, part.turned ? 1 : 0, part.row, part.rows);
    if (part.columns == 0) return made;
    made = Narrowed(made, part.turned ? 0 : 1, part.column, part.columns);
    if (part.turned) made = edit_.Add("aten::t", {Arg{made}}, {dtype_, {part.rows, part.columns}});
    return made;
  }

  ProgramEdit& edit_;
  Dtype dtype_;
};

NodeRef Lifted(ProgramEdit& edit, NodeRef state) {
  Shape shape = edit.ShapeOf(state);
  shape.sizes.insert(shape.sizes.begin(), 1);
  return edit.Add("aten::unsqueeze", {Arg{state}, Arg{int64_t{0}}}, shape);
}

std::vector<NodeRef> ParametersOf(ProgramEdit& edit, const Chain& chain, Dtype dtype) {
  const LoopCell& cell = chain.cells[0];
  const CellSource& state = cell.sources[chain.state];
  Parameters parameters(edit, dtype);
  std::vector<NodeRef> in, biases;
  int64_t columns = 0;
  const auto has = [](const CellSource& s) {
    return std::ranges::any_of(s.biases, [](const auto& bias) { return bias.has_value(); });
  };
  for (int s : InputsOf(chain)) {
    in.push_back(parameters.Joined(cell.sources[s].weights));
    columns += edit.ShapeOf(in.back()).sizes[1];
    if (has(cell.sources[s])) biases.push_back(parameters.Biases(cell.sources[s], cell.size));
  }
  const NodeRef of_state = parameters.Joined(state.weights);
  const int64_t rows = edit.ShapeOf(of_state).sizes[0];
  std::vector<NodeRef> all = {
      in.size() == 1 ? in[0]
                     : edit.Add("aten::cat", {ListArg(in), Arg{int64_t{1}}}, {dtype, {rows, columns}}),
      of_state};
  if (biases.empty() && !has(state)) return all;
  NodeRef bias = biases.empty() ? parameters.Biases(cell.sources[InputsOf(chain)[0]], cell.size) : biases[0];
  for (size_t i = 1; i < biases.size(); ++i)
    bias = edit.Add("aten::add.Tensor", {Arg{bias}, Arg{biases[i]}}, {dtype, {rows}});
  all.push_back(bias);
  all.push_back(parameters.Biases(state, cell.size));
  return all;
}

// The inputs of all steps, side by side where there are several.
NodeRef InputsOfAllSteps(ProgramEdit& edit, const Chain& chain, Dtype dtype) {
  std::vector<NodeRef> all;
  int64_t width = 0;
  for (int s : InputsOf(chain)) {
    std::vector<NodeRef> steps;
    for (const LoopCell& cell : chain.cells) steps.push_back(cell.sources[s].value);
    all.push_back(StackOf(edit, steps));
    width += edit.ShapeOf(all.back()).sizes[2];
  }
  if (all.size() == 1) return all[0];
  return edit.Add("aten::cat", {ListArg(all), Arg{int64_t{2}}},
                  {dtype, {static_cast<int64_t>(chain.cells.size()), chain.cells[0].batch, width}});
}

// The layer in the place of the loop. Nothing where the loop's own cells are still needed, as where an LSTM's
// cells on the way are used.
std::optional<ProgramEdit> WithLayer(ProgramEdit edit, const Chain& chain) {
  const LoopCell &first = chain.cells.front(), &last = chain.cells.back();
  const auto steps = static_cast<int64_t>(chain.cells.size());
  const Dtype dtype = edit.ShapeOf(first.hidden).dtype;
  const bool lstm = first.op == "lstm";
  const NodeRef before = first.sources[chain.state].value;
  if (edit.ShapeOf(before).sizes != edit.ShapeOf(first.hidden).sizes) return std::nullopt;
  const std::vector<NodeRef> parameters = ParametersOf(edit, chain, dtype);
  Node layer;
  layer.op = "aten::" + first.op + ".input";
  const NodeRef sequence = InputsOfAllSteps(edit, chain, dtype), hidden = Lifted(edit, before);
  layer.args = {Arg{sequence},       lstm ? ListArg({hidden, Lifted(edit, first.cell_before)}) : Arg{hidden},
                ListArg(parameters), Arg{parameters.size() > 2},
                Arg{int64_t{1}},     Arg{0.0},
                Arg{false},          Arg{false},
                Arg{false}};
  const Shape state{dtype, {1, first.batch, first.size}};
  layer.results = {{dtype, {steps, first.batch, first.size}}, state};
  if (lstm) layer.results.push_back(state);
  const NodeId made = edit.Add(std::move(layer));
  ProgramEdit::Places places;
  for (int64_t t = 0; t < steps; ++t)
    places.emplace_back(chain.cells[t].hidden, edit.Selected({made, 0}, 0, t));
  if (lstm) places.emplace_back(last.cell, edit.Selected({made, 2}, 0, 0));
  edit.Replace(places);
  const std::vector<bool> needed = edit.Needed();
  for (const LoopCell& cell : chain.cells) {
    if (needed[cell.hidden.id] || (lstm && needed[cell.cell.id])) return std::nullopt;
  }
  return edit;
}

}  // namespace

bool RollLoops(ProgramEdit& edit) {
  bool rolled = false;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Chain& chain : ChainsOf(edit)) {
      if (!IsSmall(chain) || InputsWait(edit, chain)) continue;
      if (auto with_layer = WithLayer(edit, chain)) {
        edit = std::move(*with_layer);
        rolled = changed = true;
        break;
      }
    }
  }
  return TakeWholeSequences(edit) || rolled;
}

}  // namespace tritogen::teach
