// Reductions of few long lines: pieces of them, and what joins these.
#include <fmt/format.h>

#include <algorithm>

#include "teach/line_pieces.h"
#include "teach/lowering.h"

namespace tritogen::teach {
namespace {

// A line's last dimension stays as it is up to so many elements: work of whole lines reads what is made
// there.
constexpr int64_t kWholeLine = 8192;

// Whether pointwise work reads what lines of the last `length` elements have been reduced to: the kernel that
// did so can reduce the lines, too, and nothing of full size is stored.
bool IsMadeOfLines(const Graph& graph, const View& view, int64_t length, int steps = 8) {
  if (view.prim < 0 || steps == 0) return false;
  const Prim& prim = graph[view.prim];
  if (prim.kind == PrimKind::kReduce) {
    return prim.reduced.back() && prim.space.back() == length && std::ranges::count(prim.reduced, true) == 1;
  }
  return prim.kind == PrimKind::kPointwise && std::ranges::any_of(prim.operands, [&](const View& operand) {
           return IsMadeOfLines(graph, operand, length, steps - 1);
         });
}

}  // namespace

// Of each line the place of its extremum: within which of its pieces, and where in that one.
Value Builder::PlaceInPieces(ReduceOp op, const LinePieces& pieces) {
  const bool largest = op == ReduceOp::kArgMax;
  std::vector<int64_t> sizes;  // of the pieces, those of one line side by side: along `line`
  size_t line = 0;
  int64_t count = 1;
  for (int64_t dim = 0; dim < pieces.x.view.rank(); ++dim) {
    const int64_t size = pieces.x.sizes()[dim];
    if (dim == pieces.of_line.front()) {
      line = sizes.size();
      sizes.push_back(1);
    }
    if (std::ranges::count(pieces.of_line, dim) > 0) {
      count *= size;
    } else if (std::ranges::count(pieces.within, dim) == 0) {
      sizes.push_back(size);
    }
  }
  sizes[line] = count;
  const auto of_piece = [&](ReduceOp reduce) {
    return Reshape(Reduce(reduce, pieces.x, pieces.within, false), sizes);
  };
  const Value extremum = of_piece(largest ? ReduceOp::kLargest : ReduceOp::kSmallest), place = of_piece(op);
  const Value best = Reduce(op, extremum, {static_cast<int64_t>(line)}, false);
  std::vector<Value> index = Indices(best.sizes());
  index.insert(index.begin() + static_cast<std::ptrdiff_t>(line), best);
  return Pointwise("place", fmt::format("({{0}} * {} + {{1}})", pieces.length),
                   {best, Load("place", place, index)}, Dtype::kInt64, 1);
}

// Both by themselves, and one of the two results, or what both make.
std::optional<Value> Builder::ReduceInParts(ReduceOp op, const LineParts& parts,
                                            const std::vector<bool>& reduced) {
  std::vector<int64_t> dims;
  for (size_t i = 0; i < reduced.size(); ++i)
    if (reduced[i]) dims.push_back(static_cast<int64_t>(i));
  const auto of_first = [&](ReduceOp of) { return Reduce(of, parts.first, dims, false); };
  const auto of_rest = [&](ReduceOp of) { return Reduce(of, parts.rest, dims, false); };
  switch (op) {
    case ReduceOp::kSum:
      return Op("add", {of_first(op), of_rest(op)});
    case ReduceOp::kProd:
      return Op("mul", {of_first(op), of_rest(op)});
    case ReduceOp::kMax:
    case ReduceOp::kLargest:
      return Op("maximum", {of_first(op), of_rest(op)});
    case ReduceOp::kMin:
    case ReduceOp::kSmallest:
      return Op("minimum", {of_first(op), of_rest(op)});
    case ReduceOp::kArgMax:
    case ReduceOp::kArgMin:
      break;
    default:
      return std::nullopt;
  }
  if (dims.size() != 1) return std::nullopt;  // a place counts elements of all dimensions
  const bool largest = op == ReduceOp::kArgMax;
  const ReduceOp extremum = largest ? ReduceOp::kLargest : ReduceOp::kSmallest;
  return Pointwise("place",
                   fmt::format("tl.where({{1}} {} {{0}}, {{3}} + {}, {{2}})", largest ? ">" : "<",
                               parts.first.sizes()[parts.dim]),
                   {of_first(extremum), of_rest(extremum), of_first(op), of_rest(op)}, Dtype::kInt64, 1);
}

std::optional<Value> Builder::ReduceInPieces(ReduceOp op, const Value& in, const std::vector<bool>& reduced) {
  const ReducedLines lines = LinesAlong(in.sizes(), reduced);
  if (options_.cuts == LowerOptions::Cuts::kNone || InAttention() || !lines.AreFew()) return std::nullopt;
  size_t last = reduced.size() - 1;
  while (!reduced[last] || in.sizes()[last] == 1) --last;
  // A product's tiles can reduce its lines as well.
  const bool keeps_last =
      in.sizes()[last] < lines.columns &&
      (IsMadeOfLines(graph, in.view, in.sizes()[last]) || IsMadeOfProduct(graph, in.view));
  const PieceOptions options{
      .longest_whole = kWholeLine, .keeps_last = keeps_last, .cuts_dimensions = CutsAnywhere()};
  const auto pieces = CutLines(in, reduced, options);
  if (!pieces) {
    const auto parts = PartLines(in, reduced, options);
    return parts ? ReduceInParts(op, *parts, reduced) : std::nullopt;
  }
  if (IsPlace(op)) {
    // The number of an element counts those between its line's only where none are.
    const bool together = std::ranges::adjacent_find(pieces->of_line, [](int64_t a, int64_t b) {
                            return b != a + 1;
                          }) == pieces->of_line.end();
    return together ? std::optional(PlaceInPieces(op, *pieces)) : std::nullopt;
  }
  // Dimensions of a piece lie behind those of its line.
  return Reduce(op, Reduce(op, pieces->x, pieces->within, false), pieces->of_line, false);
}

}  // namespace tritogen::teach
