// sort, argsort and topk: the order of each line, and the elements that stand there.
#include "teach/sorting.h"

namespace tritogen::teach {
namespace {

// For each of the first `count` places of a sorted line, the number of the element that stands there; nothing
// where that takes too long.
std::optional<Value> SortedOrder(Builder& b, const Value& x, int64_t dim, int64_t count, bool descending) {
  std::vector<int64_t> order, back;  // `dim` to the end, and where it was
  const int64_t rank = x.view.rank();
  for (int64_t d = 0; d < rank; ++d) {
    if (d != dim) order.push_back(d);
    back.push_back(d < dim ? d : d == dim ? rank - 1 : d - 1);
  }
  order.push_back(dim);
  const Value line{Permute(x.view, order), x.dtype};
  auto places = OrderByNetwork(b, line, count, descending);
  if (!places) places = OrderByRanks(b, line, count, descending);
  if (!places) return std::nullopt;
  const View first = Slice(places->view, rank - 1, 0, count, 1);
  return Value{Permute(first, back), places->dtype};
}

}  // namespace

bool LowerSort(Builder& b, const Node& node, std::string_view op, const BoundArgs& args) {
  Value x = b.Tensor(args, "self");
  if (x.view.rank() == 0 || !x.view.guards.empty()) return false;
  if (x.view.prim < 0) return false;
  if (x.dtype == Dtype::kBool) x = b.Cast(x, Dtype::kInt8);
  const int64_t dim = WrapDim(AsInt(args["dim"]).value_or(-1), x.view.rank());
  const bool topk = op == "topk";
  const bool descending = topk ? AsBool(args["largest"], true) : AsBool(args["descending"], false);
  if (topk && node.results[0].sizes[dim] == 1 && x.dtype != Dtype::kFloat64) {
    b.Return({b.Reduce(descending ? ReduceOp::kMax : ReduceOp::kMin, x, {dim}, true),
              PlaceOfExtremum(b, x, descending, {dim}, true)});
    return true;
  }
  const auto order = SortedOrder(b, x, dim, node.results[0].sizes[dim], descending);
  if (!order) return false;
  Value index = b.Cast(*order, Dtype::kInt64);
  if (op == "argsort") {
    b.Return({index});
    return true;
  }
  std::vector<Value> at = b.Indices(order->sizes());
  at[dim] = *order;
  b.Return({b.Load("sorted", x, at), index});
  return true;
}

}  // namespace tritogen::teach
