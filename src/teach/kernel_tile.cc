// Pointwise work some of whose results lie in another order than what it reads, as a transposed copy does.
#include <fmt/format.h>

#include "base/rounding.h"
#include "teach/count_text.h"
#include "teach/kernel.h"
#include "teach/kernel_text.h"

namespace tritogen::teach {
namespace {

// Of a tile: 128 bytes of two-byte results one way, of four-byte ones the other.
constexpr int64_t kRows = 64, kColumns = 32;

}  // namespace

std::optional<Group> InTiles(const Graph& graph, const Group& group) {
  for (PrimId id : group.stores) {
    if (!group.turned.contains(id)) continue;
    const View own = group.InOrder(id, graph.Whole(id));
    for (size_t i = 0; i < own.sizes.size(); ++i) {
      if (own.sizes[i] > 1 && own.strides[i] == 1) return InRows(graph, group, own.sizes, i + 1);
    }
  }
  return std::nullopt;
}

KernelCode WriteTileKernel(const Graph& graph, const Group& group, const std::vector<std::string>& buffers,
                           const std::string& name) {
  TileCode code(graph, group, buffers);
  Lines body;
  code.body = code.outer = &body;
  for (const char* used :
       {"pid", "rows", "cols", "row_mask", "col_mask", "N_ROWS", "N_COLS", "ROWS", "BLOCK", "across"})
    code.Name(used);
  const int64_t n_rows = group.Size(AxisKind::kRow), n_columns = group.Size(AxisKind::kColumn);
  const bool row_mask = n_rows % kRows != 0, column_mask = n_columns % kColumns != 0;
  code.axes[AxisKind::kRow] = {"rows", row_mask ? "row_mask" : ""};
  code.axes[AxisKind::kColumn] = {"cols", column_mask ? "col_mask" : ""};
  body.Add("# Each program computes ROWS by BLOCK elements, neighbours in memory both ways.");
  body.Add(fmt::format("pid = tl.program_id(0){}", code.wide() ? ".to(tl.int64)" : ""));
  body.Add("across = tl.cdiv(N_COLS, BLOCK)");
  body.Add("rows = pid // across * ROWS + tl.arange(0, ROWS)[:, None]");
  body.Add("cols = pid % across * BLOCK + tl.arange(0, BLOCK)[None, :]");
  if (row_mask) body.Add("row_mask = rows < N_ROWS");
  if (column_mask) body.Add("col_mask = cols < N_COLS");
  for (PrimId member : group.members) code.Member(member);
  for (PrimId member : group.stores) code.Store(member);

  KernelCode kernel;
  kernel.name = name;
  kernel.pointers = code.pointers();
  const std::string rows = CountText(FactorsOf(group.domain, AxisKind::kRow)),
                    columns = CountText(FactorsOf(group.domain, AxisKind::kColumn));
  kernel.grid = fmt::format("triton.cdiv({}, {}) * triton.cdiv({}, {})", rows, kRows, columns, kColumns);
  std::vector<std::string> constants = {"N_COLS", "ROWS", "BLOCK"};
  kernel.constants = fmt::format("N_COLS={}, ROWS={}, BLOCK={}", columns, kRows, kColumns);
  if (row_mask) {
    constants.insert(constants.begin(), "N_ROWS");
    kernel.constants = fmt::format("N_ROWS={}, {}", rows, kernel.constants);
  }
  kernel.source = KernelText(name, code, constants, body.text());
  kernel.access = fmt::format(
      "{} rows of {} columns; some results have neighbours along the rows, all else "
      "along the columns",
      rows, columns);
  kernel.launch = fmt::format("one program for each {}×{} elements, grid {}", kRows, kColumns, kernel.grid);
  kernel.compute = fmt::format("load a tile of each operand, compute {} in registers, store once",
                               OperatorList(graph, group));
  return kernel;
}

}  // namespace tritogen::teach
