// What a product's sizes say: of its result, of the work, and which dimensions of its second factor are
// summed.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rounding.h"
#include "teach/lowering.h"

namespace tritogen::teach {

// Rows or columns of tiles of dots that multiply factors as they are.
inline constexpr int64_t kTile = 64;
// A product of few tiles keeps few programs busy, each with a long sum. Cut along k it has as many times the
// programs, and its parts are added up behind it.
inline constexpr int64_t kFewPrograms = kProcessors, kLongSum = 1024;
// Elements that one load takes at once, 16 bytes of the half types that tensor cores multiply. Where lines
// begin or end elsewhere loads are smaller, down to one of each element, and the products wait for them.
inline constexpr int64_t kAtOnce = 8;
// Products of parts have large tiles, of which a multiprocessor holds one: those of less than nine tenths of
// them are cut from such a sum on. On an H200 256 x 3000 and 256 x 4096 by 4096, and 128 x 8192 by 4096, went
// from 1.1 to 1.7 and 2.0 times as fast as PyTorch.
inline constexpr int64_t kLongSumOfParts = 2048;

struct Result {
  int64_t batch = 1, m = 1, n = 1;
};

inline Result ResultOf(const std::vector<int64_t>& sizes, int batch_dims) {
  Result result;
  for (size_t i = 0; i + 1 < sizes.size(); ++i)
    (static_cast<int>(i) < batch_dims ? result.batch : result.m) *= sizes[i];
  result.n = sizes.back();
  return result;
}

inline int64_t TilesOfParts(const Result& result) {
  constexpr int64_t kTileOfParts = Builder::kTileOfParts;
  return result.batch * CeilDiv(result.m, kTileOfParts) * CeilDiv(result.n, kTileOfParts);
}

inline int64_t TilesOfDots(const Result& result) {
  return result.batch * CeilDiv(result.m, kTile) * CeilDiv(result.n, kTile);
}

inline bool IsCut(const Result& result, int64_t inner) {
  return inner >= kLongSum && TilesOfDots(result) < kFewPrograms;
}

inline double FlopsOf(const std::vector<int64_t>& sizes, int64_t inner) {
  return 2.0 * static_cast<double>(Product(sizes)) * static_cast<double>(inner);
}

// Dimensions of a factor that are k, and where they begin.
struct Inner {
  size_t first = 0;
  std::vector<int64_t> sizes;
};

inline Inner InnerOfSecond(const View& b, int batch_dims, int64_t inner) {
  const auto first = static_cast<size_t>(batch_dims);
  size_t last = first;
  for (int64_t size = 1; last < b.sizes.size() && size < inner;) size *= b.sizes[last++];
  return {first, {b.sizes.begin() + batch_dims, b.sizes.begin() + static_cast<int64_t>(last)}};
}

}  // namespace tritogen::teach
