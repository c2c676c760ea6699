#include "teach/row_sums.h"

#include <algorithm>
#include <map>

#include "base/rounding.h"
#include "teach/joins.h"
#include "teach/row_tiles.h"
#include "teach/tile_reductions.h"
#include "teach/windows.h"

namespace tritogen::teach {
namespace {

// Programs' sums that one program joins.
constexpr int64_t kMostJoined = 16384;

// A sum over the last dimensions: of so many lines, of so many elements each.
struct Sum {
  int64_t lines = 1, length = 1;
};

class RowSummer {
 public:
  RowSummer(const Graph& graph, const std::vector<Group>& groups, const KernelOptions& options)
      : graph_(graph), readers_(ReadersOf(graph)) {
    for (const Group& group : groups) {
      if (group.kind != GroupKind::kRows) continue;
      const auto rows = SummedRows(graph, group, options);
      for (PrimId id : group.stores) {
        if (!rows || !group.per_row.at(id) || graph[id].kind == PrimKind::kTileReduce) continue;
        for (PrimId reader : readers_[id]) PlanFor(id, reader, *rows);
      }
    }
  }

  std::optional<Graph> Run() {
    if (replaced_.empty()) return std::nullopt;
    const auto replaced = [this](PrimId id) -> std::optional<PrimId> {
      const auto found = replaced_.find(id);
      return found == replaced_.end() ? std::nullopt : std::optional(Joined(graph_[id], found->second));
    };
    out_.CopyReplacing(graph_, replaced, &moved_);
    return std::move(out_);
  }

 private:
  // What takes the place of a sum: one of programs' sums of `of`.
  struct Replacement {
    PrimId of;
    int64_t rows;  // of a program
    Sum sum;       // of rows
  };

  void PlanFor(PrimId id, PrimId reader, int64_t rows) {
    const auto first = SumOf(reader, id);
    if (!first) return;
    const PrimId next = readers_[reader].size() == 1 && !IsOutput(graph_, reader) ? readers_[reader][0] : -1;
    // A sum of everything that is made of sums of pieces.
    const auto second = next < 0 ? std::nullopt : SumOf(next, reader);
    if (second && Put(next, {id, rows, {second->lines, second->length * first->length}})) return;
    Put(reader, {id, rows, *first});
  }

  bool Put(PrimId at, const Replacement& replacement) {
    const auto& [of, rows, sum] = replacement;
    // A program's rows are of one line.
    const bool fits = sum.lines == 1 || sum.length % rows == 0;
    if (!fits || sum.length <= rows || CeilDiv(sum.length, rows) > kMostJoined) return false;
    replaced_.emplace(at, replacement);
    return true;
  }

  std::optional<Sum> SumOf(PrimId id, PrimId of) const {
    const Prim& prim = graph_[id];
    if (prim.kind != PrimKind::kReduce || prim.reduce != ReduceOp::kSum || !IsFloating(prim.held) ||
        prim.spread || !ReadAlike(prim.operands[0], graph_.Whole(of)))
      return std::nullopt;
    Sum sum;
    for (const Segment& segment : ReduceDomain(prim)) {
      if (segment.axis == AxisKind::kRow && sum.length > 1) return std::nullopt;
      (segment.axis == AxisKind::kRow ? sum.lines : sum.length) *= segment.size;
    }
    return sum;
  }

  PrimId Joined(const Prim& sum, const Replacement& r) {
    const int64_t rows = r.sum.lines * r.sum.length, programs = CeilDiv(rows, r.rows);
    Prim part;
    part.kind = PrimKind::kTileReduce;
    part.name = "part";
    part.origin = sum.origin;
    part.line = sum.line;
    part.dtype = part.held = sum.held;
    part.reduce = ReduceOp::kSum;
    part.space = {1, rows, 1};
    part.reduced = {false, true, false};
    part.piece = r.rows;
    part.flops = sum.flops;
    if (r.sum.lines > 1) part.sizes.push_back(r.sum.lines);
    part.sizes.push_back(programs / r.sum.lines);
    part.operands = {ContiguousView(moved_[r.of], part.space)};
    part.compute = {sum.held};
    Prim joined = sum;
    joined.space = {r.sum.lines, programs / r.sum.lines};
    joined.reduced = {false, true};
    joined.operands = {ContiguousView(out_.Add(std::move(part)), joined.space)};
    joined.compute = {sum.held};
    return out_.Add(std::move(joined));
  }

  const Graph& graph_;
  const Readers readers_;
  std::map<PrimId, Replacement> replaced_;
  Graph out_;
  std::vector<PrimId> moved_;  // by prim of `graph_`
};

}  // namespace

std::optional<int64_t> SummedRows(const Graph& graph, const Group& group, const KernelOptions& options) {
  if (!group.turned.empty() || AreWindows(graph, group) || WindowLines(graph, group)) return std::nullopt;
  const RowTiles tiles = ChooseRowTiles(graph, group, options);
  return tiles.several_rows ? std::optional(tiles.row_tile) : std::nullopt;
}

std::optional<Partitioned> SumInRows(const Graph& graph, const std::vector<Group>& groups,
                                     const KernelOptions& options, bool turns) {
  auto summed = RowSummer(graph, groups, options).Run();
  return summed ? InTheirTiles(*std::move(summed), graph, groups, options, turns) : std::nullopt;
}

}  // namespace tritogen::teach
