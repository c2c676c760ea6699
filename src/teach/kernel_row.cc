// Kernels over rows and columns. Either a program holds its rows in registers and every reduction is one
// line, or it walks along them: one pass for each round of reductions that build on each other, and one to
// make scans and to store full-sized results. Windows are rows that are walked along element by element, many
// at a time.
#include <fmt/format.h>

#include <algorithm>

#include "program/triton_dtype.h"
#include "teach/count_text.h"
#include "teach/kernel.h"
#include "teach/kernel_text.h"
#include "teach/row_tiles.h"
#include "teach/sort_text.h"
#include "teach/windows.h"

namespace tritogen::teach {
namespace {

class RowWriter {
 public:
  RowWriter(const Graph& graph, const Group& group, const std::vector<std::string>& buffers,
            const RowTiles& shape, bool persistent, bool simple)
      : graph_(graph),
        group_(group),
        s_(shape),
        persistent_(persistent),
        simple_(simple),
        code_(graph, group, buffers),
        main_(persistent ? 2 : 1) {}

  void Write() {
    for (const char* used : {"row", "rows", "cols", "row_mask", "col_mask", "N_ROWS", "N_COLS", "ROWS",
                             "BLOCK", "start", "tile", "line", "LINE"}) {
      code_.Name(used);
    }
    code_.body = code_.outer = &main_;
    Header();
    if (s_.loop) {
      WriteLoops();
    } else {
      Columns(main_, "");
      for (PrimId member : group_.members) {
        if (graph_[member].kind == PrimKind::kReduce) {
          ReduceHeld(member);
        } else if (graph_[member].kind == PrimKind::kScan) {
          ScanHeld(member);
        } else if (graph_[member].kind == PrimKind::kCandidates) {
          StoreCandidates(member);
        } else if (graph_[member].kind != PrimKind::kTileReduce) {
          code_.Member(member);
        }
      }
    }
    for (PrimId member : group_.stores) {
      if (graph_[member].kind == PrimKind::kCandidates) continue;  // stored where they are found
      if (graph_[member].kind == PrimKind::kTileReduce) {
        StoreSumOfRows(member);
      } else if (!s_.loop || group_.per_row.at(member)) {
        code_.Store(member);
      }
    }
    if (s_.loop) StoreLoop();
  }

  TileCode& code() { return code_; }
  std::string text() const { return head_.text() + main_.text(); }

 private:
  void Header() {
    std::string wide = code_.wide() ? ".to(tl.int64)" : "";
    const std::string program = Program();
    if (persistent_) {
      head_.Add("# Each program takes every num_programs-th block of rows.");
      head_.Add(fmt::format("for tile in range(tl.program_id(0), {}, tl.num_programs(0)):",
                            s_.several_rows ? "tl.cdiv(N_ROWS, ROWS)" : "N_ROWS"));
    }
    if (s_.several_rows) {
      if (!persistent_) main_.Add("# Each program handles ROWS rows.");
      main_.Add(fmt::format("rows = {}{} * ROWS + tl.arange(0, ROWS)[:, None]", program, wide));
      if (s_.row_mask) main_.Add("row_mask = rows < N_ROWS");
      code_.axes[AxisKind::kRow] = {"rows", s_.row_mask ? "row_mask" : ""};
    } else {
      if (!persistent_)
        main_.Add(s_.rows == 1 ? "# One program handles everything." : "# Each program handles one row.");
      if (s_.rows > 1) main_.Add(fmt::format("row = {}{}", program, wide));
      code_.axes[AxisKind::kRow] = {"row", ""};
    }
    code_.axes[AxisKind::kColumn] = {"cols", s_.col_mask ? "col_mask" : ""};
  }

  std::string Program() const { return persistent_ ? "tile" : "tl.program_id(0)"; }

  // Of what the program makes of each of its rows.
  void StoreSumOfRows(PrimId id) {
    const Prim& prim = graph_[id];
    const View& of = prim.operands[0];
    std::string rows = code_.Read(of, true, prim.compute[0]);
    const bool one = !code_.AxesOf(of.prim).Has(AxisKind::kRow);  // number for all of them
    if (s_.row_mask || one)
      rows = fmt::format("tl.where({}, {}, 0.0)", s_.row_mask ? "row_mask" : "rows >= 0", rows);
    const std::string name = code_.NameOf(id);
    main_.Add(fmt::format("{} = tl.sum({})", name, rows));
    main_.Add(fmt::format("tl.store({} + {}, {})", code_.Pointer(id), Program(), name));
  }

  void Columns(Lines& lines, const std::string& start) {
    std::string range = "tl.arange(0, BLOCK)";
    if (s_.several_rows) range += "[None, :]";
    if (code_.wide()) range += ".to(tl.int64)";
    lines.Add("cols = " + start + range);
    if (s_.col_mask) lines.Add("col_mask = cols < N_COLS");
  }

  std::string Axis() const { return s_.several_rows ? "axis=1, keep_dims=True" : "axis=0"; }
  std::string TileShape() const { return s_.several_rows ? "(ROWS, BLOCK)" : "(BLOCK,)"; }

  // A reduction's operand as a full tile in which elements outside the row are neutral.
  std::string Operand(PrimId id) {
    const Prim& prim = graph_[id];
    const View& view = prim.operands[0];
    std::string value = code_.Read(view, false, prim.compute[0]);
    bool columns =
        (view.prim >= 0 && code_.IsBound(view.prim) ? code_.AxesOf(view.prim)
                                                    : code_.PlaceOf(view, group_.domain, false).axes)
            .Columns();
    if (s_.col_mask)
      return fmt::format("tl.where(col_mask, {}, {})", value, Neutral(prim.reduce, prim.compute[0]));
    if (!columns)
      return fmt::format("tl.where(cols >= 0, {}, {})", value, Neutral(prim.reduce, prim.compute[0]));
    return value;
  }

  std::string Reduced(const Prim& prim, const std::string& tile) const {
    if (LooksForPlace(prim))
      return fmt::format("tl.arg{}({}, {}).to(tl.int64)", prim.reduce == ReduceOp::kArgMax ? "max" : "min",
                         tile, Axis());
    if (prim.reduce == ReduceOp::kOfRank)
      return fmt::format("key_of_rank({}, {}, {}, {})", tile, prim.rank, s_.several_rows ? 1 : 0,
                         s_.several_rows ? "True" : "False");
    return ReducedText(prim.reduce, prim.compute[0], tile, s_.several_rows ? 1 : 0, s_.several_rows);
  }

  static bool LooksForPlace(const Prim& prim) {
    return prim.reduce == ReduceOp::kArgMax || prim.reduce == ReduceOp::kArgMin;
  }

  void ReduceHeld(PrimId id) {
    const Prim& prim = graph_[id];
    std::string tile = Operand(id);
    std::string name = code_.NameOf(id);
    main_.Add(fmt::format("{} = {}", name, Reduced(prim, tile)));
    code_.Bind(id, name, prim.dtype == Dtype::kInt64 ? Dtype::kInt64 : prim.held, RowAxes());
  }

  // What joins two partial results, where no sign does.
  static std::string_view JoinOf(const Prim& scan) {
    switch (scan.reduce) {
      case ReduceOp::kSum:
        return "";
      case ReduceOp::kProd:
        return IsFloating(scan.held) ? "multiply_keeping_zero" : "multiply";
      case ReduceOp::kLogSumExp:
        return "add_exponentials";
      default:
        return scan.reduce == ReduceOp::kMax ? "larger" : "smaller";
    }
  }

  // Every partial result along the columns. Elements past the end of the row are neutral, wherever they come.
  std::string Scanned(const Prim& prim, const std::string& tile) const {
    if (prim.reduce == ReduceOp::kSort) {
      if (simple_) return fmt::format("tl.sort({})", tile);
      return SortedText(tile, prim.held, {s_.row_tile, s_.col_tile, s_.num_warps, s_.across});
    }
    const int axis = s_.several_rows ? 1 : 0;
    const char* reverse = prim.backwards ? ", reverse=True" : "";
    if (prim.reduce == ReduceOp::kSum) return fmt::format("tl.cumsum({}, axis={}{})", tile, axis, reverse);
    if (prim.reduce == ReduceOp::kProd && !IsFloating(prim.held))
      return fmt::format("tl.cumprod({}, axis={}{})", tile, axis, reverse);
    return fmt::format("tl.associative_scan({}, {}, {}{})", tile, axis, JoinOf(prim), reverse);
  }

  void ScanHeld(PrimId id) {
    const std::string tile = Operand(id), name = code_.NameOf(id);
    main_.Add(fmt::format("{} = {}", name, Scanned(graph_[id], tile)));
    code_.Bind(id, name, graph_[id].held, ElementAxes());
  }

  // Each element goes to a place of its own, and those of the first places are stored.
  void StoreCandidates(PrimId id) {
    const Prim& prim = graph_[id];
    const int64_t room = prim.sizes.back();
    const std::string keys = Operand(id), entries = code_.Read(prim.operands[1], false, prim.dtype),
                      place = code_.Name("place");
    main_.Add(fmt::format("{} = places_by_rank({}, cols, {}, {}, {})", place, keys, prim.rank, room,
                          s_.several_rows ? 1 : 0));
    const std::string& row = code_.axes[AxisKind::kRow].index;
    main_.Add(fmt::format("tl.store({} + {}{}, {}, mask={}({} < {}))", code_.Pointer(id),
                          s_.rows > 1 ? fmt::format("{} * {} + ", row, room) : "", place, entries,
                          s_.row_mask ? "row_mask & " : "", place, room));
  }

  // The same of one block, which starts from the total of those before it.
  void ScanBlock(PrimId id, Lines& inner) {
    const Prim& prim = graph_[id];
    const std::string tile = Operand(id), name = code_.NameOf(id), total = code_.NameOf(id, "_total");
    const int axis = s_.several_rows ? 1 : 0;
    main_.Add(fmt::format("{} = tl.full({}, {}, dtype={})", total, s_.several_rows ? "(ROWS, 1)" : "(1,)",
                          Neutral(prim.reduce, prim.compute[0]), TritonDtype(prim.compute[0])));
    // Both a scan and a reduction read it.
    const std::string block = code_.NameOf(id, "_block");
    inner.Add(fmt::format("{} = {}", block, tile));
    if (prim.reduce == ReduceOp::kSum) {
      inner.Add(fmt::format("{} = {} + {}", name, total, Scanned(prim, block)));
      inner.Add(fmt::format("{} += tl.sum({}, axis={}, keep_dims=True)", total, block, axis));
    } else {
      const std::string_view join = JoinOf(prim);
      inner.Add(fmt::format("{} = {}({}, {})", name, join, total, Scanned(prim, block)));
      inner.Add(
          fmt::format("{0} = {1}({0}, tl.reduce({2}, {3}, {1}, keep_dims=True))", total, join, block, axis));
    }
    code_.Bind(id, name, prim.held, ElementAxes());
  }

  Axes ElementAxes() const {
    Axes axes = RowAxes();
    axes.Add(AxisKind::kColumn);
    return axes;
  }

  Axes RowAxes() const {
    Axes axes;
    axes.Add(AxisKind::kRow);
    return axes;
  }

  // Round in which a member can be computed: one after the last reduction that it builds on.
  int Round(PrimId id) {
    if (id < 0 || group_.per_row.count(id) == 0) return 0;
    if (auto known = rounds_.find(id); known != rounds_.end()) return known->second;
    int round = 0;
    for (const View& view : graph_[id].operands) round = std::max(round, Round(view.prim));
    return rounds_[id] = round + (graph_[id].kind == PrimKind::kReduce ? 1 : 0);
  }

  void WriteLoops() {
    int last = 0;
    for (PrimId member : group_.members) last = std::max(last, Round(member));
    for (int round = 1; round <= last; ++round) {
      std::vector<PrimId> reductions;
      for (PrimId member : group_.members) {
        if (graph_[member].kind == PrimKind::kReduce && Round(member) == round) reductions.push_back(member);
      }
      Loop([&](Lines& inner) {
        for (PrimId id : reductions) Accumulate(id, inner);
      });
      for (PrimId id : reductions) Finish(id);
    }
    for (PrimId member : group_.members) {
      if (group_.per_row.at(member) && graph_[member].kind != PrimKind::kTileReduce) code_.Member(member);
    }
  }

  // Runs `write` with code going into a loop over the columns, the last block of them first or last. Of long
  // windows into two loops.
  template <typename Write>
  void Loop(Write write, bool backwards = false) {
    const WindowLoop window = s_.windows ? LoopOverWindow(group_) : WindowLoop{};
    const int depth = (persistent_ ? 2 : 1) + (window.line > 0 ? 1 : 0);
    Lines inner(depth + 1), head(depth);
    code_.body = &inner;
    code_.axes[AxisKind::kColumn].lines = "line";
    code_.axes[AxisKind::kColumn].line = window.line;
    const char* last = s_.col_mask ? "tl.cdiv(N_COLS, BLOCK) * BLOCK - BLOCK" : "N_COLS - BLOCK";
    Columns(inner, backwards ? fmt::format("{} - start + ", last) : "start + ");
    write(inner);
    code_.body = &main_;
    code_.EndLoop();
    if (window.line > 0) main_.Add("for line in range(0, N_COLS // LINE):");
    head.Add(fmt::format(
        "for start in {}(0, {}, BLOCK):", s_.windows && window.written_out ? "tl.static_range" : "range",
        window.line > 0 ? "LINE" : "N_COLS"));
    main_.AddDeeper(head);
    main_.AddDeeper(inner);
  }

  void Accumulate(PrimId id, Lines& inner) {
    const Prim& prim = graph_[id];
    std::string acc = accumulators_[id] = code_.NameOf(id, "_acc");
    std::string tile = Operand(id);
    std::string dtype = TritonDtype(prim.compute[0]);
    main_.Add(fmt::format("{} = tl.full({}, {}, dtype={})", acc, TileShape(),
                          Neutral(prim.reduce, prim.compute[0]), dtype));
    if (!LooksForPlace(prim)) {
      inner.Add(TakesIn(prim.reduce, prim.compute[0], acc, tile));
      return;
    }
    std::string where = acc + "_col", better = acc + "_better", candidate = acc + "_new";
    main_.Add(fmt::format("{} = tl.full({}, N_COLS, dtype=tl.int32)", where, TileShape()));
    inner.Add(fmt::format("{} = {}", candidate, tile));
    inner.Add(fmt::format("{} = ({} {} {}) | ({} == N_COLS)", better, candidate,
                          prim.reduce == ReduceOp::kArgMax ? ">" : "<", acc, where));
    inner.Add(fmt::format("{0} = tl.where({1}, {2}, {0})", acc, better, candidate));
    inner.Add(fmt::format(
        "{0} = tl.where({1}, {2}, {0})", where, better,
        WholeIndex(code_.axes.at(AxisKind::kColumn), FactorsOf(group_.domain, AxisKind::kColumn))));
  }

  void Finish(PrimId id) {
    const Prim& prim = graph_[id];
    const std::string& acc = accumulators_[id];
    std::string name = code_.NameOf(id);
    if (LooksForPlace(prim)) {
      main_.Add(fmt::format("{0}_best = tl.{1}({0}, {2})", acc,
                            prim.reduce == ReduceOp::kArgMax ? "max" : "min", Axis()));
      main_.Add(fmt::format("{0} = tl.min(tl.where({1} == {1}_best, {1}_col, N_COLS), {2}).to(tl.int64)",
                            name, acc, Axis()));
    } else {
      main_.Add(fmt::format("{} = {}", name, Reduced(prim, acc)));
    }
    code_.Bind(id, name, prim.dtype == Dtype::kInt64 ? Dtype::kInt64 : prim.held, RowAxes());
  }

  void StoreLoop() {
    bool any = std::any_of(group_.stores.begin(), group_.stores.end(),
                           [&](PrimId id) { return !group_.per_row.at(id); });
    if (!any) return;
    std::vector<PrimId> scans;
    for (PrimId id : group_.members) {
      if (graph_[id].kind == PrimKind::kScan) scans.push_back(id);
    }
    Loop(
        [&](Lines& inner) {
          for (PrimId id : scans) ScanBlock(id, inner);
          for (PrimId id : group_.stores) {
            if (!group_.per_row.at(id)) code_.Store(id);
          }
        },
        !scans.empty() && graph_[scans.front()].backwards);
  }

  const Graph& graph_;
  const Group& group_;
  RowTiles s_;
  const bool persistent_, simple_;
  TileCode code_;
  Lines head_, main_;
  std::map<PrimId, int> rounds_;
  std::map<PrimId, std::string> accumulators_;
};

// A row's length rounded up is left to Python where the length is.
std::string BlockText(const RowTiles& s, const std::vector<int64_t>& columns) {
  const std::string length = CountText(columns);
  const bool whole = s.col_tile == NextPowerOf2(s.columns);
  if (!whole || CountOperand(columns) == length) return fmt::format("{}", s.col_tile);
  return s.col_mask ? fmt::format("triton.next_power_of_2({})", length) : length;
}

}  // namespace

KernelCode WriteRowKernel(const Graph& graph, const Group& group, const std::vector<std::string>& buffers,
                          const KernelOptions& options, const std::string& name) {
  const RowTiles s = ChooseRowTiles(graph, group, options);
  const bool persistent = options.persistent && s.rows > s.row_tile;
  RowWriter writer(graph, group, buffers, s, persistent, options.simple);
  writer.Write();
  KernelCode kernel;
  kernel.name = name;
  const std::string rows = CountText(FactorsOf(group.domain, AxisKind::kRow));
  const std::string columns = CountText(FactorsOf(group.domain, AxisKind::kColumn));
  std::vector<std::string> constants;
  auto constant = [&](const char* key, const auto& value) {
    constants.push_back(key);
    kernel.constants += fmt::format("{}{}={}", kernel.constants.empty() ? "" : ", ", key, value);
  };
  if (s.row_mask || persistent) constant("N_ROWS", rows);
  if (s.col_mask || s.loop) constant("N_COLS", columns);
  if (const int64_t line = s.windows ? LoopOverWindow(group).line : 0; line > 0)
    constant("LINE", CountText(FactorsAt(FactorsOf(group.domain, AxisKind::kColumn), 1, line)));
  if (s.several_rows) constant("ROWS", s.row_tile);
  constant("BLOCK", BlockText(s, FactorsOf(group.domain, AxisKind::kColumn)));
  kernel.pointers = writer.code().pointers();
  kernel.source = KernelText(name, writer.code(), constants, writer.text());
  kernel.grid = GridText(s.rows, rows, s.row_tile, persistent);
  kernel.num_warps = s.num_warps;
  kernel.access =
      fmt::format("{} rows of {} columns; what is needed of a row is known to one program", rows, columns);
  kernel.launch =
      fmt::format("{}{} row{} for each program, grid {}", persistent ? "persistent, in turns of " : "",
                  s.row_tile, s.several_rows ? "s" : "", kernel.grid);
  const std::string walk = s.windows ? "take one column after the other"
                           : s.loop  ? fmt::format("walk along the row {} columns at a time", s.col_tile)
                                     : "load the row once and keep it in registers";
  kernel.compute = fmt::format("{}, compute {}", walk, OperatorList(graph, group));
  return kernel;
}

}  // namespace tritogen::teach
