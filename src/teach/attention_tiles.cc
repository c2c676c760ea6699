#include "teach/attention_tiles.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/rounding.h"
#include "teach/attention.h"
#include "teach/count_text.h"

namespace tritogen::teach {
namespace {

// Of an operand of a product in memory; what batches share counts once.
int64_t BytesOf(const Prim& product, size_t operand) {
  const View& view = product.operands[operand];
  int64_t bytes = static_cast<int64_t>(DtypeSize(product.compute[operand]));
  for (int i = 0; i < view.rank(); ++i) bytes *= view.strides[i] != 0 ? view.sizes[i] : 1;
  return bytes;
}

// As many as there is room for in the L2 cache: keys and values, which all queries of a batch read again.
int64_t TurnsOf(const Prim& attention, const Prim& scores, int64_t batch) {
  constexpr int64_t kCache = int64_t{32} << 20;
  if (!attention.WorkGrows() || attention.pieces > 1) return 1;
  const int64_t bytes = BytesOf(scores, 1) + BytesOf(attention, 1);
  for (int64_t turns = batch; turns > 1; --turns) {
    if (batch % turns == 0 && bytes / batch * turns <= kCache) return turns;
  }
  return 1;
}

// Bytes in memory for each score that the loop loads beside keys and values: masks and biases, of which
// there is one for each query and key.
int64_t BytesOfScore(const Graph& graph, const Prim& prim) {
  int64_t bytes = 0;
  for (const View& view : prim.operands) {
    if (view.prim < 0 || view.rank() < 2) continue;
    const Prim& source = graph[view.prim];
    if (source.inlined) {
      bytes += source.kind == PrimKind::kMatmul ? 0 : BytesOfScore(graph, source);
    } else if (view.strides.end()[-1] != 0 && view.strides.end()[-2] != 0) {
      bytes += static_cast<int64_t>(DtypeSize(source.dtype));
    }
  }
  return bytes;
}

// Of an element in memory, the widest of those that it is computed from.
int64_t BytesOfElement(const Graph& graph, const View& view) {
  if (view.prim < 0) return 0;
  const Prim& prim = graph[view.prim];
  if (!prim.inlined) return static_cast<int64_t>(DtypeSize(prim.dtype));
  int64_t bytes = 0;
  for (const View& operand : prim.operands) bytes = std::max(bytes, BytesOfElement(graph, operand));
  return bytes;
}

// Of a program with three parts of each factor: those of queries and of keys, and for each further step what
// it loads. Measured: 245,760 for 128 queries, 64 keys, heads of 128 and a mask of float32 in two stages.
int64_t SharedBytes(const AttentionTiles& t, int64_t bytes_of_score) {
  const int64_t parts = 3 * 2 * t.block_k * (t.block_m + t.block_n);
  const int64_t step = 4 * t.block_n * (t.block_k + t.block_d) + bytes_of_score * t.block_m * t.block_n;
  return parts + (t.num_stages - 1) * step;
}

}  // namespace

// What keeps accumulators in registers (nothing is spilled for sm_90) and two programs on a multiprocessor
// where that can be.
AttentionTiles TilesOf(const Graph& graph, const Prim& attention, const Prim& scores, const Group& group,
                       const KernelOptions& options) {
  AttentionTiles t;
  t.batch = group.Size(AxisKind::kBatch);
  t.m = group.Size(AxisKind::kM);
  t.n = attention.inner;
  t.k = scores.inner;
  t.d = group.Size(AxisKind::kN);
  t.block_k = std::max<int64_t>(NextPowerOf2(t.k), 16);
  t.block_d = std::max<int64_t>(NextPowerOf2(t.d), 16);
  // Triton 3.6 reads beyond its shared memory where products of parts with heads of 128 weigh less than that.
  if (attention.parts > 1 && t.block_k == 128) t.block_d = std::max<int64_t>(t.block_d, 64);
  const int64_t head = std::max(t.block_k, t.block_d);
  t.half = attention.compute[1] != Dtype::kFloat32 && scores.compute[0] != Dtype::kFloat32;
  const bool on_tensor_cores = t.half || attention.parts > 1 || PrecisionOf(attention, options) != "ieee";
  // Measured: 64 queries of half types take 109 us where 128 take 116 (heads of 64), 176 us where 128 take
  // 180 (of 128); parts of heads of 128 392 us with 64 keys where 32 take 472.
  int64_t m = t.half && head <= 128 ? 64 : on_tensor_cores ? 128 : 64, n = t.half ? 64 : 32;
  if (!t.half && on_tensor_cores && head == 128 && attention.parts > 1) n = 64;
  // Small ones get small blocks, so that there are programs enough.
  if (m > 64 && t.batch * CeilDiv(t.m, m) < kProcessors) m = 64;
  constexpr int64_t kMostKeys = 64;  // two steps of more do not always fit into shared memory
  if (on_tensor_cores && options.tile_m > 0) m = options.tile_m, n = std::min(options.tile_n, kMostKeys);
  t.block_m = Fit(m, t.m);
  // Few queries are done before their keys are there: more keys on their way. 363 us where 64 take 399.
  // Of what becomes half a type when it is there so many have no room.
  const bool narrow =
      BytesOfElement(graph, scores.operands[1]) + BytesOfElement(graph, attention.operands[1]) <= 4;
  if (t.half && narrow && head <= 128 && t.block_m == 16 && options.tile_n == 0) n = 128;
  t.block_n = Fit(n, t.n);
  const int64_t large = t.half ? 128 * 128 : on_tensor_cores ? 128 * 64 : 64 * 64;
  t.num_warps = options.num_warps > 0 ? options.num_warps : t.block_m * head >= large ? 8 : 4;
  if (t.m > t.block_m) t.turns = TurnsOf(attention, scores, t.batch);
  t.num_stages = t.half && head <= 128 ? 3 : 2;
  constexpr int64_t kMostShared = 227 << 10;  // of a program, sm_90
  while (attention.parts > 1 && t.block_n > 16 &&
         SharedBytes(t, BytesOfScore(graph, graph[attention.operands[0].prim])) > kMostShared) {
    t.block_n /= 2;
  }
  return t;
}

std::vector<std::pair<std::string, std::string>> ConstantsOf(const Prim& prim, const Group& group,
                                                             const AttentionTiles& t) {
  std::vector<std::pair<std::string, std::string>> all = {
      {"M", CountText(FactorsOf(group.domain, AxisKind::kM))},
      {"N", fmt::format("{}", t.n)},
      {"K", fmt::format("{}", t.k)},
      {"D", CountText(FactorsOf(group.domain, AxisKind::kN))}};
  const auto add = [&](const char* name, int64_t value) { all.emplace_back(name, fmt::format("{}", value)); };
  add("BLOCK_M", t.block_m);
  add("BLOCK_N", t.block_n);
  add("BLOCK_K", t.block_k);
  add("BLOCK_D", t.block_d);
  if (t.turns > 1) add("TURNS", t.turns);
  if (prim.pieces > 1) {
    add("PIECES", prim.pieces);
    add("KEYS", KeysOfPiece(prim));
  }
  return all;
}

}  // namespace tritogen::teach
