#include "teach/tile_moments.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/rounding.h"
#include "teach/product_tiles.h"
#include "teach/row_tiles.h"
#include "teach/tile_reductions.h"

namespace tritogen::teach {
namespace {

constexpr int64_t kMostPieces = int64_t{1} << 17;  // of a line, which one program joins
// Of a value that a kernel walks along for each moment and to normalise it. What it reads twice more, largely
// from a cache, is as much as another launch.
constexpr int64_t kWorthALaunch = int64_t{1} << 21;

// What the tiles make for the lines of a value.
struct LinesInTiles {
  PrimId of;      // the value
  View in_order;  // it in the order of the product's elements
  TiledProduct tile;
  bool along_m = false;  // what a tile reduces
  bool by_line = false;  // how the tiles' numbers lie: Prim::by_line
  // Of the tiles' numbers, the last one for those of the same rows or columns.
  std::vector<int64_t> space;
  std::vector<bool> reduced;
  int64_t size() const { return along_m ? tile.m : tile.n; }
  int64_t piece() const { return along_m ? tile.block_m : tile.block_n; }
};

class MomentPlacer {
 public:
  MomentPlacer(const Graph& graph, const std::vector<Group>& groups, const KernelOptions& options)
      : graph_(graph), groups_(groups), options_(options) {
    for (PrimId id = 0; id < static_cast<PrimId>(graph.prims.size()); ++id) {
      if (!graph[id].spread) continue;
      const PrimId total = graph[id].spread->total;
      const auto lines = LinesOf(*graph[id].spread);
      if (lines && Pays(total, lines->of)) spreads_[id] = totals_[total] = *lines;
    }
  }

  std::optional<Graph> Run() {
    if (spreads_.empty()) return std::nullopt;
    const auto replaced = [this](PrimId id) -> std::optional<PrimId> {
      if (const auto total = totals_.find(id); total != totals_.end()) return Total(id, total->second);
      if (const auto spread = spreads_.find(id); spread != spreads_.end()) return Spread(id, spread->second);
      return std::nullopt;
    };
    out_.CopyReplacing(graph_, replaced, &moved_);
    return std::move(out_);
  }

  // Bytes that are read less, although as many kernels read.
  int64_t saved() const { return saved_; }

 private:
  // The value that a sum is of, all of whose steps are sums.
  PrimId SummedBy(PrimId total, int64_t elements) const {
    PrimId id = total;
    while (Product(graph_[id].sizes) != elements) {
      const Prim& sum = graph_[id];
      if (sum.kind != PrimKind::kReduce || sum.reduce != ReduceOp::kSum) return -1;
      const View& of = sum.operands[0];
      if (of.prim < 0 || !ReadAlike(of, graph_.Whole(of.prim))) return -1;
      id = of.prim;
    }
    return id;
  }

  // Nothing where no product makes the value, in tiles of which each has rows or columns of its own lines.
  std::optional<LinesInTiles> LinesOf(const Prim::Spread& spread) const {
    const auto& [total, outer, lines, inner] = spread;
    const PrimId of = SummedBy(total, outer * lines * inner);
    const auto group = std::ranges::find_if(groups_, [&](const Group& each) {
      return each.kind == GroupKind::kMatmul && std::ranges::count(each.stores, of) > 0;
    });
    if (of < 0 || group == groups_.end() || graph_[group->members[0]].kind != PrimKind::kMatmul)
      return std::nullopt;
    const ProductTiles t = ChooseTiles(graph_, *group, options_);
    if (t.batch * t.m * t.n != outer * lines * inner) return std::nullopt;
    LinesInTiles made{of, group->InOrder(of, graph_.Whole(of)), {t.batch, t.m, t.n, t.block_m, t.block_n}};
    const auto turn = group->turned.find(of);
    if (turn != group->turned.end() && !IsTurnedWithin(turn->second, outer * lines)) return std::nullopt;
    if (inner > 1 && inner % t.n == 0) {
      const int64_t rows = inner / t.n, tiles = CeilDiv(t.n, t.block_n);
      made.by_line = outer == t.batch && outer > 1;
      made.space =
          made.by_line ? std::vector{lines, rows, outer, tiles} : std::vector{outer, lines, rows, tiles};
    } else if (lines * inner == t.n && turn == group->turned.end()) {
      made.along_m = made.by_line = true;
      made.space = {lines, inner, t.batch, CeilDiv(t.m, t.block_m)};
    } else {
      return std::nullopt;
    }
    made.reduced = {!made.by_line, made.by_line, true, true};
    const int64_t pieces = Product(made.space) / lines;
    if (pieces == 1 || pieces > kMostPieces) return std::nullopt;
    return made;
  }

  // Whether elements change places only within stretches of memory, so many of which there are.
  static bool IsTurnedWithin(const Turn& turn, int64_t stretches) {
    int64_t before = 1;
    size_t i = 0;
    while (i < turn.sizes.size() && before < stretches && turn.order[i] == static_cast<int64_t>(i))
      before *= turn.sizes[i++];
    return before == stretches;
  }

  // Where several kernels read the value for its moments, or one walks along lines that it cannot hold.
  bool Pays(PrimId total, PrimId of) {
    if (graph_[total].operands[0].prim != of) return true;
    const auto group =
        std::ranges::find_if(groups_, [&](const Group& each) { return each.per_row.contains(total); });
    const int64_t elements = Product(graph_[of].sizes);
    if (group == groups_.end() || group->kind != GroupKind::kRows || elements < kWorthALaunch ||
        !ChooseRowTiles(graph_, *group, options_).loop)
      return false;
    saved_ += 2 * elements * static_cast<int64_t>(DtypeSize(graph_[of].dtype));
    return true;
  }

  PrimId InTile(const Prim& reduce, const char* name, const LinesInTiles& lines, std::vector<View> operands) {
    Prim prim = TileReduction(reduce, lines.tile, lines.along_m);
    prim.name = name;
    prim.compute.assign(operands.size(), reduce.held);
    prim.operands = std::move(operands);
    prim.by_line = lines.by_line;
    const int64_t all = lines.along_m ? lines.tile.n : lines.tile.m;
    if (lines.by_line) prim.sizes = {all, lines.tile.batch, lines.space.back()};
    return out_.Add(std::move(prim));
  }

  View InProduct(const LinesInTiles& lines) const {
    View view = lines.in_order;
    view.prim = moved_[lines.of];
    return view;
  }

  PrimId Total(PrimId id, const LinesInTiles& lines) {
    return Joined(id, InTile(graph_[id], "total", lines, {InProduct(lines)}), lines);
  }

  // The reduction, of tiles' values instead of elements.
  PrimId Joined(PrimId id, PrimId made, const LinesInTiles& lines) {
    Prim prim = graph_[id];
    prim.operands = {ContiguousView(made, lines.space)};
    prim.compute = {prim.held};
    prim.space = lines.space;
    prim.reduced = lines.reduced;
    prim.spread.reset();
    return out_.Add(std::move(prim));
  }

  // Of the whole line: the tiles' own, and how far their means are from the line's for each of their
  // elements.
  PrimId Spread(PrimId id, const LinesInTiles& lines) {
    const Prim& reduce = graph_[id];
    const PrimId total = moved_[reduce.spread->total];
    const View of_tiles = out_[total].operands[0], mean = ForTiles(MeanOf(total, reduce, lines), lines);
    const View own = ContiguousView(
        InTile(reduce, "spread", lines, {InProduct(lines), out_.Whole(of_tiles.prim)}), lines.space);
    const bool even = lines.size() % lines.piece() == 0;
    const View count = even ? View{} : CountOf(reduce, lines);
    const std::string number = even ? fmt::format("{}.0", lines.piece()) : "{1}";
    const auto with_count = [&](const View& view) {
      return even ? std::vector{view} : std::vector{view, count};
    };
    const View middle = Pointwise(reduce, "middle", "{0} / " + number, with_count(of_tiles), lines);
    const View apart = Pointwise(reduce, "sub", "{0} - {1}", {middle, mean}, lines);
    const View square = Pointwise(reduce, "square", "{0} * {0}", {apart}, lines);
    const View between = Pointwise(reduce, "mul", "{0} * " + number, with_count(square), lines);
    return Joined(id, Pointwise(reduce, "add", "{0} + {1}", {own, between}, lines).prim, lines);
  }

  // The lines' means, which are there already, as their total divided by a number.
  PrimId MeanOf(PrimId total, const Prim& reduce, const LinesInTiles& lines) {
    for (PrimId id = total; id < static_cast<PrimId>(out_.prims.size()); ++id) {
      const Prim& prim = out_[id];
      if (prim.kind == PrimKind::kPointwise && prim.operands.size() == 1 && prim.operands[0].prim == total &&
          prim.name == "mean" && prim.held == reduce.held && ReadAlike(prim.operands[0], out_.Whole(total)))
        return id;
    }
    Prim prim =
        Step(reduce, "mean",
             fmt::format("{{0}} / {}.0", Product(graph_[lines.of].sizes) / Product(out_[total].sizes)));
    prim.sizes = out_[total].sizes;
    prim.operands = {out_.Whole(total)};
    prim.compute = {reduce.held};
    return out_.Add(std::move(prim));
  }

  // A number for each line, for each of its tiles.
  static View ForTiles(PrimId of_lines, const LinesInTiles& lines) {
    View view{of_lines, 0, lines.space, std::vector<int64_t>(lines.space.size(), 0), {}};
    for (size_t i = 0; i < lines.space.size(); ++i) view.strides[i] = lines.reduced[i] ? 0 : 1;
    return view;
  }

  // How many rows or columns the tiles have, of which the last one is not full.
  View CountOf(const Prim& reduce, const LinesInTiles& lines) {
    View tile{kElementNumber, 0, lines.space, std::vector<int64_t>(lines.space.size(), 0), {}};
    tile.strides.back() = 1;
    Prim prim =
        Step(reduce, "count", fmt::format("tl.minimum({0} - {{0}} * {1}, {1})", lines.size(), lines.piece()));
    prim.dtype = prim.held = Dtype::kInt32;
    prim.sizes = lines.space;
    prim.operands = {tile};
    prim.compute = {Dtype::kInt32};
    return out_.Whole(out_.Add(std::move(prim)));
  }

  View Pointwise(const Prim& reduce, const char* name, const std::string& expr, std::vector<View> in,
                 const LinesInTiles& lines) {
    Prim prim = Step(reduce, name, expr);
    prim.sizes = lines.space;
    prim.compute.assign(in.size(), reduce.held);
    prim.operands = std::move(in);
    return out_.Whole(out_.Add(std::move(prim)));
  }

  static Prim Step(const Prim& reduce, const char* name, std::string expr) {
    Prim prim;
    prim.name = name;
    prim.origin = reduce.origin;
    prim.line = reduce.line;
    prim.dtype = prim.held = reduce.held;
    prim.expr = std::move(expr);
    prim.flops = 1;
    return prim;
  }

  const Graph& graph_;
  const std::vector<Group>& groups_;
  const KernelOptions& options_;
  std::map<PrimId, LinesInTiles> totals_, spreads_;  // by the prims whose places they take
  int64_t saved_ = 0;
  Graph out_;
  std::vector<PrimId> moved_;  // by prim of `graph_`
};

}  // namespace

std::optional<Partitioned> MomentsInTiles(const Graph& graph, const std::vector<Group>& groups,
                                          const KernelOptions& options, bool turns) {
  MomentPlacer placer(graph, groups, options);
  auto placed = placer.Run();
  if (!placed) return std::nullopt;
  return InTheirTiles(*std::move(placed), graph, groups, options, turns, placer.saved());
}

}  // namespace tritogen::teach
