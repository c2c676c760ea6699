// Scans.
#include <fmt/format.h>

#include "teach/kernel_text.h"
#include "teach/lowering.h"

namespace tritogen::teach {
namespace {

// How the lines of a scan lie: of those whose elements are no neighbours in memory a program takes several.
struct ScannedLines {
  int64_t length, programs, total;
  bool across;
};

ScannedLines LinesOf(const std::vector<int64_t>& sizes, int64_t dim) {
  constexpr int64_t kLinesAcross = 64;
  const int64_t total = Product(sizes), lines = total / std::max<int64_t>(sizes[dim], 1);
  const bool across =
      std::any_of(sizes.begin() + dim + 1, sizes.end(), [](int64_t size) { return size > 1; });
  return {sizes[dim], across ? lines / kLinesAcross : lines, total, across};
}

// Whether there are so many lines that each can be walked along.
bool AreMany(const ScannedLines& lines) {
  return lines.programs >= kManyPrograms;
}

// Whether a line can be left to one program: it is short, or there are many, or little to do.
bool TakesWholeLines(const ScannedLines& lines) {
  constexpr int64_t kLittle = 1 << 20;
  if (AreMany(lines) || lines.length <= (lines.across ? kHeldScanAcross : kHeldScan)) return true;
  return lines.across && lines.length <= kHeldScan && lines.total <= kLittle;
}

// Longer lines are walked along; where there are few of them they are cut into pieces: each is scanned, so
// are their totals, and every piece starts from the total before it.
Value ScanLine(Builder& b, ReduceOp op, const Value& x, int64_t dim) {
  const ScannedLines lines = LinesOf(x.sizes(), dim);
  if (TakesWholeLines(lines)) return b.Scan(op, x, dim);
  const int64_t n = x.sizes()[dim];
  int64_t piece = lines.across ? kHeldScanAcross / 2 : 1024;
  while (n / piece > kHeldScan) piece *= 2;
  const int64_t pieces = (n + piece - 1) / piece;
  std::vector<int64_t> sizes = x.sizes();
  sizes[dim] = pieces;
  sizes.insert(sizes.begin() + dim + 1, piece);
  const std::string neutral = op == ReduceOp::kSum    ? "0.0"
                              : op == ReduceOp::kProd ? "1.0"
                              : op == ReduceOp::kMin  ? "float(\"inf\")"
                                                      : "float(\"-inf\")";
  std::vector<Value> index = b.Indices(sizes);
  index[dim] = b.Affine("index", {{piece, index[dim]}, {1, index[dim + 1]}}, 0);
  index.erase(index.begin() + dim + 1);
  Value inside = b.Pointwise("inside", fmt::format("{{0}} < {}", n), {index[dim]}, Dtype::kBool, 0);
  Value cut = b.Load("piece", x, index, inside, neutral);
  Value scanned = b.Scan(op, cut, dim + 1);
  Value totals = b.Scan(op, {Select(scanned.view, dim + 1, piece - 1), scanned.dtype}, dim);
  // Back in one line: element i is in piece i // piece, and starts from the total of the piece before.
  std::vector<Value> at = b.Indices(x.sizes()), before = at;
  const Value line = at[dim];
  at[dim] = b.Pointwise("index", fmt::format("{{0}} // {}", piece), {line}, Dtype::kInt32, 0);
  at.insert(at.begin() + dim + 1,
            b.Pointwise("index", fmt::format("{{0}} % {}", piece), {line}, Dtype::kInt32, 0));
  before[dim] = b.Pointwise("index", fmt::format("{{0}} // {} - 1", piece), {line}, Dtype::kInt32, 0);
  Value later = b.Pointwise("later", fmt::format("{{0}} >= {}", piece), {line}, Dtype::kBool, 0);
  Value own = b.Load("own", scanned, at), start = b.Load("start", totals, before, later, neutral);
  if (op == ReduceOp::kProd)
    return b.Pointwise("product", ProductKeepingZero("{0}", "{1}"), {start, own}, own.dtype, 2);
  if (op == ReduceOp::kLogSumExp)
    return b.Pointwise("log_sum", SumOfExponentials("{0}", "{1}"), {start, own}, own.dtype, 20);
  std::string_view join = op == ReduceOp::kSum ? "add" : op == ReduceOp::kMax ? "maximum" : "minimum";
  return b.Op(join, {start, own}, own.dtype);
}

// Zero times an element that is infinite by itself is NaN, unlike zero times a product that has overflowed.
Value RunningProduct(Builder& b, const Value& x, int64_t dim) {
  Value product = ScanLine(b, ReduceOp::kProd, x, dim);
  if (!IsFloating(x.dtype)) return product;
  Value largest = ScanLine(b, ReduceOp::kMax, b.Op("abs", {x}), dim);
  return b.Pointwise("product", "tl.where(({0} == 0) & ({1} == float(\"inf\")), float(\"nan\"), {0})",
                     {product, largest}, product.dtype, 2);
}

}  // namespace

bool LowerScan(Builder& b, const Node& node, std::string_view op, const BoundArgs& args) {
  Value x = b.Tensor(args, "self");
  if (x.view.rank() == 0 || !x.view.guards.empty()) return false;
  const int64_t dim = WrapDim(AsInt(args["dim"]).value_or(0), x.view.rank());
  const ScannedLines lines = LinesOf(x.sizes(), dim);
  const bool whole = lines.length <= kHeldScan || AreMany(lines);  // what is never cut
  if (op == "cumsum" || op == "cumprod") {
    const bool sum = op == "cumsum";
    if (IsFloating(x.dtype)) {
      b.Return({sum ? ScanLine(b, ReduceOp::kSum, x, dim) : RunningProduct(b, x, dim)});
      return true;
    }
    if (!whole) return false;
    b.Return({b.Scan(sum ? ReduceOp::kSum : ReduceOp::kProd, b.Cast(x, node.results[0].dtype), dim)});
    return true;
  }
  if (op == "logcumsumexp") {
    if (!IsFloating(x.dtype)) return false;
    b.Return({ScanLine(b, ReduceOp::kLogSumExp, x, dim)});
    return true;
  }
  // The index of a running extremum is the last place where the line reached it.
  const bool largest = op == "cummax";
  if (!whole) return false;
  if (x.dtype == Dtype::kBool) x = b.Cast(x, Dtype::kInt32);
  Value best = b.Scan(largest ? ReduceOp::kMax : ReduceOp::kMin, x, dim);
  Value reached = b.Pointwise("reached", "tl.where(({0} == {1}) | ({0} != {0}), {2}, -1)",
                              {x, best, b.Index(x.sizes(), dim)}, Dtype::kInt32, 2);
  b.Return({best, b.Cast(b.Scan(ReduceOp::kMax, reached, dim), Dtype::kInt64)});
  return true;
}

}  // namespace tritogen::teach
