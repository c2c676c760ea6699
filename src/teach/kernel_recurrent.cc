// One recurrent layer in one direction: a program keeps the state of some sequences, and the weights that it
// is multiplied by, and walks along the steps. Of a layer whose weights no program can hold, a program has
// one sequence and reads all weights at each step.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "teach/kernel.h"
#include "teach/kernel_text.h"
#include "teach/recurrent_cell.h"

namespace tritogen::teach {
namespace {

constexpr int64_t kSequences = 16;  // of a program: the least that a dot takes
constexpr int64_t kPerThread =
    16;  // weights of a gate that a thread reads at once: there are up to four gates

class RecurrentWriter {
 public:
  RecurrentWriter(const Graph& graph, const Group& group, const std::vector<std::string>& buffers,
                  const KernelOptions& options)
      : graph_(graph),
        prim_(graph[group.members[0]]),
        id_(group.members[0]),
        cell_(CellNamed(prim_.expr)),
        holds_(HoldsWeights(prim_.expr, prim_.sizes.back())),
        precision_(PrecisionOf(prim_, options)),
        code_(graph, group, buffers) {}

  void Write() {
    for (const char* used :
         {"rows", "cols", "k", "mask", "col_mask", "weight_mask", "step", "t", "h", "c", "start", "first",
          "last", "STEPS", "BATCH", "SIZE", "ROWS", "BLOCK", "BLOCK_K"}) {
      code_.Name(used);
    }
    holds_ ? HeadOfMany() : HeadOfOne();
    State();
    Lines step(2);
    if (!holds_) Sums(step);
    Step(step);
    lines_.Add("for step in range(0, STEPS):");
    lines_.AddDeeper(step);
    if (prim_.expr == "lstm") Store(lines_, "STEPS", "c");
  }

  bool holds() const { return holds_; }
  std::vector<std::string> Constants() const {
    return holds_ ? std::vector<std::string>{"STEPS", "BATCH", "SIZE", "ROWS", "BLOCK"}
                  : std::vector<std::string>{"STEPS", "BATCH", "SIZE", "BLOCK", "BLOCK_K"};
  }
  TileCode& code() { return code_; }
  const std::string& text() const { return lines_.text(); }

 private:
  // Operands: inputs (steps, batch, gates · size), state, weights (gates · size, size), then the cell's state
  // for an LSTM, then the biases where there are any.
  const View& Bias() const { return prim_.operands.back(); }
  size_t BiasAt() const { return prim_.operands.size() - 1; }
  int64_t size() const { return prim_.sizes.back(); }

  std::string Place(const View& view, const std::vector<std::string>& indices, int64_t further = 0) {
    return StridedPlace(graph_, code_, view, indices, further);
  }

  // Of an operand, in float32.
  std::string Load(size_t operand, const std::string& place, const std::string& mask) const {
    return LoadOperand(prim_, operand, place, mask);
  }

  void HeadOfMany() {
    lines_.Add("# Each program keeps the state of ROWS sequences and walks along the steps.");
    lines_.Add("rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]");
    lines_.Add("cols = tl.arange(0, BLOCK)[None, :]");
    lines_.Add("k = tl.arange(0, BLOCK)[:, None]");
    lines_.Add("col_mask = cols < SIZE");
    lines_.Add("mask = (rows < BATCH) & col_mask");
    lines_.Add("weight_mask = (k < SIZE) & col_mask");
    const View& weights = prim_.operands[2];
    for (size_t gate = 0; gate < cell_.gates.size(); ++gate) {
      const int64_t first = static_cast<int64_t>(gate) * size();
      lines_.Add(
          fmt::format("w_{} = {}", cell_.gates[gate],
                      Load(2, Place(weights, {"cols", "k"}, first * weights.strides[0]), "weight_mask")));
      if (!HasBias(prim_)) continue;
      lines_.Add(fmt::format("b_{} = {}", cell_.gates[gate],
                             Load(BiasAt(), Place(Bias(), {"cols"}, first * Bias().strides[0]), "col_mask")));
    }
  }

  void HeadOfOne() {
    lines_.Add(
        "# Each program walks along the steps of one sequence. No program can hold the weights: it reads");
    lines_.Add("# them at each step.");
    lines_.Add("rows = tl.program_id(0)");
    lines_.Add("cols = tl.arange(0, BLOCK)");
    lines_.Add("mask = cols < SIZE");
    for (const char* gate : cell_.gates) {
      if (!HasBias(prim_)) continue;
      lines_.Add(
          fmt::format("b_{} = {}", gate,
                      Load(BiasAt(), Place(Bias(), {"cols"}, FirstOf(gate) * Bias().strides[0]), "mask")));
    }
  }

  // Where the part of a gate begins among those of all.
  int64_t FirstOf(const std::string& gate) const {
    const auto found = std::find(cell_.gates.begin(), cell_.gates.end(), gate);
    return (found - cell_.gates.begin()) * size();
  }

  void State() {
    lines_.Add("h = " + Load(1, Place(prim_.operands[1], {"rows", "cols"}), "mask"));
    if (prim_.expr == "lstm")
      lines_.Add("c = " + Load(3, Place(prim_.operands[3], {"rows", "cols"}), "mask"));
  }

  void Step(Lines& step) {
    if (prim_.backwards) step.Add("t = STEPS - 1 - step");
    const std::string t = prim_.backwards ? "t" : "step";
    const View& inputs = prim_.operands[0];
    std::vector<std::string> from_input, from_state;
    for (size_t gate = 0; gate < cell_.gates.size(); ++gate) {
      const int64_t first = static_cast<int64_t>(gate) * size() * inputs.strides[2];
      from_input.push_back(fmt::format("in_{}", cell_.gates[gate]));
      step.Add(fmt::format("{} = {}", from_input[gate],
                           Load(0, Place(inputs, {t, "rows", "cols"}, first), "mask")));
      const std::string product =
          holds_ ? fmt::format("tl.dot(h, w_{}, input_precision=\"{}\")", cell_.gates[gate], precision_)
                 : fmt::format("sum_{}", cell_.gates[gate]);
      from_state.push_back(product + (HasBias(prim_) ? fmt::format(" + b_{}", cell_.gates[gate]) : ""));
    }
    for (const std::string& line : CellLines(cell_, from_input, from_state)) step.Add(line);
    Store(step, t, "h");
    if (holds_) return;
    step.Add("# What other threads have stored is read in the next step.");
    step.Add("tl.debug_barrier()");
  }

  // The state of the step before times the weights of each gate, some columns at a time.
  void Sums(Lines& step) {
    for (const char* gate : cell_.gates)
      step.Add(fmt::format("sum_{} = tl.zeros((BLOCK, BLOCK_K), dtype=tl.float32)", gate));
    const View& weights = prim_.operands[2];
    const View states = ContiguousView(id_, prim_.sizes);
    Lines sum(3);
    sum.Add("k = start + tl.arange(0, BLOCK_K)");
    sum.Add("first = " + Load(1, Place(prim_.operands[1], {"rows", "k"}), "(k < SIZE) & (step == 0)"));
    const std::string before = prim_.backwards ? "(STEPS - step)" : "(step - 1)";
    sum.Add(fmt::format("last = tl.load({}, mask=(k < SIZE) & (step > 0), other=0.0)",
                        Place(states, {before, "rows", "k"})));
    sum.Add("last = tl.where(step == 0, first, last)[None, :]");
    sum.Add("weight_mask = mask[:, None] & (k < SIZE)[None, :]");
    for (const char* gate : cell_.gates) {
      sum.Add(fmt::format(
          "w_{} = {}", gate,
          Load(2, Place(weights, {"cols[:, None]", "k[None, :]"}, FirstOf(gate) * weights.strides[0]),
               "weight_mask")));
      sum.Add(fmt::format("sum_{0} += w_{0} * last", gate));
    }
    step.Add("for start in range(0, SIZE, BLOCK_K):");
    step.AddDeeper(sum);
    for (const char* gate : cell_.gates) step.Add(fmt::format("sum_{0} = tl.sum(sum_{0}, axis=1)", gate));
  }

  void Store(Lines& lines, const std::string& step, const char* value) {
    const View whole = ContiguousView(id_, prim_.sizes);
    lines.Add(fmt::format("tl.store({}, {}, mask=mask)", Place(whole, {step, "rows", "cols"}), value));
  }

  const Graph& graph_;
  const Prim& prim_;
  const PrimId id_;
  const Cell& cell_;
  const bool holds_;
  const std::string precision_;
  TileCode code_;
  Lines lines_;
};

}  // namespace

bool HoldsWeights(std::string_view cell, int64_t size) {
  return size <= (cell.starts_with("rnn") ? 128 : 64);
}

KernelCode WriteRecurrentKernel(const Graph& graph, const Group& group,
                                const std::vector<std::string>& buffers, const KernelOptions& options,
                                const std::string& name) {
  const Prim& prim = graph[group.members[0]];
  TRITOGEN_CHECK(prim.kind == PrimKind::kRecurrent);
  const int64_t steps = graph[group.members[0]].operands[0].sizes[0], batch = prim.sizes[1],
                size = prim.sizes[2], block = std::max<int64_t>(NextPowerOf2(size), 16);
  RecurrentWriter writer(graph, group, buffers, options);
  writer.Write();
  KernelCode kernel;
  kernel.name = name;
  kernel.pointers = writer.code().pointers();
  kernel.source = KernelText(name, writer.code(), writer.Constants(), writer.text());
  const int64_t sequences = writer.holds() ? kSequences : 1;
  kernel.grid = GridText(batch, fmt::format("{}", batch), sequences, /*persistent=*/false);
  kernel.access = fmt::format("{} steps of {} sequences with a state of {}; each step needs the one before",
                              steps, batch, size);
  kernel.launch = fmt::format("{} sequences for each program, grid {}", sequences, kernel.grid);
  kernel.constants = fmt::format("STEPS={}, BATCH={}, SIZE={}, ", steps, batch, size);
  if (writer.holds()) {
    kernel.constants += fmt::format("ROWS={}, BLOCK={}", kSequences, block);
    kernel.compute = fmt::format(
        "keep weights and state in registers, for each step load the input's part, "
        "multiply the state ({}), compute {} and store the state",
        DotsText(PrecisionOf(graph[group.members[0]], options)), OperatorList(graph, group));
    return kernel;
  }
  kernel.num_warps = block <= 256 ? 8 : block <= 1024 ? 16 : 32;
  const int64_t block_k = std::max<int64_t>(kPerThread * 32 * kernel.num_warps / block, 4);
  kernel.constants += fmt::format("BLOCK={}, BLOCK_K={}", block, block_k);
  kernel.compute = fmt::format(
      "for each step load the input's part, multiply the state by weights read a tile at a time, compute {} "
      "and "
      "store the state",
      OperatorList(graph, group));
  return kernel;
}

}  // namespace tritogen::teach
