#include "teach/attention_tiles.h"

#include <algorithm>

#include "base/rounding.h"

namespace tritogen::teach {

// What keeps accumulators in registers (nothing is spilled for sm_90) and two programs on a multiprocessor
// where that can be.
AttentionTiles TilesOf(const Prim& attention, const Prim& scores, const Group& group,
                       const KernelOptions& options) {
  AttentionTiles t;
  t.batch = group.Size(AxisKind::kBatch);
  t.m = group.Size(AxisKind::kM);
  t.n = attention.inner;
  t.k = scores.inner;
  t.d = group.Size(AxisKind::kN);
  t.block_k = std::max<int64_t>(NextPowerOf2(t.k), 16);
  t.block_d = std::max<int64_t>(NextPowerOf2(t.d), 16);
  const int64_t head = std::max(t.block_k, t.block_d);
  const bool half = attention.compute[1] != Dtype::kFloat32 && scores.compute[0] != Dtype::kFloat32;
  const bool on_tensor_cores = half || attention.parts > 1 || PrecisionOf(attention, options) != "ieee";
  // Measured on an H200: heads of 64 in half types take 109 us where 128 queries take 116, parts of heads of
  // 128 392 us with 64 keys where 32 take 472.
  int64_t m = half && head <= 64 ? 64 : on_tensor_cores ? 128 : 64, n = half ? 64 : 32;
  if (!half && on_tensor_cores && head == 128 && attention.parts > 1) n = 64;
  // Small ones get small blocks, so that there are programs enough.
  if (m > 64 && t.batch * CeilDiv(t.m, m) < kProcessors) m = 64;
  constexpr int64_t kMostKeys = 64;  // two steps of more do not always fit into shared memory
  if (on_tensor_cores && options.tile_m > 0) m = options.tile_m, n = std::min(options.tile_n, kMostKeys);
  t.block_m = Fit(m, t.m);
  // Few queries are done before their keys are there: more keys on their way. 363 us where 64 take 399.
  if (half && head <= 128 && t.block_m == 16 && options.tile_n == 0) n = 128;
  t.block_n = Fit(n, t.n);
  const int64_t large = half ? 128 * 128 : on_tensor_cores ? 128 * 64 : 64 * 64;
  t.num_warps = options.num_warps > 0 ? options.num_warps : t.block_m * head >= large ? 8 : 4;
  t.num_stages = half && head <= 128 ? 3 : 2;
  return t;
}

}  // namespace tritogen::teach
