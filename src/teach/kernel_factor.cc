// Factors of matrices. A program holds a matrix in registers and walks along its columns: each step takes a
// row and a column out of it (sums of which all terms but one are zero). Triangular systems keep the right
// side in registers and read a row of the matrix at each step.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/rounding.h"
#include "teach/factor_code.h"
#include "teach/kernel_text.h"
#include "teach/recurrent_cell.h"

namespace tritogen::teach {

FactorCode::FactorCode(const Graph& graph, const Group& group, const std::vector<std::string>& buffers)
    : graph_(graph),
      group_(group),
      prim_(graph[group.members[0]]),
      id_(group.members[0]),
      code_(graph, group, buffers) {
  TRITOGEN_CHECK(prim_.kind == PrimKind::kFactor);
  for (const char* used :
       {"matrix",    "r",         "c",           "d",        "rows",      "cols",    "half",  "mask",
        "square",    "row_mask",  "column_mask", "a",        "x",         "v",       "k",     "step",
        "turn",      "sweep",     "off",         "out",      "vectors",   "values",  "order", "pivots",
        "pivot",     "column",    "row",         "size",     "taken",     "given",   "first", "largest",
        "share",     "row_taken", "row_given",   "root",     "rest",      "taus",    "still", "above",
        "known",     "solved",    "norm",        "product",  "unit",      "length",  "beta",  "tau",
        "reflector", "along",     "diagonal",    "scale",    "one_at",    "one",     "two",   "p",
        "q",         "meet",      "small",       "large",    "between",   "both",    "theta", "tangent",
        "cosine",    "sine",      "at",          "left",     "right",     "upper",   "lower", "top",
        "bottom",    "mine",      "others",      "mine_key", "other_key", "before",  "place", "HEIGHT",
        "WIDTH",     "STEPS",     "BLOCKS",      "PAIRS",    "BLOCK_M",   "BLOCK_N", "HALF"})
    code_.Name(used);
}

std::string FactorCode::Load(size_t operand, const std::string& row, const std::string& column,
                             const std::string& mask) {
  const std::string place = StridedPlace(graph_, code_, prim_.operands[operand], {"matrix", row, column});
  return mask.empty() ? fmt::format("tl.load({})", place)
                      : fmt::format("tl.load({}, mask={}, other=0.0)", place, mask);
}

std::string FactorCode::Result() {
  return StridedPlace(graph_, code_, ContiguousView(id_, prim_.sizes), {"matrix", ""});
}

void FactorCode::Add(std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines_.Add(std::string(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void FactorCode::Constant(std::string_view name, int64_t value) {
  names_.emplace_back(name);
  values_ += fmt::format("{}{}={}", values_.empty() ? "" : ", ", name, value);
}

KernelCode FactorCode::Kernel(const std::string& name, int64_t programs, int64_t elements) {
  KernelCode kernel;
  kernel.name = name;
  kernel.pointers = code_.pointers();
  kernel.source = KernelText(name, code_, names_, lines_.text());
  kernel.grid = fmt::format("{}", programs);
  kernel.constants = values_;
  kernel.num_warps = static_cast<int>(std::clamp<int64_t>(elements / 512, 1, 16));
  kernel.access = fmt::format("{} matrices of {} x {}; each step needs the one before", prim_.sizes[0],
                              rows(), columns());
  kernel.launch = fmt::format("{} programs, a matrix each or columns of one, grid {}", programs, kernel.grid);
  kernel.compute =
      fmt::format("compute {} step by step, with a matrix in registers", OperatorList(graph_, group_));
  return kernel;
}

namespace {

constexpr int64_t kHeldSystem = 8192;  // elements of the right side that a program holds

// Rows that are much alike leave small differences: those are exact where products are not rounded before
// them.
constexpr const char* kLu = R"(
order = r
pivots = r
for k in range(0, STEPS):
    column = tl.sum(tl.where(cols == k, a, 0.0), axis=1)
    size = tl.where((r >= k) & (r < HEIGHT), tl.abs(column), -1.0)
    pivot = tl.argmax(size, axis=0)
    taken = tl.sum(tl.where(rows == pivot, a, 0.0), axis=0)
    given = tl.sum(tl.where(rows == k, a, 0.0), axis=0)
    a = tl.where(rows == k, taken[None, :], tl.where(rows == pivot, given[None, :], a))
    first = tl.sum(tl.where(r == k, column, 0.0), axis=0)
    largest = tl.sum(tl.where(r == pivot, column, 0.0), axis=0)
    column = tl.where(r == pivot, first, column)
    # A column of zeros has nothing to take away.
    share = tl.where(r > k, column / tl.where(largest == 0.0, 1.0, largest), 0.0)
    rest = tl.fma(-share[:, None], taken[None, :], a)
    a = tl.where((cols > k) & (rows > k), rest, a)
    a = tl.where((cols == k) & (rows > k), share[:, None], a)
    row_taken = tl.sum(tl.where(r == pivot, order, 0), axis=0)
    row_given = tl.sum(tl.where(r == k, order, 0), axis=0)
    order = tl.where(r == k, row_taken, tl.where(r == pivot, row_given, order))
    pivots = tl.where(r == k, pivot, pivots)
tl.store(out + rows * WIDTH + cols, a, mask=mask)
tl.store(out + HEIGHT * WIDTH + r, order, mask=r < HEIGHT)
tl.store(out + HEIGHT * WIDTH + HEIGHT + r, pivots, mask=r < STEPS)
)";

// An element is changed once, by the sum of all that is taken away from it.
constexpr const char* kCholesky = R"(
for k in range(0, STEPS):
    column = tl.sum(tl.where(cols == k, a, 0.0), axis=1)
    row = tl.sum(tl.where((rows == k) & (cols < k), a, 0.0), axis=0)
    column = column - tl.sum(a * row[None, :], axis=1)
    root = tl.sqrt(tl.sum(tl.where(r == k, column, 0.0), axis=0))
    a = tl.where((cols == k) & (rows >= k), (column / root)[:, None], a)
tl.store(out + rows * WIDTH + cols, tl.where(rows >= cols, a, 0.0), mask=mask)
)";

// With LAPACK's signs: a column whose rest is zero already keeps its own. Numbers are divided by the largest
// one before they are squared.
constexpr const char* kReflections = R"(
taus = (r * 0.0).to(a.dtype)
for k in range(0, STEPS):
    column = tl.where(r >= k, tl.sum(tl.where(cols == k, a, 0.0), axis=1), 0.0)
    first = tl.sum(tl.where(r == k, column, 0.0), axis=0)
    rest = tl.where(r > k, column, 0.0)
    still = tl.max(tl.abs(rest), axis=0) == 0.0
    largest = tl.max(tl.abs(column), axis=0)
    unit = column / tl.where(largest == 0.0, 1.0, largest)
    length = largest * tl.sqrt(tl.sum(unit * unit, axis=0))
    beta = tl.where(first < 0.0, length, -length)
    tau = tl.where(still, 0.0, (beta - first) / tl.where(still, 1.0, beta))
    reflector = tl.where(r == k, 1.0, rest / tl.where(still, 1.0, first - beta))
    along = tl.sum(reflector[:, None] * a, axis=0)
    a = tl.where(cols > k, a - (tau * reflector)[:, None] * along[None, :], a)
    diagonal = tl.where(still, first, beta)
    a = tl.where((cols == k) & (rows >= k), tl.where(r == k, diagonal, reflector)[:, None], a)
    taus = tl.where(r == k, tau, taus)
tl.store(out + rows * WIDTH + cols, a, mask=mask)
tl.store(out + HEIGHT * WIDTH + r, taus, mask=r < STEPS)
)";

KernelCode WriteHeldMatrix(FactorCode& code, const std::string& name, const char* steps) {
  const int64_t m = code.rows(), n = code.columns(), block_m = NextPowerOf2(m), block_n = NextPowerOf2(n);
  code.Add(R"(
# Each program has one matrix and walks along its columns.
matrix = tl.program_id(0)
r = tl.arange(0, BLOCK_M)
c = tl.arange(0, BLOCK_N)
rows = r[:, None]
cols = c[None, :]
mask = (rows < HEIGHT) & (cols < WIDTH))");
  code.Add("a = " + code.Load(0, "rows", "cols", "mask"));
  code.Add("out = " + code.Result());
  code.Add(steps);
  code.Constant("HEIGHT", m);
  code.Constant("WIDTH", n);
  code.Constant("STEPS", std::min(m, n));
  code.Constant("BLOCK_M", block_m);
  code.Constant("BLOCK_N", block_n);
  return code.Kernel(name, code.prim().sizes[0], block_m * block_n);
}

KernelCode WriteSystem(FactorCode& code, const std::string& name) {
  const int64_t n = code.rows(), columns = code.columns(), block_m = NextPowerOf2(n);
  const int64_t block_n =
      std::clamp<int64_t>(kHeldSystem / block_m, 1, std::min<int64_t>(NextPowerOf2(columns), 32));
  const bool upper = code.prim().expr.starts_with("solve_upper"), unit = code.prim().expr.ends_with("_unit");
  code.Add(R"(
# Each program has BLOCK_N columns of one matrix's solution and goes from row to row.
matrix = tl.program_id(0) // BLOCKS
r = tl.arange(0, BLOCK_M)
rows = r[:, None]
cols = tl.program_id(0) % BLOCKS * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
mask = (rows < HEIGHT) & (cols < WIDTH))");
  code.Add("x = " + code.Load(1, "rows", "cols", "mask"));
  code.Add("for step in range(0, HEIGHT):");
  code.Add(upper ? "    k = HEIGHT - 1 - step" : "    k = step");
  code.Add("    row = " + code.Load(0, "k", "r", fmt::format("(r < HEIGHT) & (r {} k)", upper ? ">" : "<")));
  code.Add("    known = tl.sum(row[:, None] * x, axis=0)");
  code.Add("    given = tl.sum(tl.where(rows == k, x, 0.0), axis=0)");
  if (unit) code.Add("    solved = given - known");
  if (!unit) code.Add("    solved = (given - known) / " + code.Load(0, "k", "k", ""));
  code.Add("    x = tl.where(rows == k, solved[None, :], x)");
  code.Add("tl.store(" + code.Result() + " + rows * WIDTH + cols, x, mask=mask)");
  code.Constant("HEIGHT", n);
  code.Constant("WIDTH", columns);
  code.Constant("BLOCKS", CeilDiv(columns, block_n));
  code.Constant("BLOCK_M", block_m);
  code.Constant("BLOCK_N", block_n);
  return code.Kernel(name, code.prim().sizes[0] * CeilDiv(columns, block_n), block_m * block_n);
}

KernelCode WriteRotations(FactorCode& code, const std::string& name) {
  const int64_t m = code.rows(), n = code.columns(), pairs = CeilDiv(n, 2);
  AddRotations(&code);
  code.Constant("HEIGHT", m);
  code.Constant("WIDTH", n);
  code.Constant("PAIRS", pairs);
  code.Constant("BLOCK_M", NextPowerOf2(m));
  code.Constant("BLOCK_N", NextPowerOf2(n));
  code.Constant("HALF", NextPowerOf2(pairs));
  return code.Kernel(name, code.prim().sizes[0], NextPowerOf2(m) * NextPowerOf2(n));
}

}  // namespace

KernelCode WriteFactorKernel(const Graph& graph, const Group& group, const std::vector<std::string>& buffers,
                             const std::string& name) {
  FactorCode code(graph, group, buffers);
  const std::string& kind = code.prim().expr;
  if (kind == "lu") return WriteHeldMatrix(code, name, kLu);
  if (kind == "cholesky") return WriteHeldMatrix(code, name, kCholesky);
  if (kind == "reflections") return WriteHeldMatrix(code, name, kReflections);
  if (kind.starts_with("solve")) return WriteSystem(code, name);
  return WriteRotations(code, name);
}

}  // namespace tritogen::teach
