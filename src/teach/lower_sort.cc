// sort, argsort and topk: the order of each line, and the elements that stand there.
#include <fmt/format.h>

#include "teach/sort_keys.h"
#include "teach/sorting.h"

namespace tritogen::teach {
namespace {

// A line is counted once for each bit of a key, whatever its length: a network has fewer steps for shorter
// ones. Few places are worth a selection each.
constexpr int64_t kShortestSelected = 256;
constexpr size_t kMostReaders = 6;

// Whether whoever reads the results of the sort under way reads one place of each line.
bool ReadsSinglePlaces(const Builder& b, const Node& node, int64_t dim) {
  size_t readers = 0;
  for (int result = 0; result < static_cast<int>(node.results.size()); ++result) {
    if (b.IsOutput(result)) return false;
    for (const Node* reader : b.ReadersOf(result)) {
      const auto call = BindCall(*reader);
      if (!call || !AsInt(call->args["dim"])) return false;
      const std::string_view op = call->row->name;
      const int64_t rank = static_cast<int64_t>(node.results[result].sizes.size());
      if (WrapDim(*AsInt(call->args["dim"]), rank) != dim) return false;
      const bool one = (op == "slice" || op == "narrow") && reader->results[0].sizes[dim] == 1;
      if (op != "select" && !one) return false;
      ++readers;
    }
  }
  return readers > 0 && readers <= kMostReaders;
}

// What stands at single places of a line is found without sorting it.
void SelectPlaces(Builder& b, const Value& line, const Sorted& sorted, bool descending) {
  const SortKeys keys(line.dtype, line.sizes().back(), descending, false);
  const std::string origin = b.origin;
  b.by_place[sorted.elements.view.prim] = [=, &b](int64_t place) {
    b.origin = origin;
    return keys.Element(b, b.ElementOfRank(keys.Of(b, line, {}), place));
  };
  if (!sorted.number) return;
  // The first one that is equal.
  b.by_place[sorted.number->view.prim] = [=, &b](int64_t place) {
    b.origin = origin;
    const Value key = keys.Of(b, line, {}), selected = b.ElementOfRank(key, place);
    const Value all{Expand(Unsqueeze(selected.view, -1), line.sizes()), selected.dtype};
    const Value number =
        b.Pointwise("number", fmt::format("tl.where({{0}} == {{1}}, {{2}}, {})", line.sizes().back()),
                    {key, all, b.Index(line.sizes(), -1)}, Dtype::kInt32, 2);
    return b.Cast(b.Reduce(ReduceOp::kMin, number, {-1}, false), Dtype::kInt64);
  };
}

// The first `count` places of lines along a dimension, with the elements' numbers, int64, where they are
// asked for; nothing where that takes too long.
std::optional<Sorted> SortAlong(Builder& b, const Value& x, int64_t dim, int64_t count, bool descending,
                                bool numbered, bool at_places) {
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
  if (auto sorted = SortByNetwork(b, line, count, descending, numbered)) {
    // Of places that are mostly asked for the same kernel stores numbers as they shall be.
    const int64_t places = sorted->elements.sizes().back();
    if (numbered && (at_places || places < 4 * count))
      sorted->number = b.Cast(*sorted->number, Dtype::kInt64);
    if (at_places) SelectPlaces(b, line, *sorted, descending);
    sorted->elements = first(sorted->elements);
    if (numbered) sorted->number = b.Cast(first(*sorted->number), Dtype::kInt64);
    return sorted;
  }
  const auto places = OrderByRanks(b, line, count, descending);
  if (!places) return std::nullopt;
  const Value number = first(*places);
  std::vector<Value> at = b.Indices(number.sizes());
  at[dim] = number;
  return Sorted{b.Load("sorted", x, at), b.Cast(number, Dtype::kInt64)};
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
  const int64_t length = x.sizes()[dim], count = node.results[0].sizes[dim];
  const bool argsort = op == "argsort", numbered = argsort || b.IsOutput(1) || !b.ReadersOf(1).empty(),
             at_places = op == "sort" && length >= kShortestSelected && length <= kHeldLine &&
                         ReadsSinglePlaces(b, node, dim);
  const auto sorted = SortAlong(b, x, dim, count, descending, numbered, at_places);
  if (!sorted) return false;
  std::vector<Value> results;
  if (!argsort) results.push_back(sorted->elements);
  if (sorted->number) results.push_back(*sorted->number);
  b.Return(std::move(results));
  return true;
}

}  // namespace tritogen::teach
