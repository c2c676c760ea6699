#include "teach/loop_cells.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "teach/sequences.h"
#include "teach/view.h"

namespace tritogen::teach {
namespace {

// Neighbours along the last dimension of a tensor.
struct Columns {
  NodeRef of{-1, 0};
  int64_t from = 0, size = 0;
};

class Matcher {
 public:
  explicit Matcher(ProgramEdit& edit) : edit_(edit) {}

  std::optional<LoopCell> Plain(NodeRef hidden) const {
    for (const char* name : {"tanh", "relu"}) {
      const auto sum = Argument(hidden, name, "self");
      if (!sum) continue;
      LoopCell cell{std::string("rnn_") + name};
      if (AddGate(All(*sum), 0, 1, &cell)) return Finished(std::move(cell), hidden);
    }
    return std::nullopt;
  }

  // sigmoid(o) · tanh(c), c = sigmoid(f) · before + sigmoid(i) · tanh(g).
  std::optional<LoopCell> Lstm(NodeRef hidden) const {
    for (auto [left, right] : Factors(hidden)) {
      const auto o = Argument(left, "sigmoid", "self"), c = Argument(right, "tanh", "self");
      if (!o || !c) continue;
      for (auto [kept, added] : Summands(*c)) {
        for (auto [i_gate, g_gate] : Factors(added)) {
          const auto i = Argument(i_gate, "sigmoid", "self"), g = Argument(g_gate, "tanh", "self");
          if (!i || !g) continue;
          for (auto [f_gate, before] : Factors(kept)) {
            const auto f = Argument(f_gate, "sigmoid", "self");
            if (!f) continue;
            LoopCell cell{"lstm"};
            cell.cell = *c;
            cell.cell_before = before;
            const NodeRef gates[] = {*i, *f, *g, *o};
            bool fits = true;
            for (int gate = 0; gate < 4 && fits; ++gate) fits = AddGate(Part(gates[gate]), gate, 4, &cell);
            if (fits) return Finished(std::move(cell), hidden);
          }
        }
      }
    }
    return std::nullopt;
  }

  // n + z · (h - n) or (1 - z) · n + z · h, n = tanh(of the input + r · of the state).
  std::optional<LoopCell> Gru(NodeRef hidden) const {
    for (auto [left, right] : Summands(hidden)) {
      for (auto [first, second] : Factors(right)) {
        const auto z = Argument(first, "sigmoid", "self");
        if (!z) continue;
        const auto n = NewOf(left, first, second);
        if (!n) continue;
        if (auto cell = GruOf(*z, n->first, n->second)) return Finished(std::move(*cell), hidden);
      }
    }
    return std::nullopt;
  }

 private:
  using Pairs = std::vector<std::pair<NodeRef, NodeRef>>;

  // The tensor that an operator of this row is given.
  std::optional<NodeRef> Argument(NodeRef ref, std::string_view row, std::string_view name) const {
    const OpCall* call = edit_.CallOf(ref.id, row);
    const NodeRef* in = call == nullptr ? nullptr : AsRef(call->args[name]);
    return in == nullptr ? std::nullopt : std::optional(*in);
  }

  // Both orders of what is added up or multiplied.
  Pairs Both(NodeRef ref, std::string_view row) const {
    const auto a = Argument(ref, row, "self"), b = Argument(ref, row, "other");
    if (!a || !b) return {};
    if (row == "add" && AsNumber(edit_.CallOf(ref.id)->args["alpha"]).value_or(1) != 1) return {};
    return {{*a, *b}, {*b, *a}};
  }
  Pairs Summands(NodeRef ref) const { return Both(ref, "add"); }
  Pairs Factors(NodeRef ref) const { return Both(ref, "mul"); }

  Columns All(NodeRef ref) const {
    const auto& sizes = edit_.ShapeOf(ref).sizes;
    return {ref, 0, sizes.empty() ? 0 : sizes.back()};
  }

  // Columns of what a value was cut from.
  Columns Part(NodeRef ref) const { return Uncut(All(ref)); }
  Columns Uncut(Columns part) const {
    while (const OpCall* call = edit_.CallOf(part.of.id)) {
      const NodeRef* self = call->row->kind == OpClass::kLayout ? AsRef(call->args["self"]) : nullptr;
      if (self == nullptr) break;
      const std::string& name = call->row->name;
      const int rank = static_cast<int>(edit_.ShapeOf(*self).sizes.size());
      if (WrapDim(AsInt(call->args["dim"]).value_or(0), rank) != rank - 1 ||
          edit_.ShapeOf(part.of).sizes.size() != edit_.ShapeOf(*self).sizes.size())
        break;
      if (name == "split" || name == "split_with_sizes" || name == "chunk") {
        for (int r = 0; r < part.of.result; ++r) part.from += edit_.ShapeOf({part.of.id, r}).sizes.back();
      } else if (name == "narrow" || (name == "slice" && AsInt(call->args["step"]).value_or(1) == 1)) {
        const int64_t start = AsInt(call->args["start"]).value_or(0),
                      whole = edit_.ShapeOf(*self).sizes.back();
        part.from += start < 0 ? start + whole : start;
      } else {
        break;
      }
      part.of = *self;
    }
    return part;
  }

  // Adds what a gate is the sum of to the cell's sources. False where it is more than products and biases.
  bool AddGate(const Columns& gate, int number, int gates, LoopCell* cell) const {
    if (gate.size == 0 || edit_.ShapeOf(gate.of).sizes.size() != 2) return false;
    std::vector<WeightPart> loose;  // biases by themselves
    if (!AddTerms(gate, number, gates, cell, &loose)) return false;
    for (const WeightPart& bias : loose) {
      const auto free =
          std::ranges::find_if(cell->sources, [&](const CellSource& s) { return !s.biases[number]; });
      if (free == cell->sources.end()) return false;
      free->biases[number] = bias;
    }
    return true;
  }

  bool AddTerms(const Columns& cut, int number, int gates, LoopCell* cell,
                std::vector<WeightPart>* loose) const {
    const Columns sum = Uncut(cut);
    if (const Pairs both = Summands(sum.of); !both.empty()) {
      return AddTerms({both[0].first, sum.from, sum.size}, number, gates, cell, loose) &&
             AddTerms({both[0].second, sum.from, sum.size}, number, gates, cell, loose);
    }
    const Shape& shape = edit_.ShapeOf(sum.of);
    if (shape.sizes.size() == 1 && sum.from + sum.size <= shape.sizes[0]) {
      loose->push_back({sum.of, sum.from, sum.size});
      return true;
    }
    return AddProduct(sum, number, gates, cell);
  }

  bool AddProduct(const Columns& product, int number, int gates, LoopCell* cell) const {
    // Of a step of a product that was made of all steps: that step's input times the weights.
    const auto element = ElementOf(edit_, product.of);
    const NodeRef of = element ? element->of : product.of;
    const OpCall* call = edit_.CallOf(of.id);
    if (call == nullptr) return false;
    const std::string name = call->row->name;
    WeightPart weight{{-1, 0}, product.from, product.size, 0, 0, name != "linear"};
    std::optional<WeightPart> bias;
    std::optional<NodeRef> in;
    if (name == "linear") {
      in = Argument(of, name, "input");
      weight.of = *Argument(of, name, "weight");
      if (const auto ref = Argument(of, name, "bias")) bias = {*ref, product.from, product.size};
    } else if (name == "mm" || name == "matmul" || name == "addmm") {
      in = Argument(of, name, name == "addmm" ? "mat1" : "self");
      weight.of = *Argument(of, name, name == "matmul" ? "other" : "mat2");
      if (name == "addmm") {
        const NodeRef added = *Argument(of, name, "self");
        if (edit_.ShapeOf(added).sizes.size() != 1 || !IsPlainAddmm(*call)) return false;
        bias = {added, product.from, product.size};
      }
      if (const auto turned = Argument(weight.of, "t", "self")) weight.of = *turned, weight.turned = false;
    }
    const size_t rank = element ? 3 : 2;
    if (!in || edit_.ShapeOf(*in).sizes.size() != rank || edit_.ShapeOf(weight.of).sizes.size() != 2 ||
        (element && element->dim > 1))
      return false;
    if (element) in = edit_.Selected(*in, element->dim, element->index);
    for (const NodeRef& piece : Pieces(*in)) {
      weight.columns = edit_.ShapeOf(piece).sizes.back();
      // x[:, t] is written for each gate.
      const auto part = ElementOf(edit_, piece);
      const NodeRef value = part ? edit_.Selected(part->of, part->dim, part->index) : piece;
      AddWeight(value, weight, bias, number, gates, cell);
      weight.column += weight.columns;
      bias.reset();
    }
    return true;
  }

  // What is put side by side, or the value itself.
  std::vector<NodeRef> Pieces(NodeRef ref) const {
    const OpCall* call = edit_.CallOf(ref.id, "cat");
    const int64_t dim = call == nullptr ? 0 : WrapDim(AsInt(call->args["dim"]).value_or(0), 2);
    if (dim != 1 || edit_.ShapeOf(ref).sizes.size() != 2) return {ref};
    std::vector<NodeRef> pieces;
    for (const Arg& item : *AsList(call->args["tensors"])) pieces.push_back(*AsRef(item));
    return pieces;
  }

  // A value that is multiplied twice for one gate is two sources.
  static void AddWeight(NodeRef value, const WeightPart& weight, const std::optional<WeightPart>& bias,
                        int number, int gates, LoopCell* cell) {
    auto source = std::ranges::find_if(
        cell->sources, [&](const CellSource& s) { return s.value == value && s.weights[number].of.id < 0; });
    if (source == cell->sources.end()) {
      const auto count = static_cast<size_t>(gates);
      cell->sources.push_back({value, std::vector<WeightPart>(count), {}});
      cell->sources.back().biases.resize(count);
      source = std::prev(cell->sources.end());
    }
    source->weights[number] = weight;
    if (bias) source->biases[number] = bias;
  }

  // n and h, of either form of what is added up: `left` and z · `second`.
  std::optional<std::pair<NodeRef, NodeRef>> NewOf(NodeRef left, NodeRef z, NodeRef second) const {
    const auto h = Argument(second, "sub", "self"), less = Argument(second, "sub", "other");
    if (h && less && *less == left && AsNumber(edit_.CallOf(second.id)->args["alpha"]).value_or(1) == 1)
      return std::pair(left, *h);
    for (auto [other, n] : Factors(left)) {
      if (IsOneLess(other, z)) return std::pair(n, second);
    }
    return std::nullopt;
  }

  bool IsOneLess(NodeRef ref, NodeRef z) const {
    for (auto [name, from, less] : {std::tuple{"rsub", "other", "self"}, {"sub", "self", "other"}}) {
      const OpCall* call = edit_.CallOf(ref.id, name);
      if (call == nullptr || AsNumber(call->args[from]) != 1.0) continue;
      if (AsNumber(call->args["alpha"]).value_or(1) != 1) continue;
      const NodeRef* of = AsRef(call->args[less]);
      if (of != nullptr && *of == z) return true;
    }
    return false;
  }

  std::optional<LoopCell> GruOf(NodeRef z, NodeRef n, NodeRef h) const {
    const auto inside = Argument(n, "tanh", "self");
    if (!inside) return std::nullopt;
    for (auto [of_input, gated] : Summands(*inside)) {
      for (auto [r_gate, of_state] : Factors(gated)) {
        const auto r = Argument(r_gate, "sigmoid", "self");
        if (!r) continue;
        LoopCell cell{"gru"};
        if (!AddGate(Part(*r), 0, 3, &cell) || !AddGate(Part(z), 1, 3, &cell) || cell.sources.size() != 2)
          continue;
        cell.state = cell.sources[0].value == h ? 0 : 1;
        if (AddOwn(Part(of_input), 1 - cell.state, &cell) && AddOwn(Part(of_state), cell.state, &cell))
          return cell;
      }
    }
    return std::nullopt;
  }

  // The part of the last gate that is made of one source alone.
  bool AddOwn(const Columns& part, int source, LoopCell* cell) const {
    LoopCell own{"gru"};
    if (!AddGate(part, 2, 3, &own) || own.sources.size() != 1) return false;
    CellSource& mine = cell->sources[source];
    if (!(own.sources[0].value == mine.value)) return false;
    mine.weights[2] = own.sources[0].weights[2];
    mine.biases[2] = own.sources[0].biases[2];
    return true;
  }

  std::optional<LoopCell> Finished(LoopCell cell, NodeRef hidden) const {
    const Shape& shape = edit_.ShapeOf(hidden);
    if (shape.sizes.size() != 2 || cell.sources.size() < 2) return std::nullopt;
    cell.hidden = hidden;
    cell.batch = shape.sizes[0], cell.size = shape.sizes[1];
    for (const CellSource& source : cell.sources) {
      const Shape& in = edit_.ShapeOf(source.value);
      if (in.sizes[0] != cell.batch || in.dtype != shape.dtype) return std::nullopt;
      for (const WeightPart& weight : source.weights) {
        if (weight.of.id < 0 || weight.rows != cell.size) return std::nullopt;
      }
    }
    if (cell.op == "lstm" && edit_.ShapeOf(cell.cell_before).sizes != shape.sizes) return std::nullopt;
    return cell;
  }

  ProgramEdit& edit_;
};

}  // namespace

std::optional<LoopCell> CellOf(ProgramEdit& edit, NodeRef hidden) {
  const Matcher matcher(edit);
  if (edit[hidden.id].kind != NodeKind::kOp || !IsFloating(edit.ShapeOf(hidden).dtype)) return std::nullopt;
  if (auto cell = matcher.Plain(hidden)) return cell;
  if (auto cell = matcher.Lstm(hidden)) return cell;
  return matcher.Gru(hidden);
}

}  // namespace tritogen::teach
