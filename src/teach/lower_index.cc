// Reads by index tensors.
#include <fmt/format.h>

#include <algorithm>

#include "teach/lowering.h"

namespace tritogen::teach {
namespace {

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
