// Products with matrices of any element and any size.
#include "runner/cpu/isa.h"

namespace tritogen::cpu::TRITOGEN_ISA {
namespace {

constexpr int64_t kRowsAtOnce = 4;
#if defined(__AVX512F__)
constexpr int64_t kOutsAtOnce = 4;  // 16 accumulators of 32 registers
#else
constexpr int64_t kOutsAtOnce = 2;  // 8 of 16
#endif

// Several outputs of several rows, each summed in the same order whatever stands beside it.
template <typename T, int64_t kOuts, int64_t kRows>
void Block(const Matrix& m, const float* x, int64_t out, bool add, float* y, int64_t y_stride) {
  const T* w = static_cast<const T*>(m.values) + out * m.in;
  Vec sums[kOuts][kRows] = {};
  int64_t i = 0;
  for (; i + kLanes <= m.in; i += kLanes) {
    Vec inputs[kRows];
    for (int64_t r = 0; r < kRows; ++r) inputs[r] = Load(x + r * m.in + i);
    for (int64_t o = 0; o < kOuts; ++o) {
      const Vec weights = Load(w + o * m.in + i);
      for (int64_t r = 0; r < kRows; ++r) sums[o][r] += weights * inputs[r];
    }
  }
  for (int64_t o = 0; o < kOuts; ++o) {
    for (int64_t r = 0; r < kRows; ++r) {
      float sum = Sum(sums[o][r]);
      for (int64_t k = i; k < m.in; ++k) sum += Load1(w + o * m.in + k) * x[r * m.in + k];
      Finish(m, out + o, sum, add, y + r * y_stride + out + o);
    }
  }
}

template <typename T, int64_t kOuts>
void Rows(const Matrix& m, const float* x, int64_t rows, int64_t out, bool add, float* y, int64_t y_stride) {
  int64_t r = 0;
  for (; r + kRowsAtOnce <= rows; r += kRowsAtOnce) {
    Block<T, kOuts, kRowsAtOnce>(m, x + r * m.in, out, add, y + r * y_stride, y_stride);
  }
  for (; r < rows; ++r) Block<T, kOuts, 1>(m, x + r * m.in, out, add, y + r * y_stride, y_stride);
}

template <typename T>
void MultiplyBy(const Matrix& m, const float* x, int64_t rows, int64_t from, int64_t to, bool add, float* y,
                int64_t y_stride) {
  int64_t out = from;
  for (; out + kOutsAtOnce <= to; out += kOutsAtOnce) Rows<T, kOutsAtOnce>(m, x, rows, out, add, y, y_stride);
  for (; out < to; ++out) Rows<T, 1>(m, x, rows, out, add, y, y_stride);
}

void Multiply(const Matrix& m, const void* tiles, int64_t rows, int64_t from, int64_t to, bool add, float* y,
              int64_t y_stride) {
  const float* x = static_cast<const float*>(tiles);
  switch (m.element) {
    case Element::kFloat32:
      return MultiplyBy<float>(m, x, rows, from, to, add, y, y_stride);
    case Element::kBFloat16:
      return MultiplyBy<BFloat16>(m, x, rows, from, to, add, y, y_stride);
    case Element::kFloat16:
      return MultiplyBy<Float16>(m, x, rows, from, to, add, y, y_stride);
    case Element::kInt8:
      return MultiplyBy<int8_t>(m, x, rows, from, to, add, y, y_stride);
  }
}

// Tiles are rows of floats, one tile after another.
size_t TileBytes(int64_t in) {
  return static_cast<size_t>(kTileRows * in) * sizeof(float);
}
void Pack(const float* x, int64_t stride, int64_t rows, int64_t, int64_t in, void* tile) {
  for (int64_t r = 0; r < rows; ++r) {
    __builtin_memcpy(static_cast<float*>(tile) + r * in, x + r * stride,
                     static_cast<size_t>(in) * sizeof(float));
  }
}
bool Takes(const Matrix&) {
  return true;
}

}  // namespace

const LinearKernels kLinear = {Takes, TileBytes, Pack, Multiply};

}  // namespace tritogen::cpu::TRITOGEN_ISA
