// What both ways of sorting do with the pieces of long lines.
#include <fmt/format.h>

#include <algorithm>

#include "base/rounding.h"
#include "teach/sorting.h"

namespace tritogen::teach {
namespace {

// How many elements of piece `other` come before an element of another piece, all sorted.
Value CountBefore(Builder& b, const Value& sorted, const Value& element, const Value& other, const Value& own,
                  const std::vector<Value>& at, const std::string& before) {
  Value count = b.Fill(element.sizes(), Dtype::kInt32, Arg{int64_t{0}});
  for (int64_t left = sorted.sizes().back(); left >= 1; left /= 2) {
    const int64_t half = left / 2;
    std::vector<Value> probe(at.begin(), at.end() - 2);
    probe.back() = other;
    probe.push_back(left == 1 ? count : b.Affine("probe", {{1, count}}, half - 1));
    const Value there = b.Load("there", sorted, probe);
    count = b.Pointwise("count",
                        fmt::format("tl.where({}, {{4}} + {}, {{4}})", before, std::max<int64_t>(half, 1)),
                        {there, element, other, own, count}, Dtype::kInt32, 4);
  }
  return count;
}

}  // namespace

std::string LastText(Dtype dtype, bool descending) {
  if (IsFloating(dtype)) return descending ? "float(\"-inf\")" : "float(\"nan\")";
  const bool wide = dtype == Dtype::kInt64;
  if (dtype == Dtype::kUint8) return descending ? "0" : "255";
  const int64_t bits = static_cast<int64_t>(DtypeSize(dtype)) * 8;
  const std::string most = wide ? "9223372036854775807" : fmt::format("{}", (int64_t{1} << (bits - 1)) - 1);
  return descending ? fmt::format("-{} - 1", most) : most;
}

bool AreFew(int64_t count, int64_t length) {
  return count <= length / 8 && count <= 512;
}

Pieces CutUp(Builder& b, const Value& line, int64_t piece, bool descending) {
  const int64_t n = line.sizes().back();
  std::vector<int64_t> sizes = line.sizes();
  sizes.back() = CeilDiv(n, piece);
  sizes.push_back(piece);
  std::vector<Value> at = b.Indices(sizes);
  const Value number = b.Affine("number", {{piece, at[at.size() - 2]}, {1, at.back()}}, 0);
  at.pop_back();
  at.back() = number;
  Value inside = b.Pointwise("inside", fmt::format("{{0}} < {}", n), {number}, Dtype::kBool, 0);
  return {b.Load("piece", line, at, inside, LastText(line.dtype, descending)), number};
}

// An element's place is the sum of what it has in front of it in each piece.
Value Merged(Builder& b, const Value& sorted, const Value& entries, const std::vector<int64_t>& line,
             const std::string& before) {
  const std::vector<int64_t>& sizes = sorted.sizes();
  std::vector<int64_t> space = sizes;  // (…, pieces, piece, pieces): each element against every piece
  space.push_back(sizes[sizes.size() - 2]);
  const std::vector<Value> at = b.Indices(space);
  const Value own = at[at.size() - 3], place = at[at.size() - 2], other = at.back();
  const Value element{Expand(Unsqueeze(sorted.view, -1), space), sorted.dtype};
  const Value counted = b.Pointwise(
      "counted", "tl.where({0} == {1}, {2}, {3})",
      {other, own, place, CountBefore(b, sorted, element, other, own, at, before)}, Dtype::kInt32, 1);
  std::vector<Value> places = b.Indices(sizes);
  places.pop_back();
  places.back() =
      b.Reduce(ReduceOp::kSum, counted, {-1}, false);  // of what fills the last piece, behind the end
  return b.Scatter("order", "store", b.Fill(line, entries.dtype, Arg{int64_t{0}}), places,
                   static_cast<int64_t>(places.size()) - 1, entries);
}

}  // namespace tritogen::teach
