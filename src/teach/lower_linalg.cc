// Factors of matrices: LU with the largest pivots, Cholesky, Householder's reflections, triangular systems,
// eigenvalues and singular values by Jacobi's rotations. A program has a matrix, or of a triangular system
// some columns; what no program holds, the recorder cuts into blocks (worker/blocked_decompositions.py).
#include <algorithm>

#include "base/error.h"
#include "teach/kernel.h"
#include "teach/lowering.h"

namespace tritogen::teach {
namespace {

constexpr int64_t kHeldMatrix = 16384;    // elements, each dimension a power of 2, that a program holds
constexpr int64_t kLongestSystem = 1024;  // rows of a triangular system

int64_t Rows(const Value& x) {
  return x.sizes()[x.view.rank() - 2];
}

int64_t Columns(const Value& x) {
  return x.sizes().back();
}

std::vector<int64_t> BatchOf(const Value& x) {
  return {x.sizes().begin(), x.sizes().end() - 2};
}

Value Transposed(const Value& x) {
  std::vector<int64_t> order(x.view.rank());
  for (int i = 0; i < x.view.rank(); ++i) order[i] = i;
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return {Permute(x.view, order), x.dtype};
}

bool IsMatrix(const Value& x) {
  return x.view.rank() >= 2 && x.view.numel() > 0 &&
         (x.dtype == Dtype::kFloat32 || x.dtype == Dtype::kFloat64);
}

bool IsHeld(int64_t rows, int64_t columns) {
  return NextPowerOf2(rows) * NextPowerOf2(columns) <= kHeldMatrix;
}

// What is asked for of matrices, and what comes of it: their dimensions in front, then so many numbers each.
struct Factored {
  PrimId made;
  std::vector<int64_t> batch;
  int64_t numbers;
  Dtype dtype;

  // Rows of so many columns that begin at this number of each matrix's.
  Value Part(Builder& b, int64_t first, const std::vector<int64_t>& sizes) const {
    std::vector<int64_t> all = {Product(batch)}, strides = {numbers}, own = ContiguousStrides(sizes);
    all.insert(all.end(), sizes.begin(), sizes.end());
    strides.insert(strides.end(), own.begin(), own.end());
    std::vector<int64_t> shape = batch;
    shape.insert(shape.end(), sizes.begin(), sizes.end());
    return b.Reshape({View{made, first, all, strides, {}}, dtype}, shape);
  }
};

// REQUIRES: the batches of all operands are equal.
std::optional<Factored> Factor(Builder& b, std::string name, std::string kind,
                               const std::vector<Value>& operands, int64_t numbers, double flops) {
  const Value& first = operands[0];
  Factored done{-1, BatchOf(first), numbers, first.dtype};
  Prim prim;
  prim.kind = PrimKind::kFactor;
  prim.name = std::move(name);
  prim.origin = b.origin;
  prim.expr = std::move(kind);
  prim.dtype = prim.held = first.dtype;
  prim.sizes = {Product(done.batch), numbers};
  if (Product(prim.sizes) > INT32_MAX) return std::nullopt;
  for (const Value& operand : operands) {
    if (operand.view.numel() > INT32_MAX) return std::nullopt;
    ReadByStrides(b, b.Reshape(operand, {prim.sizes[0], Rows(operand), Columns(operand)}),
                  /*may_repeat=*/true, &prim);
  }
  prim.flops = flops / static_cast<double>(numbers);
  done.made = b.graph.Add(std::move(prim));
  return done;
}

// PyTorch's report of what went wrong, and where: nothing did.
Value NoErrors(Builder& b, const Value& x) {
  return b.Fill(BatchOf(x), Dtype::kInt32, Arg{int64_t{0}});
}

bool LowerCholesky(Builder& b, const BoundArgs& args) {
  Value a = b.Tensor(args, "self");
  if (!IsMatrix(a) || !IsHeld(Rows(a), Rows(a))) return false;
  const bool upper = AsBool(args["upper"], false);
  const int64_t n = Rows(a);
  const double size = static_cast<double>(n);
  const auto done =
      Factor(b, "factor", "cholesky", {upper ? Transposed(a) : a}, n * n, size * size * size / 3);
  if (!done) return false;
  const Value lower = done->Part(b, 0, {n, n});
  b.Return({upper ? Transposed(lower) : lower, NoErrors(b, a)});
  return true;
}

// Numbers of both factors in a matrix, the order that its rows end up in, the row taken at each step.
bool LowerLu(Builder& b, std::string_view op, const BoundArgs& args) {
  const Value a = b.Tensor(args, "A");
  if (!IsMatrix(a) || !IsHeld(Rows(a), Columns(a)) || !AsBool(args["pivot"], true)) return false;
  const int64_t m = Rows(a), n = Columns(a), least = std::min(m, n);
  const double work = 2.0 * static_cast<double>(m * n) * static_cast<double>(least);
  const auto done = Factor(b, "factors", "lu", {a}, m * n + m + least, work);
  if (!done) return false;
  const Value factors = done->Part(b, 0, {m, n}), order = done->Part(b, m * n, {m});
  if (op == "linalg_lu_factor_ex") {
    const Value pivots = b.Op("add", {done->Part(b, m * n + m, {least}), 1.0}, a.dtype);
    b.Return({factors, b.Cast(pivots, Dtype::kInt32), NoErrors(b, a)});
    return true;
  }
  const auto select = [&](const Value& part, const char* keep, const char* otherwise) {
    const int rank = part.view.rank();
    const std::string text = std::string("tl.where({1} ") + keep + " {2}, {0}, " + otherwise + ")";
    return b.Pointwise("part", text, {part, b.Index(part.sizes(), rank - 2), b.Index(part.sizes(), rank - 1)},
                       a.dtype, 1);
  };
  const Value lower =
      select({Slice(factors.view, -1, 0, least, 1), a.dtype}, ">", "tl.where({1} == {2}, 1.0, 0.0)");
  const Value upper = select({Slice(factors.view, -2, 0, least, 1), a.dtype}, "<=", "0.0");
  std::vector<int64_t> square = done->batch;
  square.insert(square.end(), {m, m});
  Value places{Unsqueeze(order.view, order.view.rank() - 1), a.dtype};
  places.view = Expand(places.view, square);
  const Value own = b.Index(square, static_cast<int64_t>(square.size()) - 2);
  b.Return({b.Cast(b.Op("eq", {places, b.Cast(own, a.dtype)}), a.dtype), lower, upper});
  return true;
}

bool LowerReflections(Builder& b, const BoundArgs& args) {
  const Value a = b.Tensor(args, "self");
  if (!IsMatrix(a) || !IsHeld(Rows(a), Columns(a))) return false;
  const int64_t m = Rows(a), n = Columns(a), least = std::min(m, n);
  const double work = 4.0 * static_cast<double>(m * n) * static_cast<double>(least);
  const auto done = Factor(b, "reflections", "reflections", {a}, m * n + least, work);
  if (!done) return false;
  b.Return({done->Part(b, 0, {m, n}), done->Part(b, m * n, {least})});
  return true;
}

// Equal batches, of which one may have been repeated.
std::vector<Value> SameBatches(const Value& a, const Value& b) {
  const std::vector<int64_t> both = BroadcastSizes({BatchOf(a), BatchOf(b)});
  const auto expanded = [&](const Value& x) {
    std::vector<int64_t> sizes = both;
    sizes.insert(sizes.end(), {Rows(x), Columns(x)});
    return Value{Expand(x.view, sizes), x.dtype};
  };
  return {expanded(a), expanded(b)};
}

bool LowerSolveTriangular(Builder& b, const BoundArgs& args) {
  Value a = b.Tensor(args, "self"), right = b.Tensor(args, "B");
  if (!IsMatrix(a) || !IsMatrix(right) || Rows(a) > kLongestSystem) return false;
  const bool left = AsBool(args["left"], true);
  bool upper = AsBool(args["upper"], false);
  if (!left) {  // x·a = b is aᵀ·xᵀ = bᵀ
    a = Transposed(a), right = Transposed(right);
    upper = !upper;
  }
  const std::vector<Value> both = SameBatches(a, right);
  const int64_t n = Rows(right), columns = Columns(right);
  const std::string kind = std::string(upper ? "solve_upper" : "solve_lower") +
                           (AsBool(args["unitriangular"], false) ? "_unit" : "");
  const double work = static_cast<double>(n * n) * static_cast<double>(columns);
  const auto done = Factor(b, "solution", kind, both, n * columns, work);
  if (!done) return false;
  const Value x = done->Part(b, 0, {n, columns});
  b.Return({left ? x : Transposed(x)});
  return true;
}

bool LowerEigen(Builder& b, const BoundArgs& args) {
  Value a = b.Tensor(args, "A");
  if (!IsMatrix(a) || !IsHeld(Rows(a), Rows(a))) return false;
  const auto* half = std::get_if<std::string>(&args["UPLO"].v);
  if (half != nullptr && *half == "U") a = Transposed(a);
  const int64_t n = Rows(a), square = n * n;
  const double work = 9.0 * static_cast<double>(square) * static_cast<double>(n);
  const auto done = Factor(b, "eigen", "eigen", {a}, 2 * square + n, work);
  if (!done) return false;
  const bool vectors = AsBool(args["compute_v"], true);
  b.Return({done->Part(b, 2 * square, {n}), vectors ? done->Part(b, square, {n, n}) : Value{}});
  return true;
}

// Of no fewer rows than columns.
bool LowerSingularValues(Builder& b, const BoundArgs& args) {
  const Value a = b.Tensor(args, "A");
  const bool vectors = AsBool(args["compute_uv"], true), full = AsBool(args["full_matrices"], false);
  if (!IsMatrix(a)) return false;
  const int64_t m = Rows(a), n = Columns(a);
  if (m < n || (vectors && full && m > n) || !IsHeld(m, n)) return false;
  const double work = 21.0 * static_cast<double>(m * n) * static_cast<double>(n);
  const int64_t before = m * n + (vectors ? n * n : 0);
  const auto done = Factor(b, "singular", vectors ? "singular" : "singular_values", {a}, before + n, work);
  if (!done) return false;
  const Value values = done->Part(b, before, {n});
  if (!vectors) {
    b.Return({Value{}, values, Value{}});
    return true;
  }
  b.Return({done->Part(b, 0, {m, n}), values, Transposed(done->Part(b, m * n, {n, n}))});
  return true;
}

}  // namespace

bool LowerFactor(Builder& b, const Node& node, std::string_view op, const BoundArgs& args) {
  if (op == "linalg_cholesky_ex") return LowerCholesky(b, args);
  if (op == "linalg_solve_triangular") return LowerSolveTriangular(b, args);
  if (op == "geqrf") return LowerReflections(b, args);
  if (op == "_linalg_eigh") return LowerEigen(b, args);
  if (op == "_linalg_svd") return LowerSingularValues(b, args);
  return LowerLu(b, op, args);
}

}  // namespace tritogen::teach
