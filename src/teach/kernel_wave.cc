// Recurrent layers in waves: one launch makes one step of every layer, layer l the step wave - l, from states
// that the launches before it have left in memory. Its programs share layers and numbers of a state, so that
// a whole GPU works on each step; of both directions of a layer they share the two.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "teach/kernel.h"
#include "teach/kernel_text.h"
#include "teach/recurrent_cell.h"

namespace tritogen::teach {
namespace {

constexpr int64_t kRows = 16;       // sequences of a program, whose sums its threads keep
constexpr int64_t kBlockK = 512;    // weights of a column that are read at once
constexpr int64_t kPerThread = 64;  // weights that a thread holds

class WaveWriter {
 public:
  WaveWriter(const Graph& graph, const Group& group, const std::vector<std::string>& buffers)
      : graph_(graph),
        prim_(graph[group.members[0]]),
        id_(group.members[0]),
        cell_(CellNamed(prim_.expr)),
        steps_(prim_.operands[0].sizes[0]),
        batch_(prim_.operands[0].sizes[1]),
        size_(prim_.operands[1].sizes[2]),
        stacked_(!prim_.both && prim_.layers > 1),
        code_(graph, group, buffers) {}

  void Write() {
    for (const char* used :
         {"wave", "rows",  "cols",  "block", "layer",  "way",   "step", "t",      "before", "live",
          "part", "k",     "lanes", "some",  "own",    "first", "last", "mask",   "start",  "h",
          "c",    "STEPS", "BATCH", "SIZE",  "LAYERS", "ROWS",  "COLS", "BLOCK_K"}) {
      code_.Name(used);
    }
    Head();
    const bool loop = block_k() < size_;
    Lines sums(loop ? 2 : 1);
    Sums(sums, loop);
    if (loop) {
      for (const std::string& sum : sums_)
        lines_.Add(fmt::format("{} = tl.zeros((ROWS, COLS), dtype=tl.float32)", sum));
      lines_.Add("for start in range(0, SIZE, BLOCK_K):");
    }
    lines_.AddDeeper(sums);
    Step();
  }

  KernelCode Kernel(const Group& group, const std::string& name) {
    std::vector<std::string> constants = {"STEPS", "BATCH", "SIZE", "ROWS", "COLS", "BLOCK_K"};
    KernelCode kernel;
    kernel.name = name;
    kernel.constants = fmt::format("STEPS={}, BATCH={}, SIZE={}, ROWS={}, COLS={}, BLOCK_K={}", steps_,
                                   batch_, size_, rows(), prim_.columns, block_k());
    if (stacked_) {
      constants.insert(constants.begin() + 3, "LAYERS");
      kernel.constants.insert(kernel.constants.find(" ROWS"), fmt::format(" LAYERS={},", prim_.layers));
    }
    kernel.source = KernelText(name, code_, constants, lines_.text(), "wave");
    kernel.pointers = code_.pointers();
    kernel.waves = steps_ + (stacked_ ? prim_.layers - 1 : 0);
    kernel.grid = fmt::format("{} * ({} // {})", prim_.layers, size_, prim_.columns);
    if (prim_.layers == 1) kernel.grid = fmt::format("{} // {}", size_, prim_.columns);
    if (batch_ > rows()) kernel.grid += fmt::format(" * triton.cdiv({}, {})", batch_, rows());
    kernel.num_warps = Warps();
    kernel.access = fmt::format("{} steps of {} sequences with a state of {}; a launch for each step, {}",
                                steps_, batch_, size_,
                                stacked_ ? fmt::format("{} layers one step behind each other", prim_.layers)
                                : prim_.both ? "of both directions"
                                             : "which needs the one before");
    kernel.launch = fmt::format("{} numbers of the state for each program, grid {}, {} launches",
                                prim_.columns, kernel.grid, kernel.waves);
    kernel.compute = fmt::format(
        "load the states before and the weights of its columns, add up their products, compute {} and store "
        "the state",
        OperatorList(graph_, group));
    return kernel;
  }

 private:
  int64_t rows() const { return std::min(kRows, NextPowerOf2(batch_)); }
  int64_t block_k() const { return std::min(kBlockK, NextPowerOf2(size_)); }
  int64_t parts() const { return stacked_ ? 2 : 1; }  // states that are multiplied: its own, the one below
  size_t gates() const { return cell_.gates.size(); }
  bool lstm() const { return prim_.expr == "lstm"; }
  // What is behind a product of the gate: that of a GRU's n with its own state is wanted by itself.
  bool Apart(size_t gate) const { return stacked_ && prim_.expr == "gru" && gate == 2; }

  int Warps() const {
    const int64_t held = static_cast<int64_t>(gates()) * parts() * block_k() * prim_.columns;
    int warps = 4;
    while (warps < 16 && held > kPerThread * 32 * warps) warps *= 2;
    return warps;
  }

  std::string Place(const View& view, const std::vector<std::string>& indices, int64_t further = 0) {
    return StridedPlace(graph_, code_, view, indices, further);
  }
  std::string Load(size_t operand, const std::string& place, const std::string& mask) const {
    return LoadOperand(prim_, operand, place, mask);
  }

  // The result, by (layer or direction, step, sequence, number).
  View States() const {
    View view = graph_.Whole(id_);
    const int64_t row = prim_.both ? 2 * size_ : size_;
    view.sizes = {prim_.layers, steps_, batch_, size_};
    view.strides = {prim_.both ? size_ : steps_ * batch_ * size_, batch_ * row, row, 1};
    return view;
  }
  // And what is behind it, by (t % 2, layer or direction, sequence, number).
  View Cells() const {
    View view = graph_.Whole(id_);
    view.offset = prim_.layers * steps_ * batch_ * size_;
    view.sizes = {2, prim_.layers, batch_, size_};
    view.strides = ContiguousStrides(view.sizes);
    return view;
  }
  std::string layer() const { return prim_.layers == 1 ? "" : prim_.both ? "way" : "layer"; }
  std::string step() const { return stacked_ ? "step" : "wave"; }
  std::string time() const { return prim_.both ? "t" : step(); }
  std::string StepBefore() const { return prim_.both ? "before" : fmt::format("({} - 1)", step()); }
  std::string Live(const std::string& mask) const { return stacked_ ? "live & " + mask : mask; }

  void Head() {
    lines_.Add("# Each program makes COLS numbers of the next state of ROWS sequences.");
    const bool blocks = batch_ > rows();
    std::string outer = "tl.program_id(0)";
    if (prim_.layers > 1 || blocks) {
      lines_.Add("block = tl.program_id(0) % (SIZE // COLS)");
      outer += " // (SIZE // COLS)";
    } else {
      lines_.Add("block = tl.program_id(0)");
    }
    std::string first_row;
    if (blocks) {
      first_row = prim_.layers > 1 ? fmt::format("{} % tl.cdiv(BATCH, ROWS) * ROWS + ", outer)
                                   : fmt::format("{} * ROWS + ", outer);
      outer += " // tl.cdiv(BATCH, ROWS)";
    }
    lines_.Add(fmt::format("rows = {}tl.arange(0, ROWS)[:, None]", first_row));
    lines_.Add("cols = block * COLS + tl.arange(0, COLS)[None, :]");
    if (prim_.layers > 1) lines_.Add(fmt::format("{} = {}", layer(), outer));
    if (stacked_) {
      lines_.Add(
          "# Every layer is a step behind the one below it; the first and last waves have fewer layers.");
      lines_.Add("step = wave - layer");
      lines_.Add("live = (step >= 0) & (step < STEPS)");
    } else if (prim_.both) {
      lines_.Add("t = tl.where(way == 0, wave, STEPS - 1 - wave)");
      lines_.Add("before = tl.where(way == 0, t - 1, t + 1)");
    }
    lines_.Add("# As if aligned to nothing: each thread loads one number and multiplies that.");
    lines_.Add("lanes = tl.multiple_of(tl.arange(0, COLS), 1)[None, :]");
  }

  // Products of the states with the columns' weights, of each gate, summed up.
  void Sums(Lines& sums, bool loop) {
    const std::string start = loop ? "start + " : "";
    if (stacked_) {
      sums.Add("# Part 0 is the layer's own state, of the step before, part 1 the state of the layer below.");
      sums.Add("part = tl.arange(0, 2 * BLOCK_K) // BLOCK_K");
      sums.Add(fmt::format("k = {}tl.arange(0, 2 * BLOCK_K) % BLOCK_K", start));
    } else {
      sums.Add(fmt::format("k = {}tl.arange(0, BLOCK_K)", start));
    }
    LoadStates(sums);
    LoadWeights(sums);
    sums.Add("last = last[:, :, None]");
    // Sequences that there are not: their products are left out when the kernel is compiled.
    const bool fold = batch_ < rows();
    if (fold) sums.Add("some = (rows < BATCH)[:, :, None]");
    std::vector<std::string> products;
    for (size_t gate = 0; gate < gates(); ++gate) {
      const std::string product = fmt::format("w_{}[None, :, :] * last", cell_.gates[gate]);
      sums_.push_back(fmt::format("sum_{}", cell_.gates[gate]));
      if (!Apart(gate)) {
        products.push_back(fold ? fmt::format("tl.where(some, {}, 0.0)", product) : product);
        continue;
      }
      sums.Add("own = (part == 0)[None, :, None]");
      sums_.push_back(fmt::format("below_{}", cell_.gates[gate]));
      for (const char* which : {"own", "~own"})
        products.push_back(fmt::format("tl.where({}{}, {}, 0.0)", fold ? "some & " : "", which, product));
    }
    AddUp(sums, products, loop);
  }

  void AddUp(Lines& sums, const std::vector<std::string>& products, bool loop) {
    std::vector<std::string> targets = sums_;
    if (loop) {
      for (std::string& target : targets) target = "more_" + target;
    }
    if (products.size() == 1) {
      sums.Add(fmt::format("{} = tl.sum({}, axis=1)", targets[0], products[0]));
    } else {  // at once, so that threads meet once
      sums.Add(fmt::format("{} = tl.reduce(", fmt::join(targets, ", ")));
      sums.Add(fmt::format("    ({}),", fmt::join(products, ", ")));
      sums.Add(fmt::format("    1, add_each_of_{},", products.size()));
      sums.Add(")");
    }
    if (!loop) return;
    for (size_t i = 0; i < sums_.size(); ++i) sums.Add(fmt::format("{} += {}", sums_[i], targets[i]));
  }

  void LoadStates(Lines& sums) {
    const std::string in_range = "(rows < BATCH) & (k < SIZE)[None, :]";
    const std::string own = stacked_ ? " & (part == 0)[None, :]" : "";
    sums.Add("first = " + Load(1, Place(prim_.operands[1], {layer(), "rows", "k[None, :]"}),
                               fmt::format("{}{} & ({} == 0)", in_range, own, step())));
    const std::string of_layer = stacked_ ? "(layer - part)[None, :]" : layer();
    const std::string at = stacked_ ? "(step - 1 + part)[None, :]" : StepBefore();
    const std::string done = stacked_ ? "live & tl.where(part == 0, step > 0, layer > 0)[None, :]"
                                      : fmt::format("({} > 0)", step());
    sums.Add(fmt::format("last = first + tl.load({}, mask={} & {}, other=0.0)",
                         Place(States(), {of_layer, at, "rows", "k[None, :]"}), in_range, done));
  }

  void LoadWeights(Lines& sums) {
    std::string mask = "(k < SIZE)[:, None]", matrix = layer();
    if (stacked_) {
      mask = "((k < SIZE) & ((part == 0) | (layer > 0)))[:, None] & live";
      matrix = "(layer + part * (LAYERS - 1))[:, None]";
    }
    const View& weights = prim_.operands[2];
    for (size_t gate = 0; gate < gates(); ++gate) {
      sums.Add(fmt::format("w_{} = {}", cell_.gates[gate],
                           Load(2,
                                Place(weights, {matrix, "block", "", "k[:, None]", "lanes"},
                                      static_cast<int64_t>(gate) * weights.strides[2]),
                                mask)));
    }
  }

  void Step() {
    lines_.Add("mask = " + Live("(rows < BATCH) & (cols < SIZE)"));
    std::vector<std::string> from_input, from_state;
    for (size_t gate = 0; gate < gates(); ++gate) {
      from_input.push_back(FromInput(gate));
      std::string state = fmt::format("sum_{}", cell_.gates[gate]);
      if (HasBias(prim_)) state += " + " + Bias(gate, layer(), "cols < SIZE", "b_");
      from_state.push_back(state);
    }
    const std::string start = fmt::format("mask & ({} == 0)", step());
    const std::string later = fmt::format("mask & ({} > 0)", step());
    auto value = [&](const char* name, size_t operand, const std::string& place) {
      lines_.Add(fmt::format(
          "{} = {}", name, Load(operand, Place(prim_.operands[operand], {layer(), "rows", "cols"}), start)));
      lines_.Add(fmt::format("{0} += tl.load({1}, mask={2}, other=0.0)", name, place, later));
    };
    if (prim_.expr == "gru") value("h", 1, Place(States(), {layer(), StepBefore(), "rows", "cols"}));
    if (lstm()) {
      lines_.Add("# Cells are read from one half and left in the other.");
      value("c", 3, Place(Cells(), {fmt::format("(({} + 1) % 2)", step()), layer(), "rows", "cols"}));
    }
    for (const std::string& line : CellLines(cell_, from_input, from_state)) lines_.Add(line);
    lines_.Add(fmt::format("tl.store({}, h, mask=mask)", Place(States(), {layer(), time(), "rows", "cols"})));
    if (lstm()) {
      lines_.Add(fmt::format("tl.store({}, c, mask=mask)",
                             Place(Cells(), {fmt::format("({} % 2)", step()), layer(), "rows", "cols"})));
    }
  }

  // Writes the input's part of a gate and gives its name.
  std::string FromInput(size_t gate) {
    const View& inputs = prim_.operands[0];
    const std::string name = fmt::format("in_{}", cell_.gates[gate]);
    View by_way = inputs;
    const int64_t width = static_cast<int64_t>(gates()) * size_;
    by_way.sizes = {prim_.layers, inputs.sizes[0], inputs.sizes[1], width};
    by_way.strides = {width * inputs.strides[2], inputs.strides[0], inputs.strides[1], inputs.strides[2]};
    lines_.Add(fmt::format("{} = {}", name,
                           Load(0,
                                Place(by_way, {prim_.both ? "way" : "", time(), "rows", "cols"},
                                      static_cast<int64_t>(gate) * size_ * inputs.strides[2]),
                                stacked_ ? "mask & (layer == 0)" : "mask")));
    if (Apart(gate)) lines_.Add(fmt::format("{} += below_{}", name, cell_.gates[gate]));
    if (stacked_ && HasBias(prim_))
      lines_.Add(fmt::format("{} += {}", name,
                             Bias(gate, "(LAYERS - 1 + layer)", "(cols < SIZE) & (layer > 0)", "b_below_")));
    return name;
  }

  // Writes the load of a gate's bias and gives its name.
  std::string Bias(size_t gate, const std::string& vector, const std::string& mask,
                   const std::string& prefix) {
    const View& bias = prim_.operands.back();
    const std::string name = prefix + cell_.gates[gate];
    lines_.Add(fmt::format(
        "{} = {}", name,
        Load(prim_.operands.size() - 1,
             Place(bias, {vector, "cols"}, static_cast<int64_t>(gate) * size_ * bias.strides[1]), mask)));
    return name;
  }

  const Graph& graph_;
  const Prim& prim_;
  const PrimId id_;
  const Cell& cell_;
  const int64_t steps_, batch_, size_;
  const bool stacked_;
  std::vector<std::string> sums_;
  TileCode code_;
  Lines lines_;
};

}  // namespace

KernelCode WriteWaveKernel(const Graph& graph, const Group& group, const std::vector<std::string>& buffers,
                           const std::string& name) {
  TRITOGEN_CHECK(graph[group.members[0]].kind == PrimKind::kWaves);
  WaveWriter writer(graph, group, buffers);
  writer.Write();
  return writer.Kernel(group, name);
}

}  // namespace tritogen::teach
