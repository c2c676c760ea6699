// Writes by index tensors. A small one is a choice by its reader: each element looks for the index entries
// that name it, so that no two programs write to one place and the order of a sum is fixed. A large one goes
// through the entries once, which meet in their elements atomically; where the last entry wins, what meets is
// their number.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "program/print.h"
#include "teach/lowering.h"

namespace tritogen::teach {
namespace {

// An element and an entry are compared in some picoseconds each; beside that the second launch of atomics,
// for what they start from, is nothing.
constexpr int64_t kMostComparisons = int64_t{1} << 22;
constexpr int64_t kMostWithoutAtomics = int64_t{1} << 26;
// Of so many entries for each element, all programs would wait for each other at few places.
constexpr int64_t kCrowd = 1024;
constexpr int64_t kNeighbours = 1024;  // entries that go to one copy

// Space of a scatter: every element of self against every entry of its line of the index.
struct Lines2 {
  std::vector<int64_t> space;  // self's sizes and the length of the index's line
  std::vector<Value> entry;    // indices of an entry of the index in it
  std::optional<Value> valid;  // where the index has that line
  Value position, own;         // number of the entry, index of the element along dim
};

Lines2 LinesOf(Builder& b, const std::vector<int64_t>& sizes, const Value& index, int64_t dim) {
  Lines2 l;
  l.space = sizes;
  l.space.push_back(index.sizes()[dim]);
  l.entry = b.Indices(l.space);
  l.position = l.entry.back();
  l.own = l.entry[dim];
  l.entry.pop_back();
  l.entry[dim] = l.position;
  std::string expr;
  std::vector<Value> limited;
  for (size_t d = 0; d < l.entry.size(); ++d) {
    if (static_cast<int64_t>(d) == dim || index.sizes()[d] >= sizes[d]) continue;
    expr += fmt::format("{}({{{}}} < {})", expr.empty() ? "" : " & ", limited.size(), index.sizes()[d]);
    limited.push_back(l.entry[d]);
  }
  if (!limited.empty()) l.valid = b.Pointwise("has_line", expr, limited, Dtype::kBool, 0);
  return l;
}

// How entries that name one element become one.
struct Meeting {
  ReduceOp op;
  std::string_view join;  // with what was there
  std::string atomic;
};

Meeting MeetingOf(ReduceOp op) {
  if (op == ReduceOp::kSum) return {op, "add", "atomic_add"};
  if (op == ReduceOp::kMax) return {op, "maximum", "atomic_max"};
  if (op == ReduceOp::kMin) return {op, "minimum", "atomic_min"};
  return {op, "mul", ""};
}

bool HasAtomics(Dtype dtype) {
  return dtype == Dtype::kFloat32 || dtype == Dtype::kFloat64 || dtype == Dtype::kInt32 ||
         dtype == Dtype::kInt64;
}

// What counts for nothing beside floating-point entries.
double NeutralOf(ReduceOp op) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return op == ReduceOp::kSum ? 0 : op == ReduceOp::kProd ? 1 : op == ReduceOp::kMax ? -kInfinity : kInfinity;
}

// The same of entries of any dtype.
Arg NeutralFor(ReduceOp op, Dtype dtype) {
  if (IsFloating(dtype)) return Arg{NeutralOf(op)};
  if (op == ReduceOp::kSum || op == ReduceOp::kProd) return Arg{int64_t{op == ReduceOp::kProd}};
  const int bits = static_cast<int>(DtypeSize(dtype)) * 8;
  if (dtype == Dtype::kUint8) return Arg{int64_t{op == ReduceOp::kMax ? 0 : 255}};
  const int64_t largest = std::numeric_limits<int64_t>::max() >> (64 - bits);
  return Arg{op == ReduceOp::kMax ? -largest - 1 : largest};
}

class Scatter {
 public:
  Scatter(Builder& b, const Value& index, int64_t dim) : b_(b), index_(index), dim_(dim) {}

  // `start` and the entries, met: those of a tensor that has no less than the index has, or ones. Nothing
  // where that takes too many comparisons of what atomics cannot do.
  std::optional<Value> Meet(ReduceOp op, const Value& start, const std::optional<Value>& entries) {
    const Meeting meeting = MeetingOf(op);
    const int64_t comparisons = start.view.numel() * index_.sizes()[dim_];
    const bool atomic = comparisons > kMostComparisons && HasAtomics(start.dtype) && !meeting.atomic.empty();
    if (!atomic && comparisons > kMostWithoutAtomics) return std::nullopt;
    const std::vector<int64_t>& sizes = index_.sizes();
    const Value entry = entries ? OfThese(*entries, sizes) : b_.Fill(sizes, start.dtype, Arg{1.0});
    if (atomic && op == ReduceOp::kSum && Product(sizes) / start.view.numel() >= kCrowd)
      return InCopies(start, entry);
    if (atomic) return Atomically(meeting.atomic, start, entry);
    const Lines2 l = LinesOf(b_, start.sizes(), index_, dim_);
    Value named = b_.Load("target", index_, l.entry, l.valid, "-1");
    Value own = b_.Pointwise(
        "own", fmt::format("tl.where({{0}} == {{1}}, {{2}}, {})", PythonLiteral(NeutralFor(op, start.dtype))),
        {named, l.own, b_.Load("added", entry, l.entry, l.valid)}, ComputeDtype(start.dtype), 1);
    return b_.Op(meeting.join, {start, b_.Reduce(op, own, {-1}, false)}, start.dtype);
  }

  // The number of the last entry along dim that names the element; less than 0 where there is none.
  Value Last(const std::vector<int64_t>& sizes) {
    if (Product(sizes) * index_.sizes()[dim_] > kMostComparisons) {
      const Value none = b_.Fill(sizes, Dtype::kInt32, Arg{int64_t{-1}});
      return Atomically("atomic_max", none, b_.Cast(b_.Index(index_.sizes(), dim_), Dtype::kInt32));
    }
    const Lines2 l = LinesOf(b_, sizes, index_, dim_);
    Value named = b_.Load("target", index_, l.entry, l.valid, "-1");
    Value found =
        b_.Pointwise("found", "tl.where({0} == {1}, {2}, -1)", {named, l.own, l.position}, Dtype::kInt32, 1);
    return b_.Reduce(ReduceOp::kMax, found, {-1}, false);
  }

 private:
  // The first elements of a tensor along every dimension.
  static Value OfThese(Value entries, const std::vector<int64_t>& sizes) {
    for (size_t d = 0; d < sizes.size(); ++d)
      entries.view = Slice(entries.view, static_cast<int64_t>(d), 0, sizes[d], 1);
    return entries;
  }

  // Sums in several copies of the elements, each for other stretches of the entries, and then their sum.
  Value InCopies(const Value& start, const Value& entry) {
    constexpr int64_t kElements = int64_t{1} << 17, kMostCopies = 256;
    const std::vector<int64_t>& sizes = index_.sizes();
    const int64_t copies = std::clamp<int64_t>(kElements / start.view.numel(), 1, kMostCopies);
    std::vector<Value> at = b_.Indices(sizes);
    std::vector<Builder::Term> terms;
    int64_t stride = Product(sizes);
    for (size_t d = 0; d < sizes.size(); ++d) {
      stride /= sizes[d];
      terms.push_back({stride, at[d]});
    }
    const Value number = b_.Affine("entry", terms, 0);
    at[dim_] = index_;
    at.insert(at.begin(), b_.Pointwise("copy", fmt::format("({{0}} // {}) % {}", kNeighbours, copies),
                                       {number}, Dtype::kInt32, 0));
    std::vector<int64_t> spread = start.sizes();
    spread.insert(spread.begin(), copies);
    const Value zeros = b_.Fill(spread, start.dtype, IsFloating(start.dtype) ? Arg{0.0} : Arg{int64_t{0}});
    const Value sums = b_.Scatter("copies", "atomic_add", zeros, at, dim_ + 1, entry);
    return b_.Op("add", {start, b_.Reduce(ReduceOp::kSum, sums, {0}, false)}, start.dtype);
  }

  Value Atomically(const std::string& how, const Value& start, const Value& entry) {
    std::vector<Value> at = b_.Indices(index_.sizes());
    at[dim_] = index_;
    return b_.Scatter("scattered", how, start, at, dim_, entry);
  }

  Builder& b_;
  const Value index_;
  const int64_t dim_;
};

// What no entry's value decides is the same along dimensions along which the index is: such a scatter has
// only the first of these. `sizes` are self's.
struct Narrowed {
  Value index;
  std::vector<int64_t> sizes;
};

Narrowed NarrowedTo(Value index, std::vector<int64_t> sizes, int64_t dim) {
  constexpr int64_t kWorthALaunch = int64_t{1} << 18;  // comparisons
  if (Product(sizes) * index.sizes()[dim] <= kWorthALaunch) return {index, sizes};
  for (int64_t d = 0; d < index.view.rank(); ++d) {
    if (d == dim || index.view.strides[d] != 0 || index.sizes()[d] != sizes[d]) continue;
    sizes[d] = 1;
    index.view = Slice(index.view, d, 0, 1, 1);
  }
  return {index, sizes};
}

// The last entry that names an element wins.
bool LowerAssignment(Builder& b, const Value& x, const Value& index, int64_t dim, const BoundArgs& args) {
  const Narrowed narrow = NarrowedTo(index, x.sizes(), dim);
  const Value found = Scatter(b, narrow.index, dim).Last(narrow.sizes);
  const Value last{Expand(found.view, x.sizes()), found.dtype};
  if (!b.HasTensor(args, "src")) {
    const std::string text = NumberText(args["value"], x.dtype);
    b.Return({b.Pointwise("scattered", fmt::format("tl.where({{0}} >= 0, {}, {{1}})", text), {last, x},
                          x.dtype, 1)});
    return true;
  }
  std::vector<Value> at = b.Indices(x.sizes());
  at[dim] = last;
  Value hit = b.Pointwise("hit", "{0} >= 0", {last}, Dtype::kBool, 0);
  Value written = b.Load("written", b.Tensor(args, "src"), at, hit);
  b.Return({b.Pointwise("scattered", "tl.where({0}, {1}, {2})", {hit, written, x}, x.dtype, 1)});
  return true;
}

// Half types meet in float32. `own`: with what was there, else that stays only where no entry is.
bool LowerMeeting(Builder& b, ReduceOp op, bool mean, bool own, const Value& x, const Value& index,
                  int64_t dim, const Value& src) {
  const Dtype dtype = ComputeDtype(x.dtype);
  const Value before = b.Cast(x, dtype);
  const Value start = own ? before : b.Fill(x.sizes(), dtype, NeutralFor(op, dtype));
  auto made = Scatter(b, index, dim).Meet(op, start, src);
  if (!made) return false;
  if (mean || !own) {
    const Narrowed narrow = NarrowedTo(index, x.sizes(), dim);
    const Value none = b.Fill(narrow.sizes, Dtype::kFloat32, Arg{0.0});
    const auto met = Scatter(b, narrow.index, dim).Meet(ReduceOp::kSum, none, {});
    if (!met) return false;
    const Value count{Expand(met->view, x.sizes()), met->dtype};
    if (mean) {
      made = b.Pointwise("mean", own ? "{0} / ({1} + 1)" : "{0} / tl.maximum({1}, 1.0)", {*made, count},
                         dtype, 2);
    }
    if (!own) made = b.Pointwise("reduced", "tl.where({0} > 0, {1}, {2})", {count, *made, before}, dtype, 1);
  }
  b.Return({b.Cast(*made, x.dtype)});
  return true;
}

bool LowerReduced(Builder& b, const Value& x, const Value& index, int64_t dim, const BoundArgs& args) {
  const auto* how = std::get_if<std::string>(&args["reduce"].v);
  if (how == nullptr || x.dtype == Dtype::kBool) return false;
  if (*how == "mean" && !IsFloating(x.dtype)) return false;  // a division of integers
  const ReduceOp op = *how == "amax"   ? ReduceOp::kMax
                      : *how == "amin" ? ReduceOp::kMin
                      : *how == "prod" ? ReduceOp::kProd
                                       : ReduceOp::kSum;
  return LowerMeeting(b, op, *how == "mean", AsBool(args["include_self"], true), x, index, dim,
                      b.Tensor(args, "src"));
}

}  // namespace

bool LowerScatter(Builder& b, std::string_view op, const BoundArgs& args) {
  const Value x = b.Tensor(args, "self"), index = b.Tensor(args, "index");
  const int rank = x.view.rank();
  if (rank == 0 || index.view.rank() != rank || !x.view.guards.empty()) return false;
  const int64_t dim = WrapDim(AsInt(args["dim"]).value_or(0), rank);
  if (op == "scatter_reduce") return LowerReduced(b, x, index, dim, args);
  if (op == "scatter") return LowerAssignment(b, x, index, dim, args);
  if (!IsFloating(x.dtype) && !HasAtomics(x.dtype)) return false;
  return LowerMeeting(b, ReduceOp::kSum, false, true, x, index, dim, b.Tensor(args, "src"));
}

}  // namespace tritogen::teach
