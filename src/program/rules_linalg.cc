// Shape rules of factors of matrices: those of each batch, whose dimensions stand in front.
#include <algorithm>

#include "program/catalogue.h"
#include "program/rules.h"

namespace tritogen::rules {
namespace {

bool IsMatrix(ShapeBuilder& b, const Terms& x) {
  return b.Require(x.size() >= 2, "a matrix has two dimensions");
}

Terms Batch(const Terms& x) {
  return {x.begin(), x.end() - 2};
}

Terms With(Terms sizes, std::initializer_list<Term> more) {
  sizes.insert(sizes.end(), more);
  return sizes;
}

bool IsSquare(ShapeBuilder& b, const Terms& x) {
  if (!IsMatrix(b, x)) return false;
  b.RequireEqual(x[x.size() - 2], x.back(), "a matrix of as many rows as columns");
  return true;
}

// The smaller one of rows and columns; nothing where they are not known yet.
std::optional<Term> Least(ShapeBuilder& b, const Terms& x) {
  if (!IsMatrix(b, x)) return std::nullopt;
  const Term rows = x[x.size() - 2], columns = x.back();
  if (!b.Require(rows.known() && columns.known(), "which one is smaller depends on sizes"))
    return std::nullopt;
  return Term::Of(std::min(rows.number, columns.number));
}

}  // namespace

void Cholesky(ShapeBuilder& b) {
  const Terms& x = b.In("self");
  if (!IsSquare(b, x)) return;
  b.Result(x);
  b.Result(Batch(x));
}

void LuFactor(ShapeBuilder& b) {
  const Terms& x = b.In("A");
  const auto least = Least(b, x);
  if (!least) return;
  b.Result(x);
  b.Result(With(Batch(x), {*least}));
  b.Result(Batch(x));
}

void Lu(ShapeBuilder& b) {
  const Terms& x = b.In("A");
  const auto least = Least(b, x);
  if (!least) return;
  const Term rows = x[x.size() - 2];
  b.Result(With(Batch(x), {rows, rows}));
  b.Result(With(Batch(x), {rows, *least}));
  b.Result(With(Batch(x), {*least, x.back()}));
}

void SolveTriangular(ShapeBuilder& b) {
  const Terms &factor = b.In("self"), &right = b.In("B");
  if (!IsSquare(b, factor) || !IsMatrix(b, right)) return;
  const size_t side = AsBool(b.args()["left"], true) ? 2 : 1;
  b.RequireEqual(factor.back(), right[right.size() - side], "the sizes that are solved for");
  b.Result(With(b.BroadcastedShapes(Batch(factor), Batch(right)), {right[right.size() - 2], right.back()}));
}

void Reflections(ShapeBuilder& b) {
  const Terms& x = b.In("self");
  const auto least = Least(b, x);
  if (!least) return;
  b.Result(x);
  b.Result(With(Batch(x), {*least}));
}

void Eigen(ShapeBuilder& b) {
  const Terms& x = b.In("A");
  if (!IsSquare(b, x)) return;
  b.Result(With(Batch(x), {x.back()}));
  b.Result(AsBool(b.args()["compute_v"], true) ? x : Terms{Term::Of(0)});
}

void SingularValues(ShapeBuilder& b) {
  const Terms& x = b.In("A");
  const auto least = Least(b, x);
  if (!least) return;
  const Term rows = x[x.size() - 2], columns = x.back();
  const bool vectors = AsBool(b.args()["compute_uv"], true), full = AsBool(b.args()["full_matrices"], false);
  b.Result(vectors ? With(Batch(x), {rows, full ? rows : *least}) : Terms{Term::Of(0)});
  b.Result(With(Batch(x), {*least}));
  b.Result(vectors ? With(Batch(x), {full ? columns : *least, columns}) : Terms{Term::Of(0)});
}

}  // namespace tritogen::rules
