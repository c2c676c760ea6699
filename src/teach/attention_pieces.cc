// Attention of few queries: too few programs for a GPU, so that each walks along a piece of the keys and the
// pieces are joined (Dao et al. 2023, Flash-Decoding).
#include <fmt/format.h>

#include <algorithm>

#include "base/rounding.h"
#include "teach/attention.h"
#include "teach/kernel.h"
#include "teach/lowering.h"

namespace tritogen::teach {
namespace {

// Fewer keys are there before another kernel has been launched.
constexpr int64_t kManyKeys = 1024, kShortestPiece = 256;
constexpr int64_t kBlockOfKeys = 128;  // a multiple of each kernel's
// So many queries have as much to join as there is to read of keys and values.
constexpr int64_t kKeysToAQuery = 8;

// As few as give about kManyPrograms; 1: it is not cut.
int64_t PiecesOf(const Prim& attention) {
  const int64_t keys = attention.inner;
  const int64_t queries = attention.RowsOfBatch();
  if (attention.plain || keys < kManyKeys || keys < kKeysToAQuery * queries) return 1;
  const int64_t programs = attention.Batches() * CeilDiv(queries, Fit(64, queries));
  const int64_t wanted =
      std::clamp<int64_t>((kManyPrograms + programs / 2) / programs, 1, keys / kShortestPiece);
  return CeilDiv(keys, RoundUp(CeilDiv(keys, wanted), kBlockOfKeys));
}

}  // namespace

int64_t KeysOfPiece(const Prim& attention) {
  return RoundUp(CeilDiv(attention.inner, attention.pieces), kBlockOfKeys);
}

// All steps have an element for each of the values, so that they are one kernel.
View Builder::JoinPieces(const Prim& attention, PrimId id) {
  const int64_t n = attention.sizes.back(), rows = Product(attention.sizes) / n, pieces = graph[id].pieces;
  const std::vector<int64_t> sizes = {rows, pieces, n};
  const auto of_pieces = [&](int64_t offset) {
    return Value{{id, offset, sizes, {pieces, 1, 0}, {}}, Dtype::kFloat32};
  };
  const auto step = [&](const char* name, const char* expr, const std::vector<Value>& in) {
    return Pointwise(name, expr, in, Dtype::kFloat32, 1);
  };
  const Value values{ContiguousView(id, sizes), Dtype::kFloat32}, maxima = of_pieces(rows * pieces * n),
                                                                  totals = of_pieces(rows * pieces * (n + 1));
  const Value largest = Reduce(ReduceOp::kLargest, maxima, {1}, true);
  // A piece without any key that counts has no maximum to take off.
  const Value share =
      step("share", "tl.exp2({0} - tl.where({1} == float(\"-inf\"), 0.0, {1}))", {maxima, largest});
  const Value total = Reduce(ReduceOp::kSum, step("mul", "{0} * {1}", {totals, share}), {1}, false),
              sum = Reduce(ReduceOp::kSum, step("mul", "{0} * {1}", {values, share}), {1}, false);
  const std::string divided = attention.other.empty()
                                  ? "{0} / {1}"
                                  : fmt::format("tl.where({{1}} == 0.0, {}, {{0}} / {{1}})", attention.other);
  const Value joined = step("div", divided.c_str(), {sum, total});
  Prim& result = graph.prims[joined.view.prim];
  result.dtype = attention.dtype;
  result.result = attention.result;
  result.shape = attention.Shape();
  result.once = attention.once;
  return joined.view;
}

void Builder::CutAttention() {
  const auto cut = [](const Prim& prim) { return prim.kind == PrimKind::kAttention && PiecesOf(prim) > 1; };
  if (std::none_of(graph.prims.begin(), graph.prims.end(), cut)) return;
  Graph whole = std::move(graph);
  graph = {};
  std::vector<PrimId> moved;
  for (Prim& prim : whole.prims) {
    prim.Rename(moved);
    if (!cut(prim)) {
      moved.push_back(graph.Add(std::move(prim)));
      continue;
    }
    Prim pieces = prim;
    pieces.name = "pieces";
    pieces.result.clear();
    pieces.other.clear();
    pieces.shape.clear();
    pieces.pieces = PiecesOf(prim);
    pieces.space = prim.sizes;
    pieces.sizes = {Product(prim.sizes) / prim.sizes.back() * pieces.pieces * (prim.sizes.back() + 2)};
    pieces.dtype = pieces.held = Dtype::kFloat32;
    origin = prim.origin;
    const PrimId id = graph.Add(std::move(pieces));
    moved.push_back(JoinPieces(prim, id).prim);
    for (size_t i = id; i < graph.prims.size(); ++i) graph.prims[i].line = prim.line;
  }
  graph.outputs = std::move(whole.outputs);
  graph.writes = std::move(whole.writes);
  graph.updates = std::move(whole.updates);
  graph.Rename(moved);
}

}  // namespace tritogen::teach
