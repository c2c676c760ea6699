// Tiles of a pointwise kernel's elements, or of windows. Some results lie in another order than what is read,
// as those of a transposed copy: tiles have neighbours of the one order along their rows and of the other
// along their columns. Or windows share what they read: what is worked out of a place's row is so once for
// the row of a tile.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/rounding.h"
#include "program/triton_dtype.h"
#include "teach/count_text.h"
#include "teach/kernel.h"
#include "teach/kernel_text.h"
#include "teach/windows.h"

namespace tritogen::teach {
namespace {

struct TileShape {
  int64_t rows, columns;
};
// 128 bytes of two-byte results one way, of four-byte ones the other.
constexpr TileShape kBothWays{64, 32};
// Windows of a program, two for each thread, and the least of a window's elements with which they are ahead
// of windows in a row; on an H100 by 3 to 27% for 8 to 49 elements, behind by 5% for 3.
constexpr int64_t kWindowsOfTile = 256, kFewestElements = 6;
constexpr int64_t kFewestColumns = 8;

class TileWriter {
 public:
  TileWriter(const Graph& graph, const Group& group, const std::vector<std::string>& buffers, TileShape shape)
      : graph_(graph),
        group_(group),
        windows_(group.domain.size() > 2),
        columns_(windows_ ? AxisKind::kN : AxisKind::kColumn),
        shape_(shape),
        row_mask_(group.Size(AxisKind::kRow) % shape.rows != 0),
        column_mask_(group.Size(columns_) % shape.columns != 0),
        code_(graph, group, buffers) {}

  void Write() {
    for (const char* used : {"pid", "rows", "cols", "row_mask", "col_mask", "N_ROWS", "N_COLS", "ROWS",
                             "BLOCK", "across", "start", "element", "line", "WINDOW", "LINE"})
      code_.Name(used);
    code_.body = code_.outer = &lines_;
    code_.axes[AxisKind::kRow] = {"rows", row_mask_ ? "row_mask" : ""};
    code_.axes[columns_] = {"cols", column_mask_ ? "col_mask" : ""};
    lines_.Add(fmt::format("# Each program computes ROWS by BLOCK elements{}.",
                           group_.turned.empty() ? "" : ", neighbours in memory both ways"));
    lines_.Add(fmt::format("pid = tl.program_id(0){}", code_.wide() ? ".to(tl.int64)" : ""));
    lines_.Add("across = tl.cdiv(N_COLS, BLOCK)");
    lines_.Add("rows = pid // across * ROWS + tl.arange(0, ROWS)[:, None]");
    lines_.Add("cols = pid % across * BLOCK + tl.arange(0, BLOCK)[None, :]");
    if (row_mask_) lines_.Add("row_mask = rows < N_ROWS");
    if (column_mask_) lines_.Add("col_mask = cols < N_COLS");
    if (windows_) Windows();
    for (PrimId member : group_.members) {
      if (!windows_ || group_.per_row.at(member)) code_.Member(member);
    }
    for (PrimId member : group_.stores) code_.Store(member);
  }

  KernelCode Finish(const std::string& name) {
    KernelCode kernel;
    kernel.name = name;
    kernel.pointers = code_.pointers();
    std::vector<std::string> constants;
    auto constant = [&](const char* key, const auto& value) {
      constants.push_back(key);
      kernel.constants += fmt::format("{}{}={}", kernel.constants.empty() ? "" : ", ", key, value);
    };
    const std::string rows = CountText(FactorsOf(group_.domain, AxisKind::kRow)),
                      columns = CountText(FactorsOf(group_.domain, columns_));
    if (row_mask_) constant("N_ROWS", rows);
    constant("N_COLS", columns);
    constant("ROWS", shape_.rows);
    constant("BLOCK", shape_.columns);
    if (windows_) {
      const std::vector<int64_t> window = FactorsOf(group_.domain, AxisKind::kColumn);
      constant("WINDOW", CountText(window));
      if (const int64_t line = LoopOverWindow(group_).line; line > 0)
        constant("LINE", CountText(FactorsAt(window, 1, line)));
    }
    kernel.source = KernelText(name, code_, constants, lines_.text());
    kernel.grid =
        fmt::format("triton.cdiv({}, {}) * triton.cdiv({}, {})", rows, shape_.rows, columns, shape_.columns);
    kernel.access = fmt::format(
        "{} rows of {} columns; {}", rows, columns,
        group_.turned.empty() ? "neighbours read much of the same"
                              : "some results have neighbours along the rows, all else along the columns");
    kernel.launch =
        fmt::format("one program for each {}×{} elements, grid {}", shape_.rows, shape_.columns, kernel.grid);
    const char* load =
        windows_ ? "take one element of each window after the other" : "load a tile of each operand";
    kernel.compute =
        fmt::format("{}, compute {} in registers, store once", load, OperatorList(graph_, group_));
    return kernel;
  }

 private:
  // All reductions in one loop over the elements of a window, or two.
  void Windows() {
    const WindowLoop loop = LoopOverWindow(group_);
    Lines inner(loop.line > 0 ? 3 : 2);
    code_.body = &inner;
    code_.axes[AxisKind::kColumn] = {.index = "element", .mask = "", .lines = "line", .line = loop.line};
    inner.Add(
        fmt::format("element = start + tl.arange(0, 1)[None, :]{}", code_.wide() ? ".to(tl.int64)" : ""));
    std::map<PrimId, std::string> made;
    for (PrimId member : group_.members) {
      if (graph_[member].kind == PrimKind::kReduce) made[member] = Accumulated(member, &inner);
    }
    code_.body = &lines_;
    code_.EndLoop();
    if (loop.line > 0) lines_.Add("for line in range(0, WINDOW // LINE):");
    Lines head(loop.line > 0 ? 2 : 1);
    head.Add(fmt::format("for start in {}(0, {}):", loop.written_out ? "tl.static_range" : "range",
                         loop.line > 0 ? "LINE" : "WINDOW"));
    lines_.AddDeeper(head);
    lines_.AddDeeper(inner);
    Axes tile;
    tile.Add(AxisKind::kRow);
    tile.Add(columns_);
    for (const auto& [member, variable] : made) code_.Bind(member, variable, graph_[member].compute[0], tile);
  }

  // A reduction's variable, which the loop adds its elements to.
  std::string Accumulated(PrimId id, Lines* inner) {
    const Prim& prim = graph_[id];
    const std::string name = code_.NameOf(id);
    lines_.Add(fmt::format("{} = tl.full((ROWS, BLOCK), {}, dtype={})", name,
                           Neutral(prim.reduce, prim.compute[0]), TritonDtype(prim.compute[0])));
    inner->Add(
        TakesIn(prim.reduce, prim.compute[0], name, code_.Read(prim.operands[0], false, prim.compute[0])));
    return name;
  }

  const Graph& graph_;
  const Group& group_;
  const bool windows_;
  const AxisKind columns_;
  const TileShape shape_;
  const bool row_mask_, column_mask_;
  TileCode code_;
  Lines lines_;
};

// Columns of a tile for lines of so many windows: the most with which tiles are at least three quarters full.
// None where with none they are.
std::optional<int64_t> ColumnsFor(int64_t line) {
  for (int64_t columns = kWindowsOfTile; columns >= kFewestColumns; columns /= 2) {
    if (4 * line >= 3 * RoundUp(line, columns)) return columns;
  }
  return std::nullopt;
}

// Of four bytes an element: of what is loaded two by two, a thread's own windows are better neighbours.
bool ReadsFourBytes(const Graph& graph, const Group& group) {
  return std::ranges::all_of(ReadBy(graph, group),
                             [&](PrimId id) { return DtypeSize(graph[id].dtype) == 4; });
}

}  // namespace

std::optional<Group> WindowLines(const Graph& graph, const Group& group) {
  if (group.kind != GroupKind::kRows || !group.turned.empty() || !AreSimpleWindows(graph, group) ||
      group.Size(AxisKind::kColumn) < kFewestElements || StepOfWindows(graph, group) != 1 ||
      !ReadsFourBytes(graph, group))
    return std::nullopt;
  auto lines = CutLastDimension(graph, group, FactorsOf(group.domain, AxisKind::kRow));
  return lines && ColumnsFor(lines->Size(AxisKind::kN)) ? std::move(lines) : std::nullopt;
}

std::optional<Group> InTiles(const Graph& graph, const Group& group) {
  if (group.turned.empty()) return std::nullopt;
  const bool windows = group.kind == GroupKind::kRows && AreSimpleWindows(graph, group);
  if (group.kind != GroupKind::kFlat && !windows) return std::nullopt;
  for (PrimId id : group.stores) {
    if (!group.turned.contains(id)) continue;
    const View own = group.InOrder(id, graph.Whole(id));
    for (size_t i = 0; i < own.sizes.size(); ++i) {
      if (own.sizes[i] == 1 || own.strides[i] != 1) continue;
      const auto columns = std::span(own.sizes).subspan(i + 1);
      // Neighbours are the same both ways.
      if (std::ranges::all_of(columns, [](int64_t size) { return size == 1; })) return std::nullopt;
      return CutInTwo(graph, group, own.sizes, i + 1);
    }
  }
  return std::nullopt;
}

KernelCode WriteTileKernel(const Graph& graph, const Group& group, const std::vector<std::string>& buffers,
                           const std::string& name) {
  TileShape shape = kBothWays;
  if (group.turned.empty()) {
    shape.columns = *ColumnsFor(group.Size(AxisKind::kN));
    shape.rows = kWindowsOfTile / shape.columns;
  }
  TileWriter writer(graph, group, buffers, shape);
  writer.Write();
  return writer.Finish(name);
}

}  // namespace tritogen::teach
