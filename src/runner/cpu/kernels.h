// The CPU runner's arithmetic, compiled once per instruction set. Everything is computed in float32, whatever
// weights and cache are stored in; a row's numbers never depend on which rows are computed beside it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tritogen::cpu {

enum class Element : uint8_t { kFloat32, kBFloat16, kFloat16, kInt8 };
constexpr size_t ElementBytes(Element element) {
  return element == Element::kFloat32 ? 4 : element == Element::kInt8 ? 1 : 2;
}

// Rows of activations that are multiplied at once, and positions in a block of the cache.
inline constexpr int64_t kTileRows = 16, kBlockTokens = 16;

struct LinearKernels;

struct Matrix {  // [out, in], row-major but where the kernels arrange it
  const LinearKernels* kernels = nullptr;
  const void* values = nullptr;
  Element element = Element::kFloat32;
  const float* scales = nullptr;  // of kInt8's rows
  const float* bias = nullptr;    // or none
  int64_t out = 0, in = 0;
};

struct LinearKernels {
  bool (*takes)(const Matrix& matrix);
  size_t (*tile_bytes)(int64_t in);
  // `rows` rows (at most kTileRows, `stride` floats apart) in the order in which `multiply` reads them; it
  // will be called with `all_rows`.
  void (*pack)(const float* x, int64_t stride, int64_t rows, int64_t all_rows, int64_t in, void* tile);
  // y[r][o] = Σ x[r][i] · w[o][i] + bias[o], plus y[r][o] when `add`; for o in [from, to), from a multiple of
  // kOutUnit. Tiles lie tile_bytes apart; all but the last have kTileRows rows.
  void (*multiply)(const Matrix& matrix, const void* tiles, int64_t rows, int64_t from, int64_t to, bool add,
                   float* y, int64_t y_stride);
  // Where `multiply` reads weights in another order: a copy of row-major `matrix` in it, and its size. Null: it
  // reads them as they lie.
  size_t (*arranged_bytes)(const Matrix& matrix) = nullptr;
  void (*arrange)(const Matrix& matrix, void* to) = nullptr;
};
inline constexpr int64_t kOutUnit = 32;

// Keys and values of one kv head of one layer in a block, as `attend` reads them: keys
// [head_dim][kBlockTokens], values [kBlockTokens][head_dim rounded up to kBlockTokens].
constexpr int64_t PaddedDim(int64_t head_dim) {
  return (head_dim + kBlockTokens - 1) / kBlockTokens * kBlockTokens;
}
constexpr int64_t HeadElements(int64_t head_dim) {
  return kBlockTokens * (head_dim + PaddedDim(head_dim));
}

// Queries of the heads that share one kv head, at one position, over all positions up to it.
struct Attention {
  const float* queries = nullptr;  // [group][head_dim], scaled
  int64_t group = 0, head_dim = 0;
  const std::byte* cache = nullptr;  // the kv head's HeadElements in block 0
  int64_t block_bytes = 0;           // from one block to the next
  const int32_t* blocks = nullptr;   // of the sequence
  int64_t positions = 0;
  float* scores = nullptr;  // memory for [group][positions rounded up to kBlockTokens]
  float* out = nullptr;     // [group][head_dim]
};

struct RowKernels {
  void (*to_float)(const void* values, Element element, int64_t count, float* out);
  void (*rms_norm)(const float* x, const float* weight, float eps, int64_t count, float* out);
  // Pairs (i, i + half) of x turned by angles; Su et al. 2021, arXiv 2104.09864.
  void (*rotate)(float* x, const float* cos, const float* sin, int64_t half, float scale);
  void (*silu_multiply)(const float* gate, const float* up, int64_t count, float* out);
  // Into the place `token` of a block; `element` of the cache is kFloat32 or kBFloat16.
  void (*store)(const float* key, const float* value, Element element, int64_t head_dim, int64_t token,
                std::byte* head);
  void (*attend)(const Attention& attention, Element element);
};

struct SamplingKernels {
  float (*greatest)(const float* x, int64_t count);  // NaN when there is one; count > 0
  void (*exponentials)(const float* x, float greatest, int64_t count, float* out);  // of x − greatest
  double (*sum)(const float* x, int64_t count);
};

struct Kernels {
  RowKernels rows;
  LinearKernels linear;  // takes every matrix
  SamplingKernels sampling;
};

enum class Level { kGeneric, kAvx2, kAvx512, kAvx512Bf16, kAmx };

// The best that this CPU, the system and the build offer.
Level BestLevel();
const Kernels& KernelsOf(Level level);
// Of the level, those that take the matrix.
const LinearKernels& LinearFor(const Matrix& matrix, Level level);

}  // namespace tritogen::cpu
