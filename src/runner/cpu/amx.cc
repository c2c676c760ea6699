// Products by AMX tiles: weights as they lie in memory times activations, both bfloat16, summed in float32.
// int8 weights, which bfloat16 holds exactly, are widened a piece at a time.
#include <immintrin.h>

#include <cstdlib>

#include "runner/cpu/linear.h"

namespace tritogen::cpu::amx {
namespace {

constexpr int64_t kDepth = 32;  // of `in` in a tile
constexpr int64_t kOuts = 16;   // rows of a tile of weights

// A tile of activations: [in / 2][columns] of pairs along `in`. A last tile that stands alone has as many
// columns as rows, all others kTileRows.
int64_t Columns(int64_t rows) {
  return rows < kTileRows ? rows : kTileRows;
}

struct alignas(64) TileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Registers 0 to 3: sums; 4, 5: weights; 6, 7: activations.
void Configure(int64_t columns) {
  TileShapes shapes;
  for (int t = 0; t < 8; ++t) {
    shapes.rows[t] = kOuts;
    shapes.row_bytes[t] = static_cast<uint16_t>(t == 4 || t == 5 ? 2 * kDepth : 4 * columns);
  }
  _tile_loadconfig(&shapes);
}

void Prefetch(const void* from, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64) _mm_prefetch(static_cast<const char*>(from) + i, _MM_HINT_T0);
}

// A block of 32 outputs: from `out` on, of which those before `first` are another block's.
struct Outputs {
  const Matrix& matrix;
  int64_t out, first;
  bool add;
  float* y;
  int64_t y_stride;
};

template <int kSums>
void Write(const Outputs& to, int64_t columns, int64_t rows, int64_t row, int64_t out) {
  alignas(64) float sums[kOuts * kTileRows];
  const size_t stride = static_cast<size_t>(columns) * 4;  // registers are named in the assembler's text
  if constexpr (kSums == 0) _tile_stored(0, sums, stride);
  if constexpr (kSums == 1) _tile_stored(1, sums, stride);
  if constexpr (kSums == 2) _tile_stored(2, sums, stride);
  if constexpr (kSums == 3) _tile_stored(3, sums, stride);
  for (int64_t r = 0; r < rows; ++r) {
    float* y = to.y + (row + r) * to.y_stride;
    for (int64_t o = 0; o < kOuts; ++o) {
      if (out + o >= to.first) Finish(to.matrix, out + o, sums[o * columns + r], to.add, y + out + o);
    }
  }
}

struct Inputs {
  const std::byte* tiles;
  int64_t tile_bytes, columns;
};

// The block's outputs of the rows of one tile or two. `weights`: the block's, as bfloat16; `next`: what is
// prefetched meanwhile, or nothing.
template <bool kTwoTiles>
void Block(const Outputs& to, const uint16_t* weights, const std::byte* next, const Inputs& x, int64_t row,
           int64_t rows) {
  const int64_t in = to.matrix.in,
                next_bytes = kOutUnit * kDepth * static_cast<int64_t>(ElementBytes(to.matrix.element));
  const size_t pair_stride = static_cast<size_t>(x.columns) * 4, weight_stride = static_cast<size_t>(in) * 2;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t i = 0; i < in; i += kDepth) {
    const std::byte* pairs = x.tiles + row / kTileRows * x.tile_bytes + i / 2 * x.columns * 4;
    _tile_loadd(6, pairs, pair_stride);
    _tile_loadd(4, weights + i, weight_stride);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(5, weights + kOuts * in + i, weight_stride);
    _tile_dpbf16ps(1, 5, 6);
    if constexpr (kTwoTiles) {
      _tile_loadd(7, pairs + x.tile_bytes, pair_stride);
      _tile_dpbf16ps(2, 4, 7);
      _tile_dpbf16ps(3, 5, 7);
    }
    if (next) Prefetch(next + i / kDepth * next_bytes, next_bytes);
  }
  const int64_t first_rows = rows < kTileRows ? rows : kTileRows;
  Write<0>(to, x.columns, first_rows, row, to.out);
  Write<1>(to, x.columns, first_rows, row, to.out + kOuts);
  if constexpr (kTwoTiles) {
    Write<2>(to, x.columns, rows - kTileRows, row + kTileRows, to.out);
    Write<3>(to, x.columns, rows - kTileRows, row + kTileRows, to.out + kOuts);
  }
}

// A thread's memory for a block of widened weights.
class Widened {
 public:
  Widened() = default;
  Widened(const Widened&) = delete;
  Widened& operator=(const Widened&) = delete;
  ~Widened() { std::free(values_); }
  // Of int8; `count` a multiple of 32.
  const uint16_t* Of(const int8_t* from, int64_t count) {
    if (count > size_) {
      std::free(values_);
      size_ = count;
      values_ = static_cast<uint16_t*>(std::aligned_alloc(64, static_cast<size_t>(count) * 2));
      if (!values_) std::abort();
    }
    for (int64_t i = 0; i < count; i += 32) {
      const __m512bh both = _mm512_cvtne2ps_pbh(Floats(from + i + 16), Floats(from + i));
      _mm512_store_si512(values_ + i, reinterpret_cast<const __m512i&>(both));
    }
    return values_;
  }

 private:
  static __m512 Floats(const int8_t* from) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
  }
  uint16_t* values_ = nullptr;
  int64_t size_ = 0;
};

// The last block of a matrix whose `out` is no multiple of kOutUnit begins early.
void Multiply(const Matrix& m, const void* tiles, int64_t rows, int64_t from, int64_t to, bool add, float* y,
              int64_t y_stride) {
  static thread_local Widened widened;
  const Inputs x{static_cast<const std::byte*>(tiles), kTileRows * m.in * 2, Columns(rows)};
  const int64_t row_bytes = m.in * static_cast<int64_t>(ElementBytes(m.element));
  const auto start = [&](int64_t out) { return out < m.out - kOutUnit ? out : m.out - kOutUnit; };
  const auto values = [&](int64_t out) {
    return static_cast<const std::byte*>(m.values) + start(out) * row_bytes;
  };
  Configure(x.columns);
  for (int64_t out = from; out < to; out += kOutUnit) {
    const Outputs outputs{m, start(out), out, add, y, y_stride};
    const std::byte* next = out + kOutUnit < m.out ? values(out + kOutUnit) : nullptr;
    const uint16_t* weights = m.element == Element::kInt8
                                  ? widened.Of(reinterpret_cast<const int8_t*>(values(out)), kOutUnit * m.in)
                                  : reinterpret_cast<const uint16_t*>(values(out));
    for (int64_t row = 0; row < rows; row += 2 * kTileRows) {
      const int64_t left = rows - row;
      if (left > kTileRows) {
        Block<true>(outputs, weights, next, x, row, left < 2 * kTileRows ? left : 2 * kTileRows);
      } else {
        Block<false>(outputs, weights, next, x, row, left);
      }
      next = nullptr;  // is on its way
    }
  }
  _tile_release();
}

size_t TileBytes(int64_t in) {
  return static_cast<size_t>(kTileRows * in) * 2;
}

void Pack(const float* x, int64_t stride, int64_t rows, int64_t all_rows, int64_t in, void* tile) {
  const int64_t columns = Columns(all_rows);
  const __m512i apart =
      _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                         _mm512_set1_epi32(static_cast<int>(columns)));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < in; i += kDepth) {
      const float* from = x + r * stride + i;
      const __m512bh pairs = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + 16), _mm512_loadu_ps(from));
      _mm512_i32scatter_epi32(static_cast<int32_t*>(tile) + i / 2 * columns + r, apart,
                              reinterpret_cast<const __m512i&>(pairs), 4);
    }
  }
}

bool Takes(const Matrix& m) {
  return (m.element == Element::kBFloat16 || m.element == Element::kInt8) && m.in % kDepth == 0 &&
         m.out >= kOutUnit;
}

}  // namespace

const LinearKernels kLinear = {Takes, TileBytes, Pack, Multiply};

}  // namespace tritogen::cpu::amx
