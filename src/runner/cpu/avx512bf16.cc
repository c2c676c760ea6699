// Products by AVX-512's dot products of bfloat16, on CPUs without AMX: weights as they lie in memory times
// activations, both bfloat16, summed in float32.
#include <immintrin.h>

#include "runner/cpu/isa.h"

namespace tritogen::cpu::avx512bf16 {
namespace {

constexpr int64_t kDepth = 32;  // of `in` in a register

struct ByPairs {
  using Input = uint16_t;
  template <int64_t kOuts, int64_t kRows>
  static void Block(const Matrix& m, const uint16_t* x, int64_t out, bool add, float* y, int64_t y_stride) {
    const uint16_t* w = static_cast<const uint16_t*>(m.values) + out * m.in;
    __m512 sums[kOuts][kRows];
    Clear(sums);
    for (int64_t i = 0; i < m.in; i += kDepth) {
      __m512bh inputs[kRows];
      for (int64_t r = 0; r < kRows; ++r) inputs[r] = Read<__m512bh>(x + r * m.in + i);
      for (int64_t o = 0; o < kOuts; ++o) {
        const auto weights = Read<__m512bh>(w + o * m.in + i);
        for (int64_t r = 0; r < kRows; ++r) sums[o][r] = _mm512_dpbf16_ps(sums[o][r], weights, inputs[r]);
      }
    }
    for (int64_t o = 0; o < kOuts; ++o) {
      for (int64_t r = 0; r < kRows; ++r)
        Finish(m, out + o, Sum(Bits<Vec>(sums[o][r])), add, y + r * y_stride + out + o);
    }
  }
};

// Tiles are rows, one tile after another.
size_t TileBytes(int64_t in) {
  return static_cast<size_t>(kTileRows * in) * 2;
}
void Pack(const float* x, int64_t stride, int64_t rows, int64_t, int64_t in, void* tile) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < in; i += kDepth) {
      const float* from = x + r * stride + i;
      const __m512bh both = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + 16), _mm512_loadu_ps(from));
      __builtin_memcpy(static_cast<uint16_t*>(tile) + r * in + i, &both, sizeof(both));
    }
  }
}
bool Takes(const Matrix& m) {
  return m.element == Element::kBFloat16 && m.in % kDepth == 0;
}

}  // namespace

const LinearKernels kLinear = {Takes, TileBytes, Pack, MultiplyInBlocks<ByPairs>};

}  // namespace tritogen::cpu::avx512bf16
