// Scans.
#include <fmt/format.h>

#include "base/rounding.h"
#include "teach/kernel.h"
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

// A length of pieces of which there is no rest and whose totals one program holds; programs work on powers of
// two, of which it is most. 0: there is none.
int64_t PieceWithoutRest(int64_t lines, int64_t n) {
  // Where there is little, shorter pieces for more programs.
  const bool little = lines * n < kProcessors * kHeldScan;
  int64_t best = 0;
  double share = 0.7;
  for (int64_t piece = little ? 1024 : kHeldScan; piece >= 256; --piece) {
    if (n % piece != 0 || n / piece > kHeldScan) continue;
    const double of_tile = static_cast<double>(piece) / static_cast<double>(NextPowerOf2(piece));
    if (of_tile > share) share = of_tile, best = piece;
  }
  return best;
}

// Whether an element of it can be read as often as one likes.
bool LiesInMemory(const Builder& b, const Value& x) {
  if (x.view.prim < 0) return false;
  const Prim& prim = b.graph[x.view.prim];
  return prim.kind == PrimKind::kSource || prim.kind == PrimKind::kCall || prim.IsProduct();
}

// Along the last dimension: first every piece's total alone, which is read once and hardly stored; then each
// piece is scanned, read again, and joined with the total of those before it.
std::optional<Value> ScanReadTwice(Builder& b, ReduceOp op, const Value& x, const std::string& neutral) {
  const int64_t n = x.sizes().back(), last = x.view.rank() - 1;
  const int64_t piece = PieceWithoutRest(x.view.numel() / n, n);
  if (piece == 0 || !LiesInMemory(b, x) || op == ReduceOp::kProd || op == ReduceOp::kLogSumExp)
    return std::nullopt;
  std::vector<int64_t> sizes = x.sizes();
  sizes.back() = n / piece;
  sizes.push_back(piece);
  const auto pieces = Reshape(x.view, sizes);
  if (!pieces) return std::nullopt;
  const Value totals = b.Scan(op, b.Reduce(op, {*pieces, x.dtype}, {-1}, false), last);
  std::vector<Value> before = b.Indices(totals.sizes());
  const Value number = before.back();
  before.back() = b.Affine("before", {{1, number}}, -1);
  const Value later = b.Pointwise("later", "{0} > 0", {number}, Dtype::kBool, 0);
  const Value start = b.Load("start", totals, before, later, neutral);
  // Kernels that read a value by the same view become one: this one has a dimension more.
  sizes.push_back(1);
  const Value own = b.Scan(op, {Unsqueeze(*pieces, last + 2), x.dtype}, last + 1);
  const Value starts{Expand(Unsqueeze(Unsqueeze(start.view, last + 1), last + 2), sizes), start.dtype};
  const std::string_view join = op == ReduceOp::kSum ? "add" : op == ReduceOp::kMax ? "maximum" : "minimum";
  return b.Reshape(b.Op(join, {starts, own}, own.dtype), x.sizes());
}

// Longer lines are walked along; where there are few of them they are cut into pieces: each is scanned, so
// are their totals, and every piece starts from the total before it.
Value ScanLine(Builder& b, ReduceOp op, const Value& x, int64_t dim) {
  const ScannedLines lines = LinesOf(x.sizes(), dim);
  if (!b.CutsAnywhere() || TakesWholeLines(lines)) return b.Scan(op, x, dim);
  const std::string neutral = op == ReduceOp::kSum    ? "0.0"
                              : op == ReduceOp::kProd ? "1.0"
                              : op == ReduceOp::kMin  ? "float(\"inf\")"
                                                      : "float(\"-inf\")";
  if (!lines.across) {
    if (const auto scanned = ScanReadTwice(b, op, x, neutral)) return *scanned;
  }
  const int64_t n = x.sizes()[dim];
  int64_t piece = lines.across ? kHeldScanAcross / 2 : 1024;
  while (n / piece > kHeldScan) piece *= 2;
  const int64_t pieces = CeilDiv(n, piece);
  std::vector<int64_t> sizes = x.sizes();
  sizes[dim] = pieces;
  sizes.insert(sizes.begin() + dim + 1, piece);
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
  const ScannedLines lines = LinesOf(x.sizes(), dim);
  if (lines.length <= kHeldScan && !lines.across) {  // a program that holds a line finds its first one
    const Value place = b.Index(x.sizes(), dim);
    const Value infinite = b.Pointwise(
        "infinite", fmt::format("tl.where(tl.abs({{0}}) == float(\"inf\"), {{1}}, {})", lines.length),
        {x, place}, Dtype::kInt32, 2);
    const Value first = b.Reduce(ReduceOp::kSmallest, infinite, {dim}, true);
    return b.Pointwise("product", "tl.where(({0} == 0) & ({2} >= {1}), float(\"nan\"), {0})",
                       {product, first, place}, product.dtype, 2);
  }
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
