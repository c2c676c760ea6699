// Products with bfloat16 weights by AVX2, eight outputs in the lanes of a register: a dot product's lanes
// would have to be summed at its end, and each of its weights widened by itself. Weights are arranged for it
// once.
#include <immintrin.h>

#include "runner/cpu/isa.h"

namespace tritogen::cpu::avx2bf16 {
namespace {

static_assert(kLanes == 8);
constexpr int64_t kOutsApart = 2 * kLanes;  // of four rows or more; of fewer kOutUnit

// Panels of kLanes outputs, one after another, each [in / 2][kLanes] pairs of neighbouring weights of an
// output; what is missing of the last panel is 0.
int64_t PanelPairs(const Matrix& m) {
  return m.in / 2 * kLanes;
}
size_t ArrangedBytes(const Matrix& m) {
  return static_cast<size_t>((m.out + kLanes - 1) / kLanes * PanelPairs(m)) * sizeof(uint32_t);
}
void Arrange(const Matrix& m, void* to) {
  auto* pairs = static_cast<uint32_t*>(to);
  __builtin_memset(to, 0, ArrangedBytes(m));
  for (int64_t o = 0; o < m.out; ++o) {
    const uint16_t* row = static_cast<const uint16_t*>(m.values) + o * m.in;
    uint32_t* panel = pairs + o / kLanes * PanelPairs(m) + o % kLanes;
    for (int64_t i = 0; i < m.in; i += 2) panel[i / 2 * kLanes] = Read<uint32_t>(row + i);
  }
}

// Eight outputs of a row, as Finish (bfloat16 has no scales); the matrix may end before.
void Put(const Matrix& m, int64_t out, Vec sum, bool add, float* y) {
  const int64_t count = m.out - out < kLanes ? m.out - out : kLanes;
  if (count == kLanes) {
    if (m.bias) sum += Load(m.bias + out);
    if (add) sum += Load(y);
    return Store(y, sum);
  }
  float sums[kLanes];
  Store(sums, sum);
  for (int64_t o = 0; o < count; ++o) Finish(m, out + o, sums[o], add, y + o);
}

// Sums by rising `in`, whatever is computed beside them.
template <int64_t kPanels, int64_t kRows>
void Block(const Matrix& m, const float* x, int64_t out, bool add, float* y, int64_t y_stride) {
  const uint32_t* w = static_cast<const uint32_t*>(m.values) + out / kLanes * PanelPairs(m);
  Vec sums[kPanels][kRows];
  Clear(sums);
  const auto multiply = [&](const Vec(&weights)[kPanels], int64_t i) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int64_t r = 0; r < kRows; ++r) {
      const Vec input = Kept(All(x[r * m.in + i]));
#pragma GCC unroll 4
      for (int64_t p = 0; p < kPanels; ++p) sums[p][r] += weights[p] * input;
    }
  };
  for (int64_t i = 0; i < m.in; i += 2) {
    UintVec pairs[kPanels];
    Vec first[kPanels], second[kPanels];
#pragma GCC unroll 4
    for (int64_t p = 0; p < kPanels; ++p) {
      pairs[p] = Read<UintVec>(w + p * PanelPairs(m) + i / 2 * kLanes);
      first[p] = Bits<Vec>(pairs[p] << 16);
      second[p] = Bits<Vec>(pairs[p] & 0xffff0000);
    }
    multiply(first, i);
    multiply(second, i + 1);
  }
#pragma GCC unroll 4
  for (int64_t p = 0; p < kPanels; ++p) {
#pragma GCC unroll 4
    for (int64_t r = 0; r < kRows; ++r)
      Put(m, out + p * kLanes, sums[p][r], add, y + r * y_stride + out + p * kLanes);
  }
}

// Rows [row, rows), fewer than kRowsAtOnce.
template <int64_t kPanels>
void MultiplyRest(const Matrix& m, const float* x, int64_t row, int64_t rows, int64_t out, bool add, float* y,
                  int64_t y_stride) {
  if (rows - row >= 2) {
    Block<kPanels, 2>(m, x + row * m.in, out, add, y + row * y_stride, y_stride);
    row += 2;
  }
  if (row < rows) Block<kPanels, 1>(m, x + row * m.in, out, add, y + row * y_stride, y_stride);
}

// A multiple of kRowsAtOnce of rows.
template <int64_t kPanels>
void MultiplyFull(const Matrix& m, const float* x, int64_t rows, int64_t out, bool add, float* y,
                  int64_t y_stride) {
  for (int64_t r = 0; r < rows; r += kRowsAtOnce)
    Block<kPanels, kRowsAtOnce>(m, x + r * m.in, out, add, y + r * y_stride, y_stride);
}

void Multiply(const Matrix& m, const void* tiles, int64_t rows, int64_t from, int64_t to, bool add, float* y,
              int64_t y_stride) {
  const float* x = static_cast<const float*>(tiles);
  const int64_t full = rows / kRowsAtOnce * kRowsAtOnce;
  int64_t out = from;
  for (; out + kOutsApart <= to; out += kOutsApart)
    MultiplyFull<kOutsApart / kLanes>(m, x, full, out, add, y, y_stride);
  for (; out < to; out += kLanes) MultiplyFull<1>(m, x, full, out, add, y, y_stride);
  if (full == rows) return;
  out = from;
  for (; out + kOutUnit <= to; out += kOutUnit)
    MultiplyRest<kOutUnit / kLanes>(m, x, full, rows, out, add, y, y_stride);
  for (; out < to; out += kLanes) MultiplyRest<1>(m, x, full, rows, out, add, y, y_stride);
}

bool Takes(const Matrix& m) {
  return m.element == Element::kBFloat16 && m.in % 2 == 0;
}

}  // namespace

const LinearKernels kLinear = {Takes, FloatTileBytes, PackFloats, Multiply, ArrangedBytes, Arrange};

}  // namespace tritogen::cpu::avx2bf16
