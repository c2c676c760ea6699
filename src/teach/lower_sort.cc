// sort, argsort and topk: the order of each line, and the elements that stand there.
#include "teach/sorting.h"

namespace tritogen::teach {
namespace {

// The first `count` places of lines along a dimension; nothing where that takes too long.
std::optional<Sorted> SortAlong(Builder& b, const Value& x, int64_t dim, int64_t count, bool descending,
                                bool numbered) {
  std::vector<int64_t> order, back;  // `dim` to the end, and where it was
  const int64_t rank = x.view.rank();
  for (int64_t d = 0; d < rank; ++d) {
    if (d != dim) order.push_back(d);
    back.push_back(d < dim ? d : d == dim ? rank - 1 : d - 1);
  }
  order.push_back(dim);
  const auto first = [&](const Value& value) {
    return Value{Permute(Slice(value.view, rank - 1, 0, count, 1), back), value.dtype};
  };
  const Value line{Permute(x.view, order), x.dtype};
  if (const auto sorted = SortByNetwork(b, line, count, descending, numbered)) {
    if (!sorted->number) return Sorted{first(sorted->elements), {}};
    return Sorted{first(sorted->elements), first(*sorted->number)};
  }
  const auto places = OrderByRanks(b, line, count, descending);
  if (!places) return std::nullopt;
  const Value number = first(*places);
  std::vector<Value> at = b.Indices(number.sizes());
  at[dim] = number;
  return Sorted{b.Load("sorted", x, at), number};
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
  const bool places = op == "argsort";
  const auto sorted = SortAlong(b, x, dim, node.results[0].sizes[dim], descending,
                                places || (node.results.size() > 1 && b.is_read[1]));
  if (!sorted) return false;
  std::vector<Value> results;
  if (!places) results.push_back(sorted->elements);
  if (sorted->number) results.push_back(b.Cast(*sorted->number, Dtype::kInt64));
  b.Return(std::move(results));
  return true;
}

}  // namespace tritogen::teach
