// Recurrent layers: one product for the inputs of all steps, then the steps, each a product with the state
// and the gates behind it.
#include <fmt/format.h>

#include "teach/kernel.h"
#include "teach/lowering.h"

namespace tritogen::teach {
namespace {

constexpr int64_t kMostSteps = 64;     // that are written out
constexpr int64_t kMostStates = 4096;  // of a sequence, which a program has in registers

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
  auto read = [&](const Value& value) {
    // Memory is read by strides alone.
    const bool plain = value.view.prim >= 0 && value.view.guards.empty();
    prim.operands.push_back(plain ? value.view : b.Pointwise("copy", "{0}", {value}, value.dtype, 0).view);
    prim.compute.push_back(value.dtype);
  };
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

}  // namespace

bool LowerRecurrent(Builder& b, const Node& node, std::string_view op, const BoundArgs& args) {
  Value input = b.Tensor(args, "input");
  std::vector<Value> states = op == "lstm" ? ListOf(b, args, "hx") : std::vector<Value>{b.Tensor(args, "hx")};
  std::vector<Value> weights = ListOf(b, args, "params");
  const bool both = AsBool(args["bidirectional"], false), biases = AsBool(args["has_biases"], true);
  const int64_t layers = AsInt(args["num_layers"]).value_or(1), ways = both ? 2 : 1;
  const bool dropout = AsBool(args["train"], false) && AsNumber(args["dropout"]).value_or(0) > 0;
  if (input.view.rank() != 3 || states.size() != (op == "lstm" ? 2u : 1u) || dropout ||
      ComputeDtype(input.dtype) != Dtype::kFloat32 || states[0].view.rank() != 3)
    return false;
  const bool batch_first = AsBool(args["batch_first"], false);
  if (batch_first) input.view = Permute(input.view, {1, 0, 2});
  const Dtype dtype = input.dtype;
  const int64_t steps = input.sizes()[0];
  const int64_t size = states.back().sizes()[2], width = states[0].sizes()[2];
  const bool projected = size != width;
  const size_t plain = biases ? 4 : 2, take = plain + projected;
  if (weights.size() != static_cast<size_t>(layers * ways) * take || size > kMostStates) return false;
  if (width != weights[1].sizes()[1]) return false;
  const bool few = steps * layers * ways <= kMostSteps,
             unrolled = few && (projected || !HoldsWeights(op, size));
  if (projected && !few) return false;
  std::vector<Value> last_hidden, last_cell;
  auto next = weights.begin();
  for (int64_t layer = 0; layer < layers; ++layer) {
    std::vector<Value> sides;
    for (int64_t way = 0; way < ways; ++way) {
      const int64_t at = layer * ways + way;
      Layer l{.input = input, .weights = {next, next + static_cast<int64_t>(plain)}};
      if (projected) l.projection = next[static_cast<int64_t>(plain)];
      next += static_cast<int64_t>(take);
      l.hidden = {Select(states[0].view, 0, at), dtype};
      if (op == "lstm") l.cell = {Select(states[1].view, 0, at), dtype};
      const Done done = Run(b, op, l, way == 1, unrolled);
      last_hidden.push_back(Part(done.states, 0, way == 1 ? 0 : steps - 1, 1));
      if (op == "lstm") last_cell.push_back(done.cell);
      sides.push_back(done.states);
    }
    input = b.Cast(Joined(b, sides, 2), dtype);
  }
  if (batch_first) input.view = Permute(input.view, {1, 0, 2});
  std::vector<Value> results = {input, Joined(b, last_hidden, 0)};
  if (op == "lstm") results.push_back(Joined(b, last_cell, 0));
  b.Return(std::move(results));
  return true;
}

}  // namespace tritogen::teach
