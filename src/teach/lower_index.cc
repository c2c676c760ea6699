// Reads and writes by index tensors. A write is a choice by its reader: each element looks for the index
// entries that name it, so that no two programs write to one place.
#include <fmt/format.h>

#include <algorithm>

#include "teach/lowering.h"

namespace tritogen::teach {
namespace {

constexpr int64_t kMostComparisons = int64_t{1} << 26;  // of a scatter

// The index tensor as an index of the result: its dimensions are dims start, start + 1, … of `sizes`.
Value Placed(const Value& index, const std::vector<int64_t>& sizes, size_t start) {
  View view = index.view;
  while (view.sizes.size() + start < sizes.size()) view = Unsqueeze(view, view.rank());
  return {Expand(view, sizes), index.dtype};
}

bool LowerGather(Builder& b, const BoundArgs& args) {
  Value x = b.Tensor(args, "self"), index = b.Tensor(args, "index");
  if (x.view.rank() == 0) return false;
  std::vector<Value> at = b.Indices(index.sizes());
  at[WrapDim(AsInt(args["dim"]).value_or(0), x.view.rank())] = index;
  b.Return({b.Load("gathered", x, at)});
  return true;
}

bool LowerIndexSelect(Builder& b, const Node& node, const Value& x, const Value& index, int64_t dim) {
  const std::vector<int64_t>& sizes = node.results[0].sizes;
  if (x.view.rank() == 0 || index.view.rank() != 1) return false;
  dim = WrapDim(dim, x.view.rank());
  std::vector<Value> at = b.Indices(sizes);
  at[dim] = Placed(index, sizes, static_cast<size_t>(dim));
  b.Return({b.Load("selected", x, at)});
  return true;
}

bool LowerEmbedding(Builder& b, const Node& node, const BoundArgs& args) {
  Value weight = b.Tensor(args, "weight"), indices = b.Tensor(args, "indices");
  const std::vector<int64_t>& sizes = node.results[0].sizes;
  b.Return({b.Load("row", weight, {Placed(indices, sizes, 0), b.Index(sizes, -1)})});
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
      const int64_t n = x.sizes()[d];
      Value whole{Expand(given[d]->view, shape), given[d]->dtype};
      Value wrapped = b.Pointwise("index", fmt::format("tl.where({{0}} < 0, {{0}} + {}, {{0}})", n), {whole},
                                  given[d]->dtype, 0);
      at[d] = Placed(wrapped, sizes, start);
    } else {
      at[d] = b.Index(sizes, static_cast<int64_t>(next++));
    }
  }
  b.Return({b.Load("indexed", x, at)});
  return true;
}

// Space of a scatter: every element of self against every entry of its line of the index.
struct Lines2 {
  std::vector<int64_t> space;  // self's sizes and the length of the index's line
  std::vector<Value> entry;    // indices of an entry of the index in it
  std::optional<Value> valid;  // where the index has that line
  Value position, own;         // number of the entry, index of the element along dim
};

Lines2 LinesOf(Builder& b, const Value& x, const Value& index, int64_t dim) {
  Lines2 l;
  l.space = x.sizes();
  l.space.push_back(index.sizes()[dim]);
  l.entry = b.Indices(l.space);
  l.position = l.entry.back();
  l.own = l.entry[dim];
  l.entry.pop_back();
  l.entry[dim] = l.position;
  std::string expr;
  std::vector<Value> limited;
  for (size_t d = 0; d < l.entry.size(); ++d) {
    if (static_cast<int64_t>(d) == dim || index.sizes()[d] >= x.sizes()[d]) continue;
    expr += fmt::format("{}({{{}}} < {})", expr.empty() ? "" : " & ", limited.size(), index.sizes()[d]);
    limited.push_back(l.entry[d]);
  }
  if (!limited.empty()) l.valid = b.Pointwise("has_line", expr, limited, Dtype::kBool, 0);
  return l;
}

bool LowerScatter(Builder& b, std::string_view op, const BoundArgs& args) {
  Value x = b.Tensor(args, "self"), index = b.Tensor(args, "index");
  const int rank = x.view.rank();
  if (rank == 0 || index.view.rank() != rank) return false;
  const int64_t dim = WrapDim(AsInt(args["dim"]).value_or(0), rank);
  if (x.view.numel() * index.sizes()[dim] > kMostComparisons) return false;
  Lines2 l = LinesOf(b, x, index, dim);
  Value named = b.Load("target", index, l.entry, l.valid, "-1");
  if (op == "scatter_add") {
    Value added = b.Load("added", b.Tensor(args, "src"), l.entry, l.valid);
    Value own =
        b.Pointwise("own", "tl.where({0} == {1}, {2}, 0.0)", {named, l.own, added}, ComputeDtype(x.dtype), 1);
    b.Return({b.Op("add", {x, b.Reduce(ReduceOp::kSum, own, {-1}, false)}, x.dtype)});
    return IsFloating(x.dtype);
  }
  // The last entry that names the element wins.
  Value found =
      b.Pointwise("found", "tl.where({0} == {1}, {2}, -1)", {named, l.own, l.position}, Dtype::kInt32, 1);
  Value last = b.Reduce(ReduceOp::kMax, found, {-1}, false);
  if (!b.HasTensor(args, "src")) {
    auto number = AsNumber(args["value"]);
    std::string text =
        number && IsFloating(x.dtype) ? PythonLiteral(Arg{*number}) : PythonLiteral(args["value"]);
    b.Return({b.Pointwise("scattered", fmt::format("tl.where({{0}} >= 0, {}, {{1}})", text), {last, x},
                          x.dtype, 1)});
    return true;
  }
  std::vector<Value> at = b.Indices(x.sizes());
  at[dim] = last;
  Value hit = b.Pointwise("hit", "{0} >= 0", {last}, Dtype::kBool, 0);
  Value written = b.Load("written", b.Tensor(args, "src"), at, hit);
  b.Return({b.Pointwise("scattered", "tl.where({0}, {1}, {2})", {hit, written, x}, x.dtype, 1)});
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
