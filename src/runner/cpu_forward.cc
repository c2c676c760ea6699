#include "runner/cpu_forward.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/rounding.h"

namespace tritogen {
namespace {

using cpu::kBlockTokens, cpu::kTileRows;

// Some ten microseconds' worth: weights, or products of attention, of a part of a loop.
constexpr int64_t kWorthSharing = 1 << 15;

int64_t MostTileBytes(const CpuModel& model) {
  size_t most = 0;
  const auto add = [&](const cpu::Matrix& matrix) {
    most = std::max(most, matrix.kernels->tile_bytes(matrix.in));
  };
  for (const CpuLayer& layer : model.layers()) {
    for (const cpu::Matrix* matrix : {&layer.qkv, &layer.attention_out, &layer.gate_up, &layer.down}) {
      add(*matrix);
    }
  }
  add(model.output());
  return static_cast<int64_t>(most);
}

}  // namespace

int64_t CpuForward::BlockBytes(const ModelConfig& c, cpu::Element cache) {
  return c.layers * c.kv_heads * cpu::HeadElements(c.head_dim) *
         static_cast<int64_t>(cpu::ElementBytes(cache));
}

cpu::Element CpuForward::CacheElement(const CpuModel& model) {
  const cpu::Element weights = model.embedding().element;
  return weights == cpu::Element::kBFloat16 ? weights : cpu::Element::kFloat32;
}

template <typename T>
CpuForward::Memory<T> CpuForward::Allocate(int64_t count, const char* what) {
  const int64_t bytes = RoundUp(count * static_cast<int64_t>(sizeof(T)), 64);
  void* memory = std::aligned_alloc(64, static_cast<size_t>(bytes));
  if (!memory) throw UserError(fmt::format("there are no {} MiB of memory for {}", bytes >> 20, what));
  return Memory<T>(static_cast<T*>(memory));
}

CpuForward::CpuForward(const CpuModel& model, cpu::Level level, int64_t blocks, int64_t context,
                       ThreadTeam* team)
    : model_(model),
      config_(model.config()),
      kernels_(cpu::KernelsOf(level).rows),
      team_(*team),
      rope_(MakeRopeTable(config_)),
      element_(CacheElement(model)),
      block_bytes_(BlockBytes(config_, element_)),
      qkv_width_((config_.heads + 2 * config_.kv_heads) * config_.head_dim),
      scores_of_thread_(config_.heads / config_.kv_heads * RoundUp(context, kBlockTokens)),
      input_of_thread_(kTileRows *
                       std::max({config_.hidden, config_.intermediate, config_.heads * config_.head_dim})) {
  const char* const what = "activations";
  cache_ = Allocate<std::byte>(blocks * block_bytes_, "the cache of keys and values");
  hidden_ = Allocate<float>(kMostRows * config_.hidden, what);
  wide_ = Allocate<float>(kMostRows * std::max(qkv_width_, 2 * config_.intermediate), what);
  mixed_ = Allocate<float>(kMostRows * config_.heads * config_.head_dim, what);
  cos_ = Allocate<float>(kMostRows * config_.head_dim / 2, what);
  sin_ = Allocate<float>(kMostRows * config_.head_dim / 2, what);
  tiles_ = Allocate<std::byte>(kMostRows / kTileRows * MostTileBytes(model), what);
  scores_ = Allocate<float>(team_.size() * scores_of_thread_, what);
  inputs_ = Allocate<float>(team_.size() * input_of_thread_, what);
}

std::byte* CpuForward::Head(int64_t block, int64_t layer, int64_t kv_head) const {
  const int64_t head_bytes = block_bytes_ / (config_.layers * config_.kv_heads);
  return cache_.get() + block * block_bytes_ + (layer * config_.kv_heads + kv_head) * head_bytes;
}

void CpuForward::CopyBlock(int32_t from, int32_t to) {
  std::memcpy(Head(to, 0, 0), Head(from, 0, 0), static_cast<size_t>(block_bytes_));
}

const RopeTable& CpuForward::RopeOf(int32_t length) {
  const int64_t beyond = StretchBeyond(config_);
  if (beyond == 0 || length <= beyond) return rope_;
  if (length != stretched_length_) stretched_ = MakeRopeTable(config_, length);
  stretched_length_ = length;
  return stretched_;
}

void CpuForward::Embed(std::span<const ForwardRow> rows) {
  const int64_t half = config_.head_dim / 2;
  const cpu::Matrix& table = model_.embedding();
  const std::byte* values = static_cast<const std::byte*>(table.values);
  const int64_t row_bytes = table.in * static_cast<int64_t>(cpu::ElementBytes(table.element));
  for (size_t r = 0; r < rows.size(); ++r) {
    const int64_t row = static_cast<int64_t>(r);
    kernels_.to_float(values + rows[r].token * row_bytes, table.element, table.in,
                      hidden_.get() + row * table.in);
    const RopeTable& rope = RopeOf(rows[r].length);
    for (int64_t i = 0; i < half; ++i) {
      const float angle =
          static_cast<float>(rows[r].position) * rope.inverse_frequencies[static_cast<size_t>(i)];
      cos_[static_cast<size_t>(row * half + i)] = std::cos(angle) * rope.attention_factor;
      sin_[static_cast<size_t>(row * half + i)] = std::sin(angle) * rope.attention_factor;
    }
  }
}

// Inputs of a product, made row by row and laid out tile by tile.
void CpuForward::Pack(const cpu::Matrix& matrix, int64_t rows, const RowInput& input) {
  const cpu::LinearKernels& linear = *matrix.kernels;
  const int64_t tile_bytes = static_cast<int64_t>(linear.tile_bytes(matrix.in));
  team_.For(CeilDiv(rows, kTileRows), 1, [&](int thread, int64_t begin, int64_t end) {
    float* const own = inputs_.get() + thread * input_of_thread_;
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t row = tile * kTileRows, count = std::min(kTileRows, rows - row);
      for (int64_t r = 0; r < count; ++r) input(row + r, own + r * matrix.in);
      linear.pack(own, matrix.in, count, rows, matrix.in, tiles_.get() + tile * tile_bytes);
    }
  });
}

void CpuForward::Multiply(const cpu::Matrix& matrix, int64_t rows, bool add, float* y, int64_t y_stride) {
  const int64_t grain = team_.Grain(matrix.out, cpu::kOutUnit, kWorthSharing / matrix.in);
  team_.For(matrix.out, grain, [&](int, int64_t begin, int64_t end) {
    matrix.kernels->multiply(matrix, tiles_.get(), rows, begin, end, add, y, y_stride);
  });
}

// Norms and angles; keys and values go into the cache.
void CpuForward::PlaceKeys(const CpuLayer& layer, int64_t index, std::span<const ForwardRow> rows,
                           int64_t first) {
  const ModelConfig& c = config_;
  const int64_t half = c.head_dim / 2, count = static_cast<int64_t>(rows.size());
  const float eps = static_cast<float>(c.rms_norm_eps),
              query_scale = 1 / std::sqrt(static_cast<float>(c.head_dim));
  const auto place_row = [&](int64_t row) {
    const float *cos = cos_.get() + row * half, *sin = sin_.get() + row * half;
    const auto turn = [&](float* head, const float* norm, float scale) {
      if (norm) kernels_.rms_norm(head, norm, eps, c.head_dim, head);
      kernels_.rotate(head, cos, sin, half, scale);
    };
    float* const queries = wide_.get() + row * qkv_width_;
    float* const keys = queries + c.heads * c.head_dim;
    const float* const values = keys + c.kv_heads * c.head_dim;
    for (int64_t h = 0; row >= first && h < c.heads; ++h) {
      turn(queries + h * c.head_dim, layer.q_norm, query_scale);
    }
    const ForwardRow& at = rows[static_cast<size_t>(row)];
    const auto store = [&](int64_t h, int64_t block) {
      kernels_.store(keys + h * c.head_dim, values + h * c.head_dim, element_, c.head_dim,
                     at.position % kBlockTokens, Head(block, index, h));
    };
    for (int64_t h = 0; h < c.kv_heads; ++h) {
      turn(keys + h * c.head_dim, layer.k_norm, 1);
      store(h, at.blocks[at.position / kBlockTokens]);
      for (const int32_t block : at.twins) store(h, block);
    }
  };
  constexpr int64_t kLeastRows = 8;
  team_.For(count, team_.Grain(count, 1, kLeastRows), [&](int, int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) place_row(row);
  });
}

void CpuForward::Attend(int64_t index, std::span<const ForwardRow> rows, int64_t first) {
  const ModelConfig& c = config_;
  const int64_t group = c.heads / c.kv_heads;
  const int64_t count = (static_cast<int64_t>(rows.size()) - first) * c.kv_heads;
  int64_t longest = 1;
  for (const ForwardRow& row : rows) longest = std::max<int64_t>(longest, row.position + 1);
  const int64_t least = kWorthSharing / (longest * group * c.head_dim);
  team_.For(count, team_.Grain(count, 1, least), [&](int thread, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = first + i / c.kv_heads, kv_head = i % c.kv_heads;
      const ForwardRow& at = rows[static_cast<size_t>(row)];
      cpu::Attention call;
      call.queries = wide_.get() + row * qkv_width_ + kv_head * group * c.head_dim;
      call.group = group;
      call.head_dim = c.head_dim;
      call.cache = Head(0, index, kv_head);
      call.block_bytes = block_bytes_;
      call.blocks = at.blocks;
      call.positions = at.position + 1;
      call.scores = scores_.get() + thread * scores_of_thread_;
      call.out = mixed_.get() + (row * c.heads + kv_head * group) * c.head_dim;
      kernels_.attend(call, element_);
    }
  });
}

void CpuForward::Run(std::span<const ForwardRow> rows, int64_t first) {
  const int64_t all = static_cast<int64_t>(rows.size()), hidden = config_.hidden;
  TRITOGEN_CHECK(all <= kMostRows && first <= all);
  const float eps = static_cast<float>(config_.rms_norm_eps);
  const auto normed = [&](const float* weight, int64_t from) -> RowInput {
    return [this, weight, from, eps, hidden](int64_t row, float* out) {
      kernels_.rms_norm(hidden_.get() + (from + row) * hidden, weight, eps, hidden, out);
    };
  };
  Embed(rows);
  for (int64_t index = 0; index < config_.layers; ++index) {
    const CpuLayer& layer = model_.layers()[static_cast<size_t>(index)];
    // After the last layer's keys and values nobody asks for the rows before `first`.
    const int64_t from = index + 1 < config_.layers ? 0 : first, count = all - from;
    Pack(layer.qkv, all, normed(layer.input_norm, 0));
    Multiply(layer.qkv, all, /*add=*/false, wide_.get(), qkv_width_);
    PlaceKeys(layer, index, rows, from);
    if (count == 0) return;
    Attend(index, rows, from);
    Pack(layer.attention_out, count, [&](int64_t row, float* out) {
      std::copy_n(mixed_.get() + (from + row) * layer.attention_out.in, layer.attention_out.in, out);
    });
    float* const stream = hidden_.get() + from * hidden;
    Multiply(layer.attention_out, count, /*add=*/true, stream, hidden);
    Pack(layer.gate_up, count, normed(layer.mlp_norm, from));
    Multiply(layer.gate_up, count, /*add=*/false, wide_.get(), layer.gate_up.out);
    Pack(layer.down, count, [&](int64_t row, float* out) {
      const float* gate = wide_.get() + row * layer.gate_up.out;
      kernels_.silu_multiply(gate, gate + config_.intermediate, config_.intermediate, out);
    });
    Multiply(layer.down, count, /*add=*/true, stream, hidden);
  }
}

void CpuForward::Logits(std::span<const int64_t> rows, float* logits) {
  const cpu::Matrix& output = model_.output();
  const float eps = static_cast<float>(config_.rms_norm_eps);
  const int64_t count = static_cast<int64_t>(rows.size());
  Pack(output, count, [&](int64_t row, float* out) {
    kernels_.rms_norm(hidden_.get() + rows[static_cast<size_t>(row)] * config_.hidden, model_.final_norm(),
                      eps, config_.hidden, out);
  });
  Multiply(output, count, /*add=*/false, logits, output.out);
}

}  // namespace tritogen
