// Products with matrices of any element and any size.
#include "runner/cpu/isa.h"

namespace tritogen::cpu::TRITOGEN_ISA {
namespace {

// By lanes of float32, whatever the weights are.
template <typename T>
struct ByLanes {
  using Input = float;
  template <int64_t kOuts, int64_t kRows>
  static void Block(const Matrix& m, const float* x, int64_t out, bool add, float* y, int64_t y_stride) {
    const T* w = static_cast<const T*>(m.values) + out * m.in;
    Vec sums[kOuts][kRows];
    Clear(sums);
    int64_t i = 0;
    for (; i + kLanes <= m.in; i += kLanes) {
      Vec inputs[kRows];
      for (int64_t r = 0; r < kRows; ++r) inputs[r] = Kept(Load(x + r * m.in + i));
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
};

void Multiply(const Matrix& m, const void* tiles, int64_t rows, int64_t from, int64_t to, bool add, float* y,
              int64_t y_stride) {
  switch (m.element) {
    case Element::kFloat32:
      return MultiplyInBlocks<ByLanes<float>>(m, tiles, rows, from, to, add, y, y_stride);
    case Element::kBFloat16:
      return MultiplyInBlocks<ByLanes<BFloat16>>(m, tiles, rows, from, to, add, y, y_stride);
    case Element::kFloat16:
      return MultiplyInBlocks<ByLanes<Float16>>(m, tiles, rows, from, to, add, y, y_stride);
    case Element::kInt8:
      return MultiplyInBlocks<ByLanes<int8_t>>(m, tiles, rows, from, to, add, y, y_stride);
  }
}

bool Takes(const Matrix&) {
  return true;
}

}  // namespace

const LinearKernels kLinear = {Takes, FloatTileBytes, PackFloats, Multiply};

}  // namespace tritogen::cpu::TRITOGEN_ISA
