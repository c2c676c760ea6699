// Builder: single places and first ones of lines in order, and who reads what.
#include <algorithm>

#include "base/error.h"
#include "teach/lowering.h"

namespace tritogen::teach {
namespace {

// Work on whole lines, the last dimension.
Prim LineWork(PrimKind kind, const Value& lines, std::string name, Dtype dtype, int64_t rank) {
  TRITOGEN_CHECK(lines.dtype == Dtype::kInt32 && lines.sizes().back() <= kHeldLine);
  Prim prim;
  prim.kind = kind;
  prim.name = std::move(name);
  prim.dtype = prim.held = dtype;
  prim.sizes.assign(lines.sizes().begin(), lines.sizes().end() - 1);
  prim.operands = {lines.view};
  prim.compute = {Dtype::kInt32};
  prim.reduce = ReduceOp::kOfRank;
  prim.rank = rank;
  prim.space = lines.sizes();
  prim.reduced.assign(lines.sizes().size(), false);
  prim.reduced.back() = true;
  prim.flops = 32;
  return prim;
}

}  // namespace

Value Builder::ElementOfRank(const Value& lines, int64_t rank) {
  if (rank == 0) return Reduce(ReduceOp::kMin, lines, {-1}, false);
  if (rank == lines.sizes().back() - 1) return Reduce(ReduceOp::kMax, lines, {-1}, false);
  Prim prim = LineWork(PrimKind::kReduce, lines, "selected", Dtype::kInt32, rank);
  prim.origin = origin;
  return {graph.Whole(graph.Add(std::move(prim))), Dtype::kInt32};
}

Value Builder::Candidates(const Value& lines, const Value& entries, int64_t count, int64_t room) {
  TRITOGEN_CHECK(entries.sizes() == lines.sizes() && count < room && room <= lines.sizes().back());
  Prim prim = LineWork(PrimKind::kCandidates, lines, "candidates", entries.dtype, count);
  prim.origin = origin;
  prim.sizes.push_back(room);
  prim.operands.push_back(entries.view);
  prim.compute.push_back(entries.dtype);
  return {graph.Whole(graph.Add(std::move(prim))), entries.dtype};
}

std::optional<Value> Builder::AtOnePlace(const Value& value) const {
  const View& view = value.view;
  const auto lines = by_place.find(view.prim);
  if (lines == by_place.end() || !view.guards.empty()) return std::nullopt;
  const int64_t length = graph[view.prim].sizes.back();
  View moved = view;
  for (size_t d = 0; d < view.sizes.size(); ++d) {
    if (view.sizes[d] > 1 && view.strides[d] % length != 0) return std::nullopt;
    moved.strides[d] = view.sizes[d] > 1 ? view.strides[d] / length : 0;
  }
  const Value one = lines->second(view.offset % length);
  TRITOGEN_CHECK(one.view.IsContiguous() && one.dtype == value.dtype);
  moved.prim = one.view.prim;
  moved.offset = one.view.offset + view.offset / length;
  return Value{moved, value.dtype};
}

std::vector<const Node*> Builder::ReadersOf(int result) const {
  std::vector<const Node*> readers;
  for (const Node& reader : program_->nodes) {
    if (std::ranges::count(TensorArguments(reader), NodeRef{node, result}) > 0) readers.push_back(&reader);
  }
  return readers;
}

bool Builder::IsOutput(int result) const {
  return std::ranges::count(program_->outputs, NodeRef{node, result}) > 0;
}

}  // namespace tritogen::teach
