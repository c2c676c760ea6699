#include "runner/decoder_pass.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>

#include "base/error.h"
#include "base/rounding.h"
#include "device/builtin_launch.h"

namespace tritogen {
namespace {

constexpr int64_t kGroup = 16;                // query heads of a program: kernels/emit.py's GROUP
constexpr int64_t kSwigluBlock = 1024;        // and BLOCK of swiglu
constexpr int64_t kRopeTile = 32;             // and TILE of rope_to_cache
constexpr int64_t kProgramsPerProcessor = 4;  // of decode attention, to keep the memory busy
constexpr int64_t kMostSplits = 64;
constexpr int64_t kSharedQueries = 64;  // of a program of paged_shared: kernels/emit.py's SHARED_ROWS
constexpr int64_t kSharedProgramsPerProcessor = 2;
// Keys and values of a layer that are not read again from the L2, for each processor, from which on another
// kernel takes less time than they do; where products overlap with attention, that hides some of their time.
// Measured: docs/log/2026-11-25-shared-prefixes.md.
constexpr int64_t kSavedBytesPerProcessor = int64_t{512} << 10, kSavedBytesWhereFused = int64_t{1} << 20;
// Tiles of kernels/linear.py's kinds (kernels/emit.py: linear_variants), and what they are chosen by.
constexpr int64_t kTileRows = 64, kColumns = 64, kAddColumns = 32;
constexpr int64_t kWideMlp = 2048;  // from this intermediate size on cuBLAS and separate norms are faster

constexpr int64_t kAlign = 16;  // of widths, but for the kernels named "any"
constexpr int64_t kWidestRow = 8192, kMostHeadDim = 256;

std::string WidthName(int64_t hidden) {
  return hidden % kAlign == 0 && hidden <= kWidestRow ? BuiltinWidth(hidden) : "any";
}

bool IsAnyHead(int64_t head_dim) {
  return head_dim % kAlign != 0;
}

// The tile of a head: its size where there are tiles of that, otherwise the next one, padded.
std::string HeadName(int64_t head_dim) {
  if (head_dim > kMostHeadDim) {
    throw UserError(
        fmt::format("the kernels have no form for heads of {} elements: at most {}", head_dim, kMostHeadDim));
  }
  if (IsAnyHead(head_dim)) return head_dim < 128 ? "128any" : "256any";
  const int64_t tile = std::max<int64_t>(32, std::bit_ceil(static_cast<uint64_t>(head_dim)));
  return std::to_string(tile) + (tile == head_dim ? "" : "p");
}

bool IsTile(const std::string& head) {
  return std::isdigit(static_cast<unsigned char>(head.back())) != 0;
}

int64_t HeadTiles(const ModelConfig& config) {
  return config.kv_heads * CeilDiv(config.heads / config.kv_heads, kGroup);
}

}  // namespace

// Views of the scratch tensors.
struct DecoderPass::Rows {
  Rows(const DecoderPass& pass, int64_t n)
      : x(pass.x_.narrow(0, 0, n)),
        y(pass.y_.narrow(0, 0, n)),
        delta(pass.delta_.narrow(0, 0, n)),
        qkv(pass.qkv_.narrow(0, 0, n)),
        queries(pass.queries_.narrow(0, 0, n)),
        attended(pass.attended_.narrow(0, 0, n)),
        gate_up(pass.gate_up_.narrow(0, 0, n)),
        hidden(pass.hidden_.narrow(0, 0, n)),
        overlaps(pass.CanFuse() && n >= pass.options_.fused_rows) {}
  at::Tensor x, y, delta, qkv, queries, attended, gate_up, hidden;
  bool overlaps;  // kernels may start while the one before ends
};

DecoderPass::DecoderPass(std::shared_ptr<const DecoderWeights> weights, const PassOptions& options,
                         std::shared_ptr<Ranks> ranks)
    : ranks_(std::move(ranks)),
      weights_(std::move(weights)),
      config_(weights_->config),
      options_(options),
      dtype_(BuiltinDtype(weights_->embedding.scalar_type())),
      width_(WidthName(config_.hidden)),
      head_(HeadName(config_.head_dim)),
      swiglu_(config_.intermediate % kAlign == 0 ? "" : "any") {
  const at::Tensor& like = weights_->embedding;
  const int64_t n = std::max(options.prefill_tokens, options.decode_rows);
  const int64_t heads = config_.heads * config_.head_dim, kv = config_.kv_heads * config_.head_dim;
  const auto make = [&](int64_t columns) { return at::empty({n, columns}, like.options()); };
  prefill_tile_ = config_.head_dim > 128 || like.scalar_type() == at::kFloat ? 64 : 128;
  rope_ = RopeTensor(config_, options.positions, like.device());
  x_ = make(config_.hidden), y_ = make(config_.hidden), delta_ = make(config_.hidden);
  qkv_ = make(heads + 2 * kv), queries_ = make(heads), attended_ = make(heads);
  gate_up_ = make(2 * config_.intermediate), hidden_ = make(config_.intermediate);
  logits_ = at::empty({options.decode_rows, config_.vocabulary}, like.options());
  if (weights_->output.size(0) < config_.vocabulary) shares_ = at::empty_like(logits_).view({-1});
  const int64_t width = CeilDiv(options.positions, kCacheBlock);
  int64_t parts = 0;
  for (int64_t rows = 1; rows <= options.decode_rows; ++rows) {
    if (const int64_t splits = Splits(rows, width); splits > 1) parts = std::max(parts, rows * splits);
  }
  int64_t partials = parts * config_.heads;
  if (const SharingOptions share = sharing(); share.rows_of_item >= 2) {
    partials = std::max(
        partials, PrefixSharing(share).MostItems(options.decode_rows) * config_.kv_heads * kSharedQueries);
  }
  partial_ = at::empty({partials, config_.head_dim + 2}, like.options().dtype(at::kFloat));
  row_numbers_ = at::arange(options.decode_rows, like.options().dtype(at::kInt));
  if (!CanFuse()) return;
  squares_ = at::empty({CeilDiv(config_.hidden, kAddColumns), options.decode_rows},
                       like.options().dtype(at::kFloat));
}

bool DecoderPass::CanFuse() const {
  const int64_t sides[] = {config_.hidden, config_.heads * config_.head_dim, config_.intermediate};
  const bool even = std::all_of(std::begin(sides), std::end(sides), [](int64_t n) { return n % 128 == 0; });
  // The sum of all ranks stands between a product and the stream.
  return ranks_ == nullptr && even && config_.intermediate < kWideMlp && !options_.batch_invariant &&
         !config_.mlp_bias && dtype_ != "f32" && options_.decode_rows >= options_.fused_rows;
}

SharingOptions DecoderPass::sharing() const {
  SharingOptions share;
  share.block_tokens = kCacheBlock;
  if (options_.batch_invariant || IsAnyHead(config_.head_dim)) return share;
  const int64_t block_bytes = 2 * config_.kv_heads * kCacheBlock * config_.head_dim *
                              static_cast<int64_t>(weights_->embedding.element_size());
  share.rows_of_item = static_cast<int32_t>(kSharedQueries / (config_.heads / config_.kv_heads));
  share.wanted_items =
      static_cast<int32_t>(CeilDiv(options_.processors * kSharedProgramsPerProcessor, config_.kv_heads));
  const int64_t saved = CanFuse() ? kSavedBytesWhereFused : kSavedBytesPerProcessor;
  share.least_saved = CeilDiv(options_.processors * saved, block_bytes);
  return share;
}

// Programs that share a row's blocks: 1 unless the rows are too few to fill the device.
int64_t DecoderPass::Splits(int64_t rows, int64_t width) const {
  if (options_.blocks_each > 0) return CeilDiv(width, options_.blocks_each);
  const int64_t programs = rows * HeadTiles(config_);
  return std::clamp<int64_t>(options_.processors * kProgramsPerProcessor / programs, 1,
                             std::min(kMostSplits, width));
}

std::string DecoderPass::Kernel(std::string_view name, std::string_view choice) const {
  return fmt::format("{}.{}{}{}", name, dtype_, choice.empty() ? "" : ".", choice);
}

std::vector<std::string> DecoderPass::KernelNames() const {
  const std::string norm = config_.qk_norm ? "1" : "0";
  std::vector<std::string> names = {Kernel("embed", "0." + width_),
                                    Kernel("rms_norm", "0." + width_),
                                    Kernel("rms_norm", "1." + width_),
                                    Kernel("swiglu", swiglu_),
                                    Kernel("rope_to_cache", head_ + "." + norm),
                                    Kernel("paged_prefill", head_),
                                    Kernel("join_splits", head_)};
  for (const std::string& choice :
       {std::string("000"), std::string("001"), "1" + norm + "0", "1" + norm + "1"}) {
    if (choice[0] == '1' && IsAnyHead(config_.head_dim)) continue;
    names.push_back(Kernel("paged_decode", head_ + "." + choice + "0"));
  }
  if (sharing().rows_of_item >= 2) {
    names.push_back(Kernel("paged_shared", head_ + "." + norm));
    names.push_back(Kernel("paged_decode", head_ + ".1" + norm + ".shared"));
  }
  if (options_.batch_invariant) {
    for (const char* choice : {"plain.00", "plain.10", "any.00", "any.10"}) {
      names.push_back(Kernel("linear", choice));
    }
  }
  if (!CanFuse()) return names;
  names.push_back(Kernel("embed", "1." + width_));
  if (IsTile(head_)) names.push_back(Kernel("paged_decode", head_ + ".1" + norm + "01"));
  const auto linear = [&](std::string_view kind, bool bias) {
    names.push_back(Kernel("linear", fmt::format("{}.{:d}1", kind, bias)));
  };
  linear("qkv", config_.qkv_bias);
  linear("add", config_.output_bias);
  linear("add", false);
  linear("swiglu", false);
  return names;
}

void DecoderPass::Embed(const at::Tensor& tokens, const at::Tensor& last, const at::Tensor& slots,
                        bool scaled, const Rows& rows) {
  LaunchBuiltin(Kernel("embed", (scaled ? "1." : "0.") + width_), tokens.size(0),
                {weights_->embedding, tokens, last, slots, weights_->layers[0].input_norm, rows.x, rows.y,
                 scaled ? squares_ : rows.x, config_.hidden});
}

void DecoderPass::Linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                         const at::Tensor& out) {
  at::Tensor result = out;
  if (options_.batch_invariant) {
    const int64_t m = x.size(0), n = weight.size(0), k = x.size(1);
    const bool aligned = n % kAlign == 0 && k % kAlign == 0;
    LaunchBuiltin(
        Kernel("linear", fmt::format("{}.{:d}0", aligned ? "plain" : "any", bias.defined())),
        {CeilDiv(n, kTileRows), CeilDiv(m, kTileRows)},
        {x, weight, bias.defined() ? bias : x, x, x, result, x, x, m, n, k, 0, config_.rms_norm_eps});
  } else if (bias.defined()) {
    at::addmm_out(result, bias, x, weight.t());
  } else {
    at::mm_out(result, x, weight.t());
  }
}

void DecoderPass::Norm(const at::Tensor& x, const at::Tensor* delta, const at::Tensor& weight,
                       const at::Tensor& out) {
  const char* add = delta != nullptr ? "1." : "0.";
  LaunchBuiltin(Kernel("rms_norm", add + width_), x.size(0),
                {x, delta != nullptr ? *delta : x, weight, out, config_.hidden, config_.rms_norm_eps});
}

void DecoderPass::ToCache(const LayerWeights& layer, size_t index, const PagedCache& cache,
                          const at::Tensor& tables, const at::Tensor& table_rows, const at::Tensor& positions,
                          const at::Tensor& rope, const Rows& rows) {
  const at::Tensor& any = layer.input_norm;  // stands for norms that the model has not
  LaunchBuiltin(Kernel("rope_to_cache", head_ + (config_.qk_norm ? ".1" : ".0")),
                {rows.x.size(0), CeilDiv(config_.heads + 2 * config_.kv_heads, kRopeTile)},
                {rows.qkv, config_.qk_norm ? layer.q_norm : any, config_.qk_norm ? layer.k_norm : any, rope,
                 cache.keys[index], cache.values[index], tables, table_rows, positions, rows.queries,
                 tables.stride(0), config_.heads, config_.kv_heads, config_.rms_norm_eps, config_.head_dim});
}

void DecoderPass::Attend(const LayerWeights& layer, size_t index, const DecodeRows& in,
                         const PagedCache& cache, bool fresh, const Rows& rows) {
  if (in.items.defined()) return AttendShared(layer, index, in, cache, rows);
  const int64_t n = rows.x.size(0), splits = Splits(n, in.tables.size(1));
  fresh = fresh && !IsAnyHead(config_.head_dim);  // these have no such form
  if (!fresh)
    ToCache(layer, index, cache, in.tables, row_numbers_.narrow(0, 0, n), in.positions, rope_, rows);
  const at::Tensor& any = layer.input_norm;
  const bool norm = fresh && config_.qk_norm;
  const bool overlaps = fresh && splits == 1 && rows.overlaps && IsTile(head_);
  const std::string choice = fmt::format("{}.{:d}{:d}{:d}{:d}", head_, fresh, norm, splits > 1, overlaps);
  LaunchBuiltin(Kernel("paged_decode", choice), {n, HeadTiles(config_), splits},
                {fresh ? rows.qkv : rows.queries, norm ? layer.q_norm : any, norm ? layer.k_norm : any, rope_,
                 cache.keys[index], cache.values[index], in.tables, in.positions, rows.attended, partial_,
                 in.tables, in.tables.stride(0), config_.heads, config_.kv_heads, ScoreScale(),
                 config_.rms_norm_eps, options_.blocks_each, config_.head_dim});
  if (splits > 1) {
    LaunchBuiltin(Kernel("join_splits", head_), n * config_.heads,
                  {partial_, rows.attended, splits, config_.head_dim});
  }
}

// The second kernel starts while the first one runs, and waits for it last.
void DecoderPass::AttendShared(const LayerWeights& layer, size_t index, const DecodeRows& in,
                               const PagedCache& cache, const Rows& rows) {
  const std::string norm = config_.qk_norm ? "1" : "0";
  const at::Tensor& q_norm = config_.qk_norm ? layer.q_norm : layer.input_norm;
  const at::Tensor& k_norm = config_.qk_norm ? layer.k_norm : layer.input_norm;
  LaunchBuiltin(Kernel("paged_shared", head_ + "." + norm), {in.items.size(0), config_.kv_heads},
                {rows.qkv, q_norm, rope_, cache.keys[index], cache.values[index], in.tables, in.positions,
                 in.items, in.members, partial_, in.tables.stride(0), config_.heads, config_.kv_heads,
                 ScoreScale(), config_.rms_norm_eps, config_.head_dim});
  LaunchBuiltin(Kernel("paged_decode", head_ + ".1" + norm + ".shared"), {rows.x.size(0), HeadTiles(config_)},
                {rows.qkv, q_norm, k_norm, rope_, cache.keys[index], cache.values[index], in.tables,
                 in.positions, rows.attended, partial_, in.shares, in.tables.stride(0), config_.heads,
                 config_.kv_heads, ScoreScale(), config_.rms_norm_eps, 0, config_.head_dim});
}

// Scores are powers of two.
double DecoderPass::ScoreScale() const {
  return std::log2(std::exp(1.0)) / std::sqrt(static_cast<double>(config_.head_dim));
}

void DecoderPass::Mlp(const LayerWeights& layer, const Rows& rows) {
  Linear(rows.y, layer.gate_up, layer.gate_up_bias, rows.gate_up);
  LaunchBuiltin(Kernel("swiglu", swiglu_), {rows.x.size(0), CeilDiv(config_.intermediate, kSwigluBlock)},
                {rows.gate_up, rows.hidden, config_.intermediate});
  Linear(rows.hidden, layer.down, layer.down_bias, rows.delta);
  SumDelta(rows);
}

void DecoderPass::SumDelta(const Rows& rows) {
  if (ranks_ != nullptr) ranks_->Sum(rows.delta);
}

// Each rank has the logits of some tokens.
at::Tensor DecoderPass::Logits(const Rows& rows) {
  const int64_t n = rows.y.size(0);
  const at::Tensor result = logits(n);
  if (!shares_.defined()) {
    Linear(rows.y, weights_->output, {}, result);
    return result;
  }
  const int64_t tokens = weights_->output.size(0);
  const at::Tensor shares = shares_.narrow(0, 0, n * config_.vocabulary);
  Linear(rows.y, weights_->output, {}, ranks_->Share(shares).view({n, tokens}));
  ranks_->GatherShares(shares);
  result.view({n, ranks_->size(), tokens}).copy_(shares.view({ranks_->size(), n, tokens}).transpose(0, 1));
  return result;
}

void DecoderPass::FusedLinear(std::string_view kind, const at::Tensor& x, const at::Tensor& weight,
                              const at::Tensor& bias, const at::Tensor* norm, const at::Tensor& out,
                              int64_t parts, const Rows& rows) {
  const bool add = kind == "add", swiglu = kind == "swiglu";
  const int64_t m = x.size(0), n = out.size(1);
  const int64_t tile_rows = swiglu ? 2 * kTileRows : kTileRows;
  const std::string choice = fmt::format("{}.{:d}{:d}", kind, bias.defined(), rows.overlaps);
  LaunchBuiltin(Kernel("linear", choice), {CeilDiv(n, add ? kAddColumns : kColumns), CeilDiv(m, tile_rows)},
                {x, weight, bias.defined() ? bias : x, add ? *norm : x, add ? rows.x : x, out,
                 add ? rows.y : x, squares_, m, n, x.size(1), parts, config_.rms_norm_eps});
}

// rows.y holds the stream times the next norm's weight, squares_ the sums of squares of parts of it.
void DecoderPass::FusedLayers(const DecodeRows& in, const PagedCache& cache, const Rows& rows) {
  const int64_t parts = CeilDiv(config_.hidden, kAddColumns);
  for (size_t i = 0; i < weights_->layers.size(); ++i) {
    const LayerWeights& layer = weights_->layers[i];
    const bool is_last = i + 1 == weights_->layers.size();
    FusedLinear("qkv", rows.y, layer.qkv, layer.qkv_bias, nullptr, rows.qkv, i == 0 ? 1 : parts, rows);
    Attend(layer, i, in, cache, /*fresh=*/true, rows);
    FusedLinear("add", rows.attended, layer.attention_out, layer.attention_bias, &layer.mlp_norm, rows.x, 0,
                rows);
    FusedLinear("swiglu", rows.y, layer.gate_up, {}, nullptr, rows.hidden, parts, rows);
    const at::Tensor& norm = is_last ? weights_->final_norm : weights_->layers[i + 1].input_norm;
    FusedLinear("add", rows.hidden, layer.down, {}, &norm, rows.x, 0, rows);
  }
  Norm(rows.x, nullptr, weights_->final_norm, rows.y);
}

at::Tensor DecoderPass::Decode(const DecodeRows& in, const PagedCache& cache, bool fresh) {
  const at::NoGradGuard no_gradients;
  const Rows rows(*this, in.tokens.size(0));
  // Rows of one sequence in one step cannot be fresh, so that none are where all must be computed alike.
  fresh = fresh && !options_.batch_invariant;
  const bool fused = fresh && CanFuse() && rows.x.size(0) >= options_.fused_rows;
  Embed(in.tokens, in.last, in.slots, fused, rows);
  if (fused) {
    FusedLayers(in, cache, rows);
  } else {
    for (size_t i = 0; i < weights_->layers.size(); ++i) {
      const LayerWeights& layer = weights_->layers[i];
      Norm(rows.x, i > 0 ? &rows.delta : nullptr, layer.input_norm, rows.y);
      Linear(rows.y, layer.qkv, layer.qkv_bias, rows.qkv);
      Attend(layer, i, in, cache, fresh, rows);
      Linear(rows.attended, layer.attention_out, layer.attention_bias, rows.delta);
      SumDelta(rows);
      Norm(rows.x, &rows.delta, layer.mlp_norm, rows.y);
      Mlp(layer, rows);
    }
    Norm(rows.x, &rows.delta, weights_->final_norm, rows.y);
  }
  return Logits(rows);
}

at::Tensor DecoderPass::logits(int64_t rows) const {
  return logits_.narrow(0, 0, rows);
}

void DecoderPass::Prefill(const PrefillTokens& in, const PagedCache& cache) {
  const at::NoGradGuard no_gradients;
  const Rows rows(*this, in.tokens.size(0));
  Embed(in.tokens, in.tokens, in.tokens, /*scaled=*/false, rows);
  for (size_t i = 0; i < weights_->layers.size(); ++i) {
    const LayerWeights& layer = weights_->layers[i];
    Norm(rows.x, i > 0 ? &rows.delta : nullptr, layer.input_norm, rows.y);
    Linear(rows.y, layer.qkv, layer.qkv_bias, rows.qkv);
    ToCache(layer, i, cache, in.tables, in.table_rows, in.positions, in.rope.defined() ? in.rope : rope_,
            rows);
    if (i + 1 == weights_->layers.size()) break;  // nobody asks for these tokens' logits
    LaunchBuiltin(Kernel("paged_prefill", head_), {in.tiles.size(0), config_.heads},
                  {rows.queries, cache.keys[i], cache.values[i], in.tables, in.tiles, rows.attended,
                   in.tables.stride(0), config_.heads, config_.kv_heads, ScoreScale(), config_.head_dim});
    Linear(rows.attended, layer.attention_out, layer.attention_bias, rows.delta);
    SumDelta(rows);
    Norm(rows.x, &rows.delta, layer.mlp_norm, rows.y);
    Mlp(layer, rows);
  }
}

}  // namespace tritogen
