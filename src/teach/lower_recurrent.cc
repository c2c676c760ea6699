// Recurrent layers, step by step: one product for the inputs of all steps, then for each step a product with
// the state and the gates behind it.
#include <fmt/format.h>

#include "teach/lowering.h"

namespace tritogen::teach {
namespace {

constexpr int64_t kMostSteps = 64;  // kernels are written out

Value Part(const Value& x, int64_t dim, int64_t start, int64_t length) {
  return {Slice(x.view, dim, start, length, 1), x.dtype};
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
  Value input;                 // (steps, batch, width)
  Value hidden, cell;          // (batch, size); cell only for an LSTM
  std::vector<Value> weights;  // w_ih, w_hh and, where there are biases, b_ih, b_hh
};

struct Steps {
  std::vector<Value> hidden;  // by step
  Value cell;
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

Steps Run(Builder& b, std::string_view op, const Layer& layer, bool backwards) {
  auto bias = [&](size_t at) {
    return layer.weights.size() > at ? std::optional(layer.weights[at]) : std::nullopt;
  };
  const int64_t steps = layer.input.sizes()[0], size = layer.hidden.sizes()[1];
  Value inputs = Linear(b, layer.input, layer.weights[0], bias(2));
  Steps result;
  result.hidden.resize(steps);
  Value h = layer.hidden, c = layer.cell;
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t t = backwards ? steps - 1 - step : step;
    Value in{Select(inputs.view, 0, t), inputs.dtype};
    Value state = Linear(b, h, layer.weights[1], bias(3));
    h = b.Once("hidden", Next(b, op, in, state, h, c, size));
    result.hidden[t] = h;
  }
  result.cell = c;
  return result;
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
      input.dtype != Dtype::kFloat32)
    return false;
  if (states[0].view.rank() != 3 || weights.size() != static_cast<size_t>(layers * ways * (biases ? 4 : 2)))
    return false;
  const bool batch_first = AsBool(args["batch_first"], false);
  if (batch_first) input.view = Permute(input.view, {1, 0, 2});
  const int64_t steps = input.sizes()[0];
  if (steps * layers * ways > kMostSteps || states[0].sizes()[2] != weights[1].sizes()[1]) return false;
  std::vector<Value> last_hidden, last_cell;
  size_t next = 0;
  for (int64_t layer = 0; layer < layers; ++layer) {
    std::vector<std::vector<Value>> outputs;
    for (int64_t way = 0; way < ways; ++way) {
      const size_t take = biases ? 4 : 2;
      Layer l{input,
              {},
              {},
              {weights.begin() + static_cast<int64_t>(next),
               weights.begin() + static_cast<int64_t>(next + take)}};
      next += take;
      const int64_t at = layer * ways + way;
      l.hidden = {Select(states[0].view, 0, at), input.dtype};
      if (op == "lstm") l.cell = {Select(states[1].view, 0, at), input.dtype};
      Steps done = Run(b, op, l, way == 1);
      last_hidden.push_back(way == 1 ? done.hidden.front() : done.hidden.back());
      if (op == "lstm") last_cell.push_back(done.cell);
      outputs.push_back(std::move(done.hidden));
    }
    std::vector<Value> joined;
    for (int64_t t = 0; t < steps; ++t) {
      std::vector<Value> sides;
      for (const auto& side : outputs) sides.push_back(side[t]);
      joined.push_back(ways == 1 ? sides[0] : Concatenate(b, sides, 1));
    }
    input = Stack(b, joined);
  }
  if (batch_first) input.view = Permute(input.view, {1, 0, 2});
  std::vector<Value> results = {input, Stack(b, last_hidden)};
  if (op == "lstm") results.push_back(Stack(b, last_cell));
  b.Return(std::move(results));
  return true;
}

}  // namespace tritogen::teach
