#include "teach/tile_reductions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/rounding.h"
#include "teach/joins.h"
#include "teach/product_tiles.h"
#include "teach/row_sums.h"

namespace tritogen::teach {
namespace {

// A value of a product's elements that is reduced: (rows, columns), or across memory (rows, columns, inner).
struct ProductLines {
  int64_t rows = 1, columns = 1, inner = 1;
};

std::optional<ProductLines> LinesOf(const Prim& reduce) {
  ProductLines lines;
  bool behind = false;
  for (const Segment& segment : ReduceDomain(reduce)) {
    if (segment.axis == AxisKind::kColumn) {
      if (behind) return std::nullopt;
      behind = true;
      lines.columns = segment.size;
    } else {
      (behind ? lines.inner : lines.rows) *= segment.size;
    }
  }
  return lines;
}

// The prims that an operation has become where they are no more than a maximum, exponentials relative to it,
// their sum and its logarithm, of one value.
struct LogSumExp {
  PrimId maximum, shift = -1, shifted = -1, exponentials = -1, sum = -1, logarithm = -1, result = -1;
};

class TileReducer {
 public:
  TileReducer(const Graph& graph, const std::vector<Group>& groups, const KernelOptions& options)
      : graph_(graph), readers_(ReadersOf(graph)) {
    for (const Group& group : groups) {
      if (group.kind != GroupKind::kMatmul || graph[group.members[0]].kind != PrimKind::kMatmul) continue;
      const ProductTiles t = ChooseTiles(graph, group, options);
      for (PrimId id : group.stores) {
        if (group.turned.contains(id)) continue;
        for (const Group& reader : groups) {
          if (&reader != &group) PlanFor(reader, id, {t.batch, t.m, t.n, t.block_m, t.block_n});
        }
      }
    }
  }

  std::optional<Graph> Run() {
    if (replaced_.empty()) return std::nullopt;
    const auto replaced = [this](PrimId id) -> std::optional<PrimId> {
      const auto found = replaced_.find(id);
      return found == replaced_.end() ? std::nullopt : std::optional(Reduced(id, found->second));
    };
    out_.CopyReplacing(graph_, replaced, &moved_);
    return std::move(out_);
  }

 private:
  // What takes the place of a prim: a reduction in tiles of `of`, in lines `lines`, whose values are joined.
  struct Replacement {
    PrimId of;
    TiledProduct tile;
    ProductLines lines;
    bool along_m;
    ReduceOp op;
    std::optional<LogSumExp> parts;
  };

  // Where all of a kernel that reads the value reduces it along whole rows or columns of the product: then
  // that kernel need not read it.
  void PlanFor(const Group& group, PrimId id, const TiledProduct& tile) {
    std::vector<std::pair<PrimId, Replacement>> all;
    std::vector<PrimId> covered;
    for (PrimId reader : readers_[id]) {
      if (!group.per_row.contains(reader) || std::ranges::count(covered, reader) > 0) continue;
      if (const auto parts = LogSumExpOf(id, reader, &covered)) {
        if (!Put(id, tile, parts->result, graph_[parts->maximum], ReduceOp::kLogSumExp, parts, &all)) return;
        continue;
      }
      const Prim& reduce = graph_[reader];
      if (IsPlace(reader, id) && Put(id, tile, reader, reduce, reduce.reduce, {}, &all)) continue;
      if (!IsPlainReduction(reader, id)) return;
      if (Put(id, tile, reader, reduce, reduce.reduce, {}, &all)) continue;
      if (!PutInTwoSteps(id, tile, reader, &all)) return;
    }
    for (auto& [at, replacement] : all) replaced_[at] = std::move(replacement);
  }

  bool IsPlainReduction(PrimId reduce, PrimId of) const {
    const Prim& prim = graph_[reduce];
    const bool known = prim.reduce != ReduceOp::kProd && !LooksForPlace(prim.reduce);
    return prim.kind == PrimKind::kReduce && known && IsFloating(prim.dtype) &&
           ReadAlike(prim.operands[0], graph_.Whole(of));
  }

  bool IsPlace(PrimId reduce, PrimId of) const {
    const Prim& prim = graph_[reduce];
    return prim.kind == PrimKind::kReduce && LooksForPlace(prim.reduce) && IsFloating(prim.compute[0]) &&
           ReadAlike(prim.operands[0], graph_.Whole(of));
  }

  static bool LooksForPlace(ReduceOp op) { return op == ReduceOp::kArgMax || op == ReduceOp::kArgMin; }

  bool Put(PrimId of, const TiledProduct& tile, PrimId at, const Prim& reduce, ReduceOp op,
           const std::optional<LogSumExp>& parts, std::vector<std::pair<PrimId, Replacement>>* all) const {
    const auto lines = LinesOf(reduce);
    if (!lines) return false;
    return Put(Replacement{of, tile, *lines, false, op, parts}, at, all);
  }

  bool Put(Replacement replacement, PrimId at, std::vector<std::pair<PrimId, Replacement>>* all) const {
    const auto& [rows, columns, inner] = replacement.lines;
    const TiledProduct& tile = replacement.tile;
    if (rows * columns * inner != tile.batch * tile.m * tile.n) return false;
    const bool along_n = inner == 1 && columns % tile.n == 0 && columns > 1;
    replacement.along_m = inner == tile.n && columns == tile.m && !along_n;
    if (!along_n && !replacement.along_m) return false;
    // A place in a row of the product, or in a column, is one in the line.
    if (LooksForPlace(replacement.op) && along_n && columns != tile.n) return false;
    all->push_back({at, std::move(replacement)});
    return true;
  }

  // A sum of everything is made of sums of pieces.
  bool PutInTwoSteps(PrimId of, const TiledProduct& tile, PrimId first,
                     std::vector<std::pair<PrimId, Replacement>>* all) const {
    if (readers_[first].size() != 1 || IsOutput(graph_, first)) return false;
    const PrimId second = readers_[first][0];
    if (!IsPlainReduction(second, first) || graph_[second].reduce != graph_[first].reduce) return false;
    const auto pieces = LinesOf(graph_[first]), joined = LinesOf(graph_[second]);
    if (!pieces || !joined || pieces->inner > 1 || joined->inner > 1) return false;
    const ProductLines lines{joined->rows, joined->columns * pieces->columns, 1};
    return Put(Replacement{of, tile, lines, false, graph_[first].reduce, {}}, second, all);
  }

  // That `reader`, a maximum of the value, belongs to; the prims that read the value for it are `covered`.
  std::optional<LogSumExp> LogSumExpOf(PrimId id, PrimId reader, std::vector<PrimId>* covered) const {
    const Prim& maximum = graph_[reader];
    if (maximum.kind != PrimKind::kReduce || maximum.reduce != ReduceOp::kLargest ||
        maximum.origin != "logsumexp" || !ReadAlike(maximum.operands[0], graph_.Whole(id)))
      return std::nullopt;
    LogSumExp parts{.maximum = reader};
    parts.shift = OnlyReader(reader);
    // What subtracts it and what adds it to the logarithm.
    if (parts.shift < 0 || readers_[parts.shift].size() != 2 || IsOutput(graph_, parts.shift))
      return std::nullopt;
    parts.shifted = readers_[parts.shift][0], parts.result = readers_[parts.shift][1];
    if (std::ranges::count(readers_[id], parts.shifted) != 1) return std::nullopt;
    parts.exponentials = OnlyReader(parts.shifted);
    parts.sum = OnlyReader(parts.exponentials);
    parts.logarithm = OnlyReader(parts.sum);
    if (parts.logarithm < 0 || OnlyReader(parts.logarithm) != parts.result ||
        graph_[parts.sum].kind != PrimKind::kReduce || graph_[parts.sum].reduce != ReduceOp::kSum ||
        ReduceDomain(graph_[parts.sum]) != ReduceDomain(maximum))
      return std::nullopt;
    for (PrimId part :
         {parts.shift, parts.shifted, parts.exponentials, parts.sum, parts.logarithm, parts.result}) {
      if (graph_[part].origin != maximum.origin || graph_[part].line != maximum.line) return std::nullopt;
    }
    covered->push_back(parts.shifted);
    return parts;
  }

  PrimId OnlyReader(PrimId id) const {
    return id >= 0 && readers_[id].size() == 1 && !IsOutput(graph_, id) ? readers_[id][0] : -1;
  }

  PrimId Reduced(PrimId id, const Replacement& r) {
    if (LooksForPlace(r.op)) return PlaceOf(id, r);
    const Prim& reduce = graph_[r.parts ? r.parts->maximum : id];
    Prim in_tile = InTile(reduce, r);
    if (r.op == ReduceOp::kLogSumExp) in_tile.name = "logsumexp";
    return JoinedOrWhole(id, std::move(in_tile), r, [&](PrimId made, int64_t columns) {
      return r.parts ? JoinedLogSumExp(*r.parts, made, r.lines, columns) : Joined(id, made, r.lines, columns);
    });
  }

  Prim InTile(const Prim& reduce, const Replacement& r) const {
    Prim in_tile = TileReduction(reduce, r.tile, r.along_m);
    in_tile.operands = {ContiguousView(moved_[r.of], in_tile.space)};
    in_tile.compute = reduce.compute;
    in_tile.reduce = r.op;
    return in_tile;
  }

  static int64_t ColumnsOf(const Replacement& r) {
    const TiledProduct& t = r.tile;
    return r.along_m ? CeilDiv(t.m, t.block_m) : r.lines.columns / t.n * CeilDiv(t.n, t.block_n);
  }

  // Where one tile has the whole line, what it makes is the result.
  PrimId JoinedOrWhole(PrimId id, Prim in_tile, const Replacement& r, const auto& join) {
    const int64_t columns = ColumnsOf(r);
    if (columns > 1) return join(out_.Add(std::move(in_tile)), columns);
    in_tile.dtype = graph_[id].dtype;
    in_tile.sizes = graph_[id].sizes;
    in_tile.shape = graph_[id].shape;
    in_tile.result = graph_[id].result;
    return out_.Add(std::move(in_tile));
  }

  // The place that the tile with the line's largest value, or smallest, has found.
  PrimId PlaceOf(PrimId id, const Replacement& r) {
    const Prim& reduce = graph_[id];
    Prim place = InTile(reduce, r);
    place.name = "place";
    return JoinedOrWhole(id, std::move(place), r, [&](PrimId made, int64_t columns) {
      Prim value = InTile(reduce, r);
      const bool largest = r.op == ReduceOp::kArgMax;
      value.name = largest ? "maximum" : "minimum";
      value.reduce = largest ? ReduceOp::kLargest : ReduceOp::kSmallest;
      value.dtype = value.held = reduce.compute[0];
      const PrimId values = out_.Add(std::move(value));
      Prim tile = reduce;
      tile.name = "tile";
      tile.result.clear();
      tile.operands = {LinesIn(values, r.lines, columns)};
      tile.space = {r.lines.rows, columns, r.lines.inner};
      tile.reduced = {false, true, false};
      return PlaceInTile(reduce, made, out_.Add(std::move(tile)), columns, r.lines.inner);
    });
  }

  // Element (row, tile, inner) of the places.
  PrimId PlaceInTile(const Prim& reduce, PrimId places, PrimId tile, int64_t tiles, int64_t inner) {
    Prim load;
    load.kind = PrimKind::kLoad;
    load.name = reduce.name;
    load.result = reduce.result;
    load.origin = reduce.origin;
    load.line = reduce.line;
    load.dtype = load.held = reduce.dtype;
    load.sizes = reduce.sizes;
    load.shape = reduce.shape;
    load.operands = {out_.Whole(places), ContiguousView(kElementNumber, reduce.sizes), out_.Whole(tile)};
    const bool wide = Product(out_[places].sizes) >= kNarrowLimit;
    load.compute = {reduce.dtype, wide ? Dtype::kInt64 : Dtype::kInt32, reduce.dtype};
    load.expr = inner == 1 ? fmt::format("{{1}} * {} + {{2}}", tiles)
                           : fmt::format("({{1}} // {1} * {0} + {{2}}) * {1} + {{1}} % {1}", tiles, inner);
    return out_.Add(std::move(load));
  }

  static View LinesIn(PrimId made, const ProductLines& lines, int64_t columns) {
    return ContiguousView(made, {lines.rows, columns, lines.inner});
  }

  // The reduction, of tiles' values instead of elements.
  PrimId Joined(PrimId id, PrimId made, const ProductLines& lines, int64_t columns) {
    Prim prim = graph_[id];
    prim.operands = {LinesIn(made, lines, columns)};
    prim.compute = {prim.held};
    prim.space = {lines.rows, columns, lines.inner};
    prim.reduced = {false, true, false};
    return out_.Add(std::move(prim));
  }

  // The same work, of tiles' values instead of elements.
  PrimId JoinedLogSumExp(const LogSumExp& parts, PrimId made, const ProductLines& lines, int64_t columns) {
    const View all = LinesIn(made, lines, columns);
    std::map<PrimId, PrimId> of;
    of[parts.maximum] = Joined(parts.maximum, made, lines, columns);
    const auto add = [&](PrimId id, bool of_lines) {
      Prim prim = graph_[id];
      if (!of_lines) prim.sizes = all.sizes, prim.shape.clear();
      for (View& view : prim.operands) {
        const auto found = of.find(view.prim);
        const bool own = found != of.end();
        if (!of_lines) {
          view = all;  // a line's number for each of its values
          if (own && id == parts.shifted) view.strides = {lines.inner, 0, 1};
        }
        if (own) view.prim = found->second;
      }
      of[id] = out_.Add(std::move(prim));
    };
    add(parts.shift, true);
    add(parts.shifted, false);
    add(parts.exponentials, false);
    of[parts.sum] = Joined(parts.sum, of[parts.exponentials], lines, columns);
    add(parts.logarithm, true);
    add(parts.result, true);
    return of[parts.result];
  }

  const Graph& graph_;
  const Readers readers_;
  std::map<PrimId, Replacement> replaced_;
  Graph out_;
  std::vector<PrimId> moved_;  // by prim of `graph_`
};

// Whether each reduction is made by its product or rows, in the tiles that were planned.
bool AreInTheirTiles(const Graph& graph, const std::vector<Group>& groups, const KernelOptions& options) {
  for (const Group& group : groups) {
    for (PrimId member : group.members) {
      const Prim& prim = graph[member];
      if (prim.kind != PrimKind::kTileReduce) continue;
      if (group.kind == GroupKind::kRows && SummedRows(graph, group, options) == prim.piece) continue;
      if (group.kind != GroupKind::kMatmul) return false;
      const ProductTiles t = ChooseTiles(graph, group, options);
      if ((prim.reduced[1] ? t.block_m : t.block_n) != prim.piece) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<Partitioned> ReduceInTiles(const Graph& graph, const std::vector<Group>& groups,
                                         const KernelOptions& options, bool turns) {
  auto reduced = TileReducer(graph, groups, options).Run();
  return reduced ? InTheirTiles(*std::move(reduced), graph, groups, options, turns) : std::nullopt;
}

Prim TileReduction(const Prim& reduce, const TiledProduct& tile, bool along_m) {
  const int64_t pieces = along_m ? CeilDiv(tile.m, tile.block_m) : CeilDiv(tile.n, tile.block_n);
  Prim prim;
  prim.kind = PrimKind::kTileReduce;
  prim.name = reduce.name;
  prim.origin = reduce.origin;
  prim.line = reduce.line;
  prim.dtype = prim.held = reduce.held;
  prim.reduce = reduce.reduce;
  prim.space = {tile.batch, tile.m, tile.n};
  prim.reduced = {false, along_m, !along_m};
  prim.piece = along_m ? tile.block_m : tile.block_n;
  prim.flops = reduce.flops;
  prim.sizes = along_m ? std::vector{tile.batch, pieces, tile.n} : std::vector{tile.batch, tile.m, pieces};
  return prim;
}

std::optional<Partitioned> InTheirTiles(Graph reduced, const Graph& graph, const std::vector<Group>& groups,
                                        const KernelOptions& options, bool turns, int64_t read_less) {
  Partitioned result{std::move(reduced), {}};
  result.groups = Partition(result.graph, turns);
  if (!AreInTheirTiles(result.graph, result.groups, options) ||
      BytesMoved(result.graph, result.groups) >= BytesMoved(graph, groups) + read_less)
    return std::nullopt;
  return result;
}

bool HasTileReductions(const Graph& graph, const Group& group) {
  return std::ranges::any_of(group.members,
                             [&](PrimId id) { return graph[id].kind == PrimKind::kTileReduce; });
}

}  // namespace tritogen::teach
