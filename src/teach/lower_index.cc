// Reads by index tensors.
#include <fmt/format.h>

#include <algorithm>

#include "teach/lowering.h"
#include "teach/ranges.h"

namespace tritogen::teach {
namespace {

// The index tensor as an index of the result: its dimensions are dims start, start + 1, … of `sizes`.
Value Placed(const Value& index, const std::vector<int64_t>& sizes, size_t start) {
  View view = index.view;
  while (view.sizes.size() + start < sizes.size()) view = Unsqueeze(view, view.rank());
  return {Expand(view, sizes), index.dtype};
}

// A value of int64 numbers as int32 ones, which address arithmetic is cheaper in: the work that makes them is
// done in int32, too, as far as that is known to make the same numbers.
class Narrower {
 public:
  explicit Narrower(Builder& b) : b_(b), known_(b.graph) {}

  Value Narrow(const Value& value) {
    if (value.dtype != Dtype::kInt64 || value.view.prim < 0) return value;
    const auto range = known_.Of(value.view);
    if (!range || !range->Fits(Dtype::kInt32)) return value;
    const Prim prim = b_.graph[value.view.prim];
    if (prim.kind == PrimKind::kPointwise) {
      const auto e = ParseExpression(prim.expr);
      if (auto made = e ? Remade(*e, prim, value.view) : std::nullopt) return *made;
    }
    return b_.Pointwise("place", "{0}.to(tl.int32)", {value}, Dtype::kInt32, 0);
  }

 private:
  std::optional<Value> Remade(const Expression& e, const Prim& prim, const View& view) {
    constexpr std::string_view kCast = ".to(tl.int64)";
    std::vector<Value> in;
    for (size_t i = 0; i < prim.operands.size(); ++i) {
      const auto read = Compose(view, prim.operands[i]);
      if (!read) return std::nullopt;
      in.push_back({*read, read->prim < 0 ? Dtype::kInt32 : b_.graph[read->prim].dtype});
    }
    if (e.kind == Expression::Kind::kNumber && in.empty())
      return b_.Fill(view.sizes, Dtype::kInt32, Arg{static_cast<int64_t>(e.number)});
    if (e.kind == Expression::Kind::kCast && prim.expr.ends_with(kCast)) {
      if (const auto number = ElementNumber(e.in[0]); number && in[*number].dtype == Dtype::kInt32)
        return in[*number];
      if (e.in[0].IsOperand()) return b_.Cast(in[e.in[0].operand], Dtype::kInt32);
      const std::string inner = prim.expr.substr(0, prim.expr.size() - kCast.size());
      return b_.Pointwise(prim.name, inner + ".to(tl.int32)", in, Dtype::kInt32, prim.flops);
    }
    const bool plain = std::ranges::all_of(e.in, [](const Expression& each) { return each.in.empty(); });
    if (!plain) return std::nullopt;
    const bool where =
        e.IsCall("tl.where", 3) && e.in[0].IsOperand() && in[e.in[0].operand].dtype == Dtype::kBool;
    if (!where && !e.IsBinary("+") && !e.IsBinary("-") && !e.IsBinary("*")) return std::nullopt;
    for (size_t i = where ? 1 : 0; i < e.in.size(); ++i) {
      if (!e.in[i].IsOperand()) continue;
      const size_t before = where ? known_.Assume(in[e.in[0].operand].view, i == 1) : 0;
      Value& side = in[e.in[i].operand];
      side = Narrow(side);
      if (where) known_.Forget(before);
      if (side.dtype != Dtype::kInt32) return std::nullopt;
    }
    return b_.Pointwise(prim.name, prim.expr, in, Dtype::kInt32, prim.flops);
  }

  // The operand where the expression is that and no more: 0 + {0} * 1.
  static std::optional<size_t> ElementNumber(const Expression& e) {
    if (e.IsOperand()) return e.operand;
    if (e.IsBinary("+") && e.in[0].IsNumber(0)) return ElementNumber(e.in[1]);
    if (e.IsBinary("*") && e.in[1].IsNumber(1)) return ElementNumber(e.in[0]);
    return std::nullopt;
  }

  Builder& b_;
  Ranges known_;
};

// Who learns from kernels for single operations finds these alone in them, and need not know what is known.
Value Narrow(Builder& b, const Value& index) {
  return b.options().apart ? index : Narrower(b).Narrow(index);
}

// Index of one of n elements, counted from the end where it is negative.
Value FromEitherEnd(Builder& b, const Value& index, int64_t n) {
  const auto range = b.options().apart ? std::nullopt : Ranges(b.graph).Of(index.view);
  if (range && range->lo >= 0) return Narrow(b, index);
  return b.Pointwise("index", fmt::format("tl.where({{0}} < 0, {{0}} + {}, {{0}})", n), {index}, index.dtype,
                     0);
}

bool LowerGather(Builder& b, const BoundArgs& args) {
  Value x = b.Tensor(args, "self"), index = b.Tensor(args, "index");
  if (x.view.rank() == 0) return false;
  std::vector<Value> at = b.Indices(index.sizes());
  at[WrapDim(AsInt(args["dim"]).value_or(0), x.view.rank())] = Narrow(b, index);
  b.Return({b.Load("gathered", x, at)});
  return true;
}

bool LowerIndexSelect(Builder& b, const Node& node, const Value& x, const Value& index, int64_t dim) {
  const std::vector<int64_t>& sizes = node.results[0].sizes;
  if (x.view.rank() == 0 || index.view.rank() != 1) return false;
  dim = WrapDim(dim, x.view.rank());
  std::vector<Value> at = b.Indices(sizes);
  at[dim] = Placed(Narrow(b, index), sizes, static_cast<size_t>(dim));
  b.Return({b.Load("selected", x, at)});
  return true;
}

bool LowerEmbedding(Builder& b, const Node& node, const BoundArgs& args) {
  Value weight = b.Tensor(args, "weight"), indices = b.Tensor(args, "indices");
  const std::vector<int64_t>& sizes = node.results[0].sizes;
  b.Return({b.Load("row", weight, {Placed(Narrow(b, indices), sizes, 0), b.Index(sizes, -1)})});
  return true;
}

// x[i, :, j]: the index tensors' own shape stands where they stand, or in front when they stand apart.
bool LowerIndexTensor(Builder& b, const Node& node, const BoundArgs& args) {
  Value x = b.Tensor(args, "self");
  const auto* list = AsList(args["indices"]);
  const std::vector<int64_t>& sizes = node.results[0].sizes;
  if (list == nullptr || list->size() > x.sizes().size()) return false;
  std::vector<std::optional<Value>> given(x.sizes().size());
  std::vector<std::vector<int64_t>> shapes;
  std::vector<size_t> dims;
  for (size_t d = 0; d < list->size(); ++d) {
    const NodeRef* ref = AsRef((*list)[d]);
    if (ref == nullptr) continue;
    given[d] = b.Get(*ref);
    if (given[d]->dtype == Dtype::kBool || given[d]->dtype == Dtype::kUint8) return false;
    shapes.push_back(given[d]->sizes());
    dims.push_back(d);
  }
  if (dims.empty()) return false;
  const std::vector<int64_t> shape = BroadcastSizes(shapes);
  const bool together = dims.back() - dims.front() + 1 == dims.size();
  const size_t start = together ? dims.front() : 0;
  std::vector<Value> at(x.sizes().size());
  size_t next = 0;  // dimension of the result
  for (size_t d = 0; d < at.size(); ++d) {
    if (next == start) next += shape.size();
    if (given[d]) {
      const Value index = FromEitherEnd(b, *given[d], x.sizes()[d]);
      at[d] = Placed({Expand(index.view, shape), index.dtype}, sizes, start);
    } else {
      at[d] = b.Index(sizes, static_cast<int64_t>(next++));
    }
  }
  b.Return({b.Load("indexed", x, at)});
  return true;
}

}  // namespace

bool LowerIndex(Builder& b, const Node& node, std::string_view op, const BoundArgs& args) {
  if (op == "gather") return LowerGather(b, args);
  if (op == "index_select") {
    return LowerIndexSelect(b, node, b.Tensor(args, "self"), b.Tensor(args, "index"),
                            AsInt(args["dim"]).value_or(0));
  }
  if (op == "embedding") return LowerEmbedding(b, node, args);
  if (op == "index") return LowerIndexTensor(b, node, args);
  if (op.starts_with("scatter")) return LowerScatter(b, op, args);
  return false;
}

}  // namespace tritogen::teach
