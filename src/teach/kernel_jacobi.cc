// Eigenvalues and singular values by Jacobi's rotations. In each round every row, or column, meets another,
// and as many rotations as there are pairs are made at once; in all rounds of a sweep each meets every other.
// The matrix stays in the result's memory, where pairs are found.
#include <fmt/format.h>

#include "teach/factor_code.h"

namespace tritogen::teach {
namespace {

// Sweeps at most (they converge quadratically, so this is never seen but where there is NaN), and the share
// of off-diagonal numbers at which a sweep has been the last one: those after it are below rounding.
constexpr int kMostSweeps = 20;

std::string Enough(Dtype dtype) {
  return dtype == Dtype::kFloat64 ? "1e-12" : "2e-6";
}

// Two players of each pair in a round; the last one of them stays, the others move on.
constexpr const char* kPairs = R"(
        one = tl.where(half == 0, 2 * PAIRS - 1, (turn + half) % (2 * PAIRS - 1))
        two = (turn + 2 * PAIRS - 1 - half) % (2 * PAIRS - 1)
        p = tl.minimum(one, two)
        q = tl.maximum(one, two)
        meet = (half < PAIRS) & (q < WIDTH))";

// Of a rotation by so little that its cosine is 1 nothing is lost this way.
constexpr const char* kAngles = R"(
        tangent = tl.where(theta < 0.0, -1.0, 1.0) / (tl.abs(theta) + tl.sqrt(theta * theta + 1.0))
        tangent = tl.where(between == 0.0, 0.0, tangent)
        cosine = 1.0 / tl.sqrt(tangent * tangent + 1.0)
        sine = tangent * cosine
        share = sine / (1.0 + cosine))";

// Both columns of each pair, of a matrix with so many rows, and what a rotation makes of them.
std::string ReadColumns(const char* matrix, const char* rows, const char* height) {
  return fmt::format(R"(
        at = {} + {}[:, None] * WIDTH
        column_mask = ({}[:, None] < {}) & meet[None, :]
        left = tl.load(at + p[None, :], mask=column_mask, other=0.0)
        right = tl.load(at + q[None, :], mask=column_mask, other=0.0))",
                     matrix, rows, rows, height);
}

constexpr const char* kTurnColumns = R"(
        # What other threads have stored is read only behind a barrier.
        tl.debug_barrier()
        tl.store(at + p[None, :], left - sine[None, :] * (right + share[None, :] * left), mask=column_mask)
        tl.store(at + q[None, :], right + sine[None, :] * (left - share[None, :] * right), mask=column_mask))";

constexpr const char* kEigenRound = R"(
        small = tl.load(out + p * (WIDTH + 1), mask=meet, other=0.0)
        large = tl.load(out + q * (WIDTH + 1), mask=meet, other=0.0)
        between = tl.load(out + q * WIDTH + p, mask=meet, other=0.0)
        theta = (large - small) / tl.where(between == 0.0, 1.0, 2.0 * between)
        off = tl.maximum(off, tl.max(tl.abs(between), axis=0)))";

constexpr const char* kTurnRows = R"(
        tl.debug_barrier()
        row_mask = meet[:, None] & (c[None, :] < WIDTH)
        upper = out + p[:, None] * WIDTH + c[None, :]
        lower = out + q[:, None] * WIDTH + c[None, :]
        left = tl.load(upper, mask=row_mask, other=0.0)
        right = tl.load(lower, mask=row_mask, other=0.0)
        tl.debug_barrier()
        top = left - sine[:, None] * (right + share[:, None] * left)
        bottom = right + sine[:, None] * (left - share[:, None] * right)
        tl.store(upper, tl.where(c[None, :] == q[:, None], 0.0, top), mask=row_mask)
        tl.store(lower, tl.where(c[None, :] == p[:, None], 0.0, bottom), mask=row_mask))";

// Columns of the matrix, which become orthogonal; their lengths are the singular values.
constexpr const char* kSingularRound = R"(
        small = tl.sum(left * left, axis=0)
        large = tl.sum(right * right, axis=0)
        between = tl.sum(left * right, axis=0)
        theta = (large - small) / tl.where(between == 0.0, 1.0, 2.0 * between)
        both = tl.sqrt(small) * tl.sqrt(large)
        off = tl.maximum(off, tl.max(tl.abs(between) / tl.where(both == 0.0, 1.0, both), axis=0)))";

// Rotations leave errors of their own in the matrix, which the vectors' own errors do only squared: a value
// is what the matrix as it was does to its vector.
constexpr const char* kEigenEnd = R"(
    product += column[:, None] * tl.load(vectors + step * WIDTH + c, mask=c < WIDTH, other=0.0)[None, :]
v = tl.load(vectors + c[:, None] * WIDTH + c[None, :], mask=square, other=0.0)
norm = tl.sum(v * v, axis=0)
norm = tl.where(norm == 0.0, 1.0, norm)
mine = tl.sum(v * product, axis=0) / norm)";

constexpr const char* kSingularEnd = R"(
tl.debug_barrier()
a = tl.load(out + r[:, None] * WIDTH + c[None, :], mask=mask, other=0.0)
mine = tl.sqrt(tl.sum(a * a, axis=0)))";

// `d`: columns as rows. NaN counts as infinite, so that no two have one place.
constexpr const char* kPlaces = R"(
tl.store(values + c, mine, mask=c < WIDTH)
tl.debug_barrier()
d = tl.arange(0, BLOCK_N)
others = tl.load(values + d, mask=d < WIDTH, other=0.0)
tl.debug_barrier()
mine_key = tl.where(mine != mine, float("inf"), mine)[None, :]
other_key = tl.where(others != others, float("inf"), others)[:, None])";

// Columns in the order of their values.
constexpr const char* kOrderedVectors = R"(
tl.store(vectors + c[:, None] * WIDTH + place[None, :], v, mask=square))";

constexpr const char* kOrderedLeft = R"(
a = a / tl.where(mine == 0.0, 1.0, mine)[None, :]
tl.store(out + r[:, None] * WIDTH + place[None, :], a, mask=mask))";

// Values and vectors in order: eigenvalues the smallest first, singular values the largest.
void AddResults(FactorCode* code, bool eigen, bool vectors) {
  if (eigen) {
    code->Add("tl.debug_barrier()\nproduct = a * 0.0\nfor step in range(0, WIDTH):");
    code->Add("    column = " + code->Load(0, "tl.maximum(r, step)", "tl.minimum(r, step)", "r < HEIGHT"));
  }
  code->Add(eigen ? kEigenEnd : kSingularEnd);
  if (vectors && !eigen)
    code->Add("v = tl.load(vectors + c[:, None] * WIDTH + c[None, :], mask=square, other=0.0)");
  code->Add(kPlaces);
  const char* first = eigen ? "<" : ">";
  code->Add(fmt::format(
      "before = (other_key {} mine_key) | ((other_key == mine_key) & (d[:, None] < c[None, :]))", first));
  code->Add("place = tl.sum(tl.where(before & (d[:, None] < WIDTH), 1, 0), axis=0)");
  code->Add(fmt::format("tl.store(values + place, mine{}, mask=c < WIDTH)", eigen ? "" : " * scale"));
  if (eigen) code->Add("v = v / tl.sqrt(norm)[None, :]");
  if (vectors && !eigen) code->Add(kOrderedLeft);
  if (vectors) code->Add(kOrderedVectors);
}

}  // namespace

void AddRotations(FactorCode* code) {
  const std::string& kind = code->prim().expr;
  const bool eigen = kind == "eigen", vectors = kind != "singular_values";
  code->Add(R"(
# Each program has one matrix, which lies in the result's memory until it is done.
matrix = tl.program_id(0)
r = tl.arange(0, BLOCK_M)
c = tl.arange(0, BLOCK_N)
half = tl.arange(0, HALF)
mask = (r[:, None] < HEIGHT) & (c[None, :] < WIDTH))");
  const std::string row = "r[:, None]", column = "c[None, :]";
  code->Add("a = " + (eigen ? code->Load(0, "tl.maximum(" + row + ", " + column + ")",
                                         "tl.minimum(" + row + ", " + column + ")", "mask")
                            : code->Load(0, row, column, "mask")));
  code->Add("out = " + code->Result());
  if (vectors) code->Add("vectors = out + HEIGHT * WIDTH");
  code->Add(vectors ? "values = vectors + WIDTH * WIDTH" : "values = out + HEIGHT * WIDTH");
  code->Add(R"(
largest = tl.max(tl.max(tl.abs(a), axis=1), axis=0)
scale = tl.exp2(tl.floor(tl.log2(tl.where(largest > 0.0, largest, 1.0))))
tl.store(out + r[:, None] * WIDTH + c[None, :], a / scale, mask=mask))");
  if (vectors) {
    code->Add("square = (c[:, None] < WIDTH) & (c[None, :] < WIDTH)");
    code->Add(fmt::format("one_at = tl.where(c[:, None] == c[None, :], 1.0, 0.0).to(tl.{})",
                          code->prim().dtype == Dtype::kFloat64 ? "float64" : "float32"));
    code->Add("tl.store(vectors + c[:, None] * WIDTH + c[None, :], one_at, mask=square)");
  }
  code->Add(fmt::format(
      "off = largest * 0.0 + 1.0\nsweep = 0\nwhile (sweep < {}) & (off > {}):\n    off = largest * 0.0",
      kMostSweeps, Enough(code->prim().dtype)));
  code->Add("    for turn in range(0, 2 * PAIRS - 1):\n        tl.debug_barrier()");
  code->Add(kPairs);
  const std::string columns = ReadColumns("out", "r", "HEIGHT");
  if (!eigen) code->Add(columns);
  code->Add(eigen ? kEigenRound : kSingularRound);
  code->Add(kAngles);
  if (eigen) code->Add(columns);
  code->Add(kTurnColumns);
  if (eigen) code->Add(kTurnRows);
  if (vectors) code->Add(ReadColumns("vectors", "c", "WIDTH") + kTurnColumns);
  code->Add("    sweep += 1");
  AddResults(code, eigen, vectors);
}

}  // namespace tritogen::teach
