// A decoder's forward pass over a paged cache: Tritogen's own kernels (kernels/attention.py, decoder.py) and
// ATen's matrix products. On CPU tensors the tile machine runs the kernels, which is how tests see them.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "model/decoder.h"
#include "ranks/ranks.h"
#include "runner/prefix_sharing.h"

namespace tritogen {

inline constexpr int64_t kCacheBlock = 64;  // positions in a block: kernels/emit.py's BLOCK

// Of each layer [blocks, kv_heads, kCacheBlock, head_dim].
struct PagedCache {
  std::vector<at::Tensor> keys, values;
};

// int32, on the weights' device. A row of `tables` names the blocks of a sequence.
struct DecodeRows {
  at::Tensor tokens;     // [rows]; -1: last[slot]
  at::Tensor slots;      // [rows]
  at::Tensor positions;  // [rows]
  at::Tensor tables;     // [rows, width]
  at::Tensor last;       // [slots]
  // SharedBlocks: [items, 4], [rows], [rows, 4]. Undefined: each row reads all of its blocks.
  at::Tensor items, members, shares;
};

struct PrefillTokens {
  at::Tensor tokens;      // [tokens]
  at::Tensor positions;   // [tokens]
  at::Tensor table_rows;  // [tokens]: a token's row of `tables`
  at::Tensor
      tiles;  // [tiles, 4]: first token, tokens (prefill_tile() at most), first position, row of `tables`
  at::Tensor tables;  // [chunks, width]
  at::Tensor rope;    // RopeTensor of the tokens' prompt; undefined: the positions' own
};

struct PassOptions {
  int64_t prefill_tokens = 0, decode_rows = 0;  // at most
  int64_t positions = 0;                        // of a sequence, at most
  // Each program of decode attention takes so many blocks, whatever the batch; 0: as many programs as fill
  // the device.
  int64_t blocks_each = 0;
  int64_t processors = 0;  // of the device
  // Products by one kernel of one tile size, whatever the batch.
  bool batch_invariant = false;
  // From so many rows on (and for dtypes and shapes that have it) products take norms and sums of the
  // residual stream along.
  int64_t fused_rows = 96;
};

class DecoderPass {
 public:
  // Takes scratch memory of the weights' device. `ranks`: the weights are one rank's part (model/part.h), and
  // all ranks make the same calls. Throws UserError for shapes that the kernels do not have.
  DecoderPass(std::shared_ptr<const DecoderWeights> weights, const PassOptions& options,
              std::shared_ptr<Ranks> ranks = nullptr);

  // Writes the tokens' keys and values.
  void Prefill(const PrefillTokens& in, const PagedCache& cache);
  // Writes the rows' keys and values; returns logits [rows, vocabulary], valid until the next call. `fresh`:
  // no two rows are of one sequence, as must be where blocks are shared.
  at::Tensor Decode(const DecodeRows& in, const PagedCache& cache, bool fresh);

  at::Tensor logits(int64_t rows) const;  // what Decode returned
  std::vector<std::string> KernelNames() const;
  int64_t prefill_tile() const { return prefill_tile_; }
  // What pays on this device; of no rows where the kernels or PassOptions have no such form.
  SharingOptions sharing() const;

 private:
  struct Rows;  // scratch for one call
  void Embed(const at::Tensor& tokens, const at::Tensor& last, const at::Tensor& slots, bool scaled,
             const Rows& rows);
  void Norm(const at::Tensor& x, const at::Tensor* delta, const at::Tensor& weight, const at::Tensor& out);
  void Linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& out);
  void Mlp(const LayerWeights& layer, const Rows& rows);
  void SumDelta(const Rows& rows);
  at::Tensor Logits(const Rows& rows);
  void Attend(const LayerWeights& layer, size_t index, const DecodeRows& in, const PagedCache& cache,
              bool fresh, const Rows& rows);
  void AttendShared(const LayerWeights& layer, size_t index, const DecodeRows& in, const PagedCache& cache,
                    const Rows& rows);
  void ToCache(const LayerWeights& layer, size_t index, const PagedCache& cache, const at::Tensor& tables,
               const at::Tensor& table_rows, const at::Tensor& positions, const at::Tensor& rope,
               const Rows& rows);
  double ScoreScale() const;
  int64_t Splits(int64_t rows, int64_t width) const;
  std::string Kernel(std::string_view name, std::string_view choice = "") const;

  // The fused form of a decode step.
  bool CanFuse() const;
  void FusedLayers(const DecodeRows& in, const PagedCache& cache, const Rows& rows);
  void FusedLinear(std::string_view kind, const at::Tensor& x, const at::Tensor& weight,
                   const at::Tensor& bias, const at::Tensor* norm, const at::Tensor& out, int64_t parts,
                   const Rows& rows);

  const std::shared_ptr<Ranks> ranks_;  // null: this is all of the model
  const std::shared_ptr<const DecoderWeights> weights_;
  const ModelConfig& config_;
  const PassOptions options_;
  std::string dtype_, width_, head_, swiglu_;  // as kernels are named
  int64_t prefill_tile_ = 0;
  at::Tensor rope_;  // [positions, 2, head_dim / 2] float32: cosines, sines
  at::Tensor x_, y_, delta_, qkv_, queries_, attended_, gate_up_, hidden_;  // [tokens, …]
  at::Tensor logits_, partial_, row_numbers_;
  at::Tensor shares_;   // [ranks · rows · tokens of a rank]: logits before they are put together
  at::Tensor squares_;  // of kernels/linear.py
};

}  // namespace tritogen
