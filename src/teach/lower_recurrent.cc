// Recurrent layers: one product for the inputs of all steps, then the steps, each a product with the state
// and the gates behind it.
#include <fmt/format.h>

#include <numeric>

#include "teach/kernel.h"
#include "teach/lowering.h"

namespace tritogen::teach {
namespace {

constexpr int64_t kMostSteps = 64;      // that are written out
constexpr int64_t kMostStates = 4096;   // of a sequence, which a program has in registers
constexpr int64_t kManySequences = 64;  // for which few steps are better done by the kernels of products

Value Part(const Value& x, int64_t dim, int64_t start, int64_t length) {
  return {Slice(x.view, dim, start, length, 1), x.dtype};
}

Value Joined(Builder& b, const std::vector<Value>& parts, int64_t dim) {
  return parts.size() == 1 ? parts[0] : Concatenate(b, parts, dim);
}

// Tensors of a list argument.
std::vector<Value> ListOf(Builder& b, const BoundArgs& args, std::string_view name) {
  std::vector<Value> values;
  if (const auto* list = AsList(args[name])) {
    for (const Arg& item : *list) {
      if (AsRef(item) != nullptr) values.push_back(b.Get(*AsRef(item)));
    }
  }
  return values;
}

struct Layer {
  Value input;                      // (steps, batch, width)
  Value hidden, cell;               // (batch, size); cell only for an LSTM
  std::vector<Value> weights;       // w_ih, w_hh and, where there are biases, b_ih, b_hh
  std::optional<Value> projection;  // (width of the output, size), of an LSTM: then `hidden` has that width
  std::optional<Value> Bias(size_t at) const {
    return weights.size() > at ? std::optional(weights[at]) : std::nullopt;
  }
};

Value Gate(Builder& b, const Value& all, int64_t number, int64_t size) {
  return Part(all, -1, number * size, size);
}

Value Next(Builder& b, std::string_view op, const Value& in, const Value& state, const Value& h, Value& c,
           int64_t size) {
  if (op.starts_with("rnn")) {
    Value sum = b.Op("add", {in, state}, h.dtype);
    return b.Op(op.starts_with("rnn_tanh") ? "tanh" : "relu", {sum}, h.dtype);
  }
  auto sum = [&](int64_t gate) {
    return b.Op("add", {Gate(b, in, gate, size), Gate(b, state, gate, size)}, h.dtype);
  };
  if (op.starts_with("lstm")) {
    Value i = b.Op("sigmoid", {sum(0)}, h.dtype), f = b.Op("sigmoid", {sum(1)}, h.dtype);
    Value g = b.Op("tanh", {sum(2)}, h.dtype), o = b.Op("sigmoid", {sum(3)}, h.dtype);
    c = b.Once("cell", b.Op("add", {b.Op("mul", {f, c}, h.dtype), b.Op("mul", {i, g}, h.dtype)}, h.dtype));
    return b.Op("mul", {o, b.Op("tanh", {c}, h.dtype)}, h.dtype);
  }
  Value r = b.Op("sigmoid", {sum(0)}, h.dtype), z = b.Op("sigmoid", {sum(1)}, h.dtype);
  Value gated = b.Op("mul", {r, Gate(b, state, 2, size)}, h.dtype);
  Value n = b.Op("tanh", {b.Op("add", {Gate(b, in, 2, size), gated}, h.dtype)}, h.dtype);
  Value kept = b.Op("mul", {z, b.Op("sub", {h, n}, h.dtype)}, h.dtype);
  return b.Op("add", {n, kept}, h.dtype);
}

struct Done {
  Value states;  // after each step: (steps, batch, width of the output)
  Value cell;    // an LSTM's last: (1, batch, size)
};

// By a product for each step: where a program cannot hold the weights, and steps are few.
Done Unrolled(Builder& b, std::string_view op, const Layer& layer, const Value& inputs, bool backwards) {
  const int64_t steps = layer.input.sizes()[0];
  const int64_t size = layer.projection ? layer.cell.sizes()[1] : layer.hidden.sizes()[1];
  std::vector<Value> states(steps);
  Value h = layer.hidden, c = layer.cell;
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t t = backwards ? steps - 1 - step : step;
    Value in{Select(inputs.view, 0, t), inputs.dtype};
    Value state = Linear(b, h, layer.weights[1], layer.Bias(3));
    h = b.Once("hidden", Next(b, op, in, state, h, c, size));
    if (layer.projection) h = b.Cast(Linear(b, h, *layer.projection, {}), layer.input.dtype);
    states[t] = h;
  }
  if (op == "lstm") c.view = Unsqueeze(c.view, 0);
  return {Stack(b, states), c};
}

// By one kernel for all steps.
Done InOneKernel(Builder& b, std::string_view op, const Layer& layer, const Value& inputs, bool backwards) {
  Prim prim;
  prim.kind = PrimKind::kRecurrent;
  prim.name = "states";
  prim.origin = b.origin;
  prim.expr = op;
  prim.backwards = backwards;
  prim.sizes = {layer.input.sizes()[0] + (op == "lstm" ? 1 : 0), layer.hidden.sizes()[0],
                layer.hidden.sizes()[1]};
  auto read = [&](const Value& value) { ReadByStrides(b, value, /*may_repeat=*/true, &prim); };
  read(inputs);
  read(layer.hidden);
  read(layer.weights[1]);
  if (op == "lstm") read(layer.cell);
  if (const auto bias = layer.Bias(3)) read(*bias);
  prim.flops = 2.0 * static_cast<double>(inputs.sizes()[2]);
  const int64_t steps = layer.input.sizes()[0];
  const Value all{b.graph.Whole(b.graph.Add(std::move(prim))), Dtype::kFloat32};
  return {Part(all, 0, 0, steps), op == "lstm" ? Part(all, 0, steps, 1) : Value{}};
}

Done Run(Builder& b, std::string_view op, const Layer& layer, bool backwards, bool unrolled) {
  const Value inputs = Linear(b, layer.input, layer.weights[0], layer.Bias(2));
  return unrolled ? Unrolled(b, op, layer, inputs, backwards) : InOneKernel(b, op, layer, inputs, backwards);
}

// Row by row of one matrix of weights (gates · size, size), columns of one program together:
// (1, size / columns, gates, size, columns).
Value Packed(Builder& b, const Value& weights, int64_t columns) {
  const int64_t size = weights.sizes()[1], gates = weights.sizes()[0] / size;
  Value cut = b.Reshape(weights, {gates, size / columns, columns, size});
  cut.view = Unsqueeze(Permute(cut.view, {1, 0, 3, 2}), 0);
  return cut;
}

// Several layers, or both directions of one.
struct LayerStack {
  Value input;                // (steps, batch, width)
  Value hidden, cell;         // (layers, batch, size); cell only for an LSTM
  std::vector<Layer> layers;  // their weights
  bool both = false;
};

struct StackDone {
  Value output;        // (steps, batch, directions · size)
  Value hidden, cell;  // (layers, batch, size)
};

// What programs read of weights and biases: all layers' for their own states, then those for the states of
// the layers below, which the first one's input has no part in.
std::pair<Value, std::optional<Value>> ForWaves(Builder& b, const LayerStack& stack, int64_t columns) {
  std::vector<Value> weights, biases;
  for (const size_t from : {1, 0}) {
    for (size_t l = 0; l < stack.layers.size(); ++l) {
      if (from == 0 && (stack.both || l == 0)) continue;
      weights.push_back(Packed(b, stack.layers[l].weights[from], columns));
      if (auto bias = stack.layers[l].Bias(2 + from)) {
        bias->view = Unsqueeze(bias->view, 0);
        biases.push_back(*bias);
      }
    }
  }
  const Value all =
      weights.size() > 1 ? Joined(b, weights, 0) : b.Pointwise("copy", "{0}", weights, weights[0].dtype, 0);
  std::optional<Value> bias;
  if (!biases.empty()) bias = Joined(b, biases, 0);
  return {b.Once("weights", all), bias};
}

// The inputs of all steps by the weights of the first layer, or of both directions, which read the same.
Value InputProducts(Builder& b, const LayerStack& stack) {
  std::vector<Value> in, in_bias;
  for (const Layer& layer : stack.layers) {
    if (!in.empty() && !stack.both) break;
    in.push_back(layer.weights[0]);
    if (const auto more = layer.Bias(2)) in_bias.push_back(*more);
  }
  return Linear(b, stack.input, Joined(b, in, 0),
                in_bias.empty() ? std::nullopt : std::optional(Joined(b, in_bias, 0)));
}

// What is where in the result of waves; see Prim::layers.
StackDone ResultsOfWaves(Builder& b, PrimId made, const LayerStack& stack) {
  const int64_t layers = static_cast<int64_t>(stack.layers.size()), steps = stack.input.sizes()[0],
                batch = stack.input.sizes()[1], size = stack.hidden.sizes()[2];
  auto part = [&](int64_t offset, std::vector<int64_t> sizes, std::vector<int64_t> strides) {
    View view{made, offset, std::move(sizes), std::move(strides), {}};
    return Value{view, Dtype::kFloat32};
  };
  StackDone done;
  if (stack.both) {
    const int64_t row = 2 * size;
    const std::vector<int64_t> one = {1, batch, size}, strides = {batch * row, row, 1};
    done.output = part(0, {steps, batch, row}, strides);
    done.hidden = Joined(b, {part((steps - 1) * batch * row, one, strides), part(size, one, strides)}, 0);
  } else {
    done.output = part((layers - 1) * steps * batch * size, {steps, batch, size}, {batch * size, size, 1});
    done.hidden = part((steps - 1) * batch * size, {layers, batch, size}, {steps * batch * size, size, 1});
  }
  // Of an LSTM only.
  done.cell =
      part((steps + (steps - 1) % 2) * layers * batch * size, {layers, batch, size}, {batch * size, size, 1});
  return done;
}

enum class How { kInWaves, kInOneKernel, kUnrolled };

StackDone InWaves(Builder& b, std::string_view op, const LayerStack& stack) {
  const int64_t layers = static_cast<int64_t>(stack.layers.size()), steps = stack.input.sizes()[0],
                batch = stack.input.sizes()[1], size = stack.hidden.sizes()[2];
  Prim prim;
  prim.kind = PrimKind::kWaves;
  prim.name = "states";
  prim.origin = b.origin;
  prim.expr = op;
  prim.both = stack.both;
  prim.layers = static_cast<int>(layers);
  prim.columns = std::gcd(size, b.options().wave_columns);
  const int64_t ends = op == "lstm" ? 2 : 0;
  if (stack.both) prim.sizes = {steps + ends, batch, 2, size};
  if (!stack.both) prim.sizes = {layers * (steps + ends), batch, size};
  auto read = [&](const Value& value) { ReadByStrides(b, value, /*may_repeat=*/false, &prim); };
  const auto [weights, bias] = ForWaves(b, stack, prim.columns);
  read(InputProducts(b, stack));
  read(stack.hidden);
  read(weights);
  if (op == "lstm") read(stack.cell);
  if (bias) read(*bias);
  prim.flops = 2.0 * static_cast<double>(weights.view.numel() / size);
  const PrimId made = b.graph.Add(std::move(prim));
  return ResultsOfWaves(b, made, stack);
}

// Layers one after the other, directions too unless they go in waves.
StackDone LayerByLayer(Builder& b, std::string_view op, const LayerStack& stack, How how) {
  const int64_t ways = stack.both ? 2 : 1, all = static_cast<int64_t>(stack.layers.size());
  const Dtype dtype = stack.input.dtype;
  Value input = stack.input;
  std::vector<Value> hidden, cell;
  for (int64_t first = 0; first < all; first += ways) {
    if (how == How::kInWaves) {
      const auto at = stack.layers.begin() + first;
      StackDone done = InWaves(b, op,
                               {input,
                                Part(stack.hidden, 0, first, ways),
                                Part(stack.cell, 0, first, ways),
                                {at, at + ways},
                                stack.both});
      hidden.push_back(done.hidden);
      cell.push_back(done.cell);
      input = b.Cast(done.output, dtype);
      continue;
    }
    std::vector<Value> sides;
    for (int64_t way = 0; way < ways; ++way) {
      Layer layer = stack.layers[first + way];
      layer.input = input;
      layer.hidden = {Select(stack.hidden.view, 0, first + way), dtype};
      if (op == "lstm") layer.cell = {Select(stack.cell.view, 0, first + way), dtype};
      const Done done = Run(b, op, layer, way == 1, how == How::kUnrolled);
      hidden.push_back(Part(done.states, 0, way == 1 ? 0 : done.states.sizes()[0] - 1, 1));
      if (op == "lstm") cell.push_back(done.cell);
      sides.push_back(done.states);
    }
    input = b.Cast(Joined(b, sides, 2), dtype);
  }
  return {input, Joined(b, hidden, 0), op == "lstm" ? Joined(b, cell, 0) : Value{}};
}

// Weights of each layer and direction. Nothing where they are not as many as there must be.
std::optional<std::vector<Layer>> Layers(const std::vector<Value>& weights, int64_t count, size_t plain,
                                         int64_t size, int64_t width) {
  const bool projected = size != width;
  const size_t take = plain + projected;
  if (weights.size() != static_cast<size_t>(count) * take || width != weights[1].sizes()[1])
    return std::nullopt;
  std::vector<Layer> layers(count);
  auto next = weights.begin();
  for (Layer& layer : layers) {
    layer.weights.assign(next, next + static_cast<int64_t>(plain));
    if (projected) layer.projection = next[static_cast<int64_t>(plain)];
    next += static_cast<int64_t>(take);
  }
  return layers;
}

// Nothing where there is no way.
std::optional<How> HowToRun(Builder& b, std::string_view op, const Value& input,
                            const std::vector<Layer>& layers, int64_t size) {
  using Waves = LowerOptions::Waves;
  const int64_t steps = input.sizes()[0], batch = input.sizes()[1],
                work = steps * static_cast<int64_t>(layers.size());
  const bool few = work <= kMostSteps;
  if (layers[0].projection) return few ? std::optional(How::kUnrolled) : std::nullopt;
  if (size > kMostStates) return std::nullopt;
  const Waves waves = b.options().waves;
  // Places are numbers of 32 bits in its kernel.
  const bool fits = (work + 2 * static_cast<int64_t>(layers.size())) * batch * size <= INT32_MAX;
  const bool holds = HoldsWeights(op, size), products = few && batch > kManySequences;
  if (fits && (waves == Waves::kAlways || (waves == Waves::kBySize && !holds && !products)))
    return How::kInWaves;
  return few && !holds ? How::kUnrolled : How::kInOneKernel;
}

}  // namespace

void ReadByStrides(Builder& b, const Value& value, bool may_repeat, Prim* prim) {
  const std::vector<int64_t>& strides = value.view.strides;
  const bool repeats = std::ranges::find(strides, 0) != strides.end();
  const bool plain = value.view.prim >= 0 && value.view.guards.empty() && (may_repeat || !repeats);
  prim->operands.push_back(plain ? value.view : b.Pointwise("copy", "{0}", {value}, value.dtype, 0).view);
  prim->compute.push_back(value.dtype);
}

bool LowerRecurrent(Builder& b, const Node& node, std::string_view op, const BoundArgs& args) {
  Value input = b.Tensor(args, "input");
  std::vector<Value> states = op == "lstm" ? ListOf(b, args, "hx") : std::vector<Value>{b.Tensor(args, "hx")};
  const bool both = AsBool(args["bidirectional"], false), biases = AsBool(args["has_biases"], true);
  const int64_t layers = AsInt(args["num_layers"]).value_or(1), ways = both ? 2 : 1;
  const bool dropout = AsBool(args["train"], false) && AsNumber(args["dropout"]).value_or(0) > 0;
  if (input.view.rank() != 3 || states.size() != (op == "lstm" ? 2u : 1u) || dropout ||
      ComputeDtype(input.dtype) != Dtype::kFloat32 || states[0].view.rank() != 3)
    return false;
  const bool batch_first = AsBool(args["batch_first"], false);
  if (batch_first) input.view = Permute(input.view, {1, 0, 2});
  const Dtype dtype = input.dtype;
  const int64_t size = states.back().sizes()[2];
  const std::optional<std::vector<Layer>> all =
      Layers(ListOf(b, args, "params"), layers * ways, biases ? 4 : 2, size, states[0].sizes()[2]);
  if (!all) return false;
  const auto how = HowToRun(b, op, input, *all, size);
  if (!how) return false;
  LayerStack stack{input, states[0], states.back(), *all, both};
  StackDone done = *how == How::kInWaves && !both ? InWaves(b, op, stack) : LayerByLayer(b, op, stack, *how);
  done.output = b.Cast(done.output, dtype);
  if (batch_first) done.output.view = Permute(done.output.view, {1, 0, 2});
  std::vector<Value> results = {done.output, done.hidden};
  if (op == "lstm") results.push_back(done.cell);
  b.Return(std::move(results));
  return true;
}

}  // namespace tritogen::teach
