#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/rounding.h"
#include "device/builtin_launch.h"
#include "device/gpu.h"
#include "kernels/builtin.h"
#include "train/embedding_gradient.h"
#include "train/linear.h"
#include "train/packed_attention.h"
#include "train/part_sums.h"
#include "train/training_pass.h"

namespace tritogen::train {
namespace {

constexpr int64_t kNormParts = 528;            // programs of norm_backward: what an H200 runs at once
constexpr int64_t kHeadParts = 660;            // and of rope_heads_backward
constexpr int64_t kTile = 2048;                // elements of a program's tile: kernels/emit.py
constexpr int64_t kSwigluBlock = 1024;         // and BLOCK of swiglu
constexpr int64_t kLogits = int64_t{3} << 29;  // held at once, at most

// A power of two: tiles of products fill a GPU's multiprocessors a whole number of times, about.
int64_t LogitTokens(const ModelConfig& config, const PassShape& shape) {
  if (shape.logit_tokens > 0) return std::min(shape.logit_tokens, shape.tokens);
  const auto fit = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(kLogits / config.vocabulary)));
  return std::min(shape.tokens, std::clamp<int64_t>(fit, 1024, 16384));
}

const char* DtypeName(at::ScalarType type) {
  if (type == at::kFloat) return "f32";
  if (type == at::kBFloat16) return "bf16";
  throw UserError("training's kernels have forms for float32 and bfloat16 weights only");
}

// What a layer's forward pass leaves for its backward pass; [tokens, …].
struct Kept {
  at::Tensor y, qkv, rotated, attended, lse;  // y: of the norm before; lse [heads, tokens] float32
  at::Tensor x_mlp, y_mlp, gate_up, hidden;   // hidden: silu(gate) · up
};

class FusedPass : public TrainingPass {
 public:
  FusedPass(const FlatWeights& weights, const FlatWeights& gradients, const PassShape& shape);

  ProductChoices Products() const override { return chosen_ ? chosen_->choices() : ProductChoices(); }
  std::set<std::string> SetProducts(const std::optional<ProductChoices>& taken) override;
  at::Tensor Loss(const DeviceBatch& batch) override {
    const at::NoGradGuard no_gradients;
    Forward(batch);
    Output(batch, nullptr, false);
    return TotalLoss(batch);
  }
  at::Tensor LossAndGradients(const DeviceBatch& batch, double scale, bool add) override;

 private:
  void Forward(const DeviceBatch& batch);
  // From y and x on: again, on the way back, what comes after hidden is left out.
  void LayerForward(size_t index, const DeviceBatch& batch, bool again);
  void LayerBackward(size_t index, const DeviceBatch& batch, bool add);
  void AttentionBackward(size_t index, const DeviceBatch& batch, bool add);
  // Losses of the learned tokens, whose logits alone are computed, or of all; with `scale` gradients of the
  // output matrix (`add`: added), and of the last norm's result to delta_.
  void Output(const DeviceBatch& batch, const double* scale, bool add);
  // How many tokens have logits. Where nearly all are learned, gathering and scattering them costs more than
  // the others' logits: these have the weight 0, and so neither a loss nor a gradient.
  int64_t LossRows(const DeviceBatch& batch) const {
    const int64_t learned = batch.learned.numel();
    return learned >= shape_.tokens - shape_.tokens / 32 ? shape_.tokens : learned;
  }
  at::Tensor TotalLoss(const DeviceBatch& batch) const { return losses_.narrow(0, 0, LossRows(batch)).sum(); }

  void Norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& out) const;
  void AddNorm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& total,
               const at::Tensor& out) const;
  // From delta_ to d_x_. `norm`: its place in norms_.
  void NormBackward(const at::Tensor& x, const at::Tensor& weight, size_t norm, bool add) const;
  void Rope(const LayerWeights& layer, const DeviceBatch& batch, const Kept& kept) const;
  void RopeBackward(size_t index, const DeviceBatch& batch, const Kept& kept) const;

  const Kept& kept(size_t index) const { return kept_[shape_.checkpointing ? 0 : index]; }
  std::string Kernel(std::string_view name, std::string_view choice = "") const {
    return fmt::format("{}.{}{}{}", name, dtype_, choice.empty() ? "" : ".", choice);
  }
  std::string CrossEntropyKernel(bool gradient) const {
    constexpr int64_t kWideVocabulary = 16384;
    return Kernel("cross_entropy",
                  fmt::format("{:d}{}", gradient, config_.vocabulary > kWideVocabulary ? ".wide" : ""));
  }
  void Check(const DeviceBatch& batch) const;
  void CompileKernels() const;
  void MakePartSums();
  void Linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& out) {
    chosen_ ? chosen_->Linear(x, weight, bias, out) : train::Linear(x, weight, bias, out);
  }
  void LinearToInput(const at::Tensor& d_out, const at::Tensor& weight, const at::Tensor& d_x) {
    chosen_ ? chosen_->LinearToInput(d_out, weight, d_x) : train::LinearToInput(d_out, weight, d_x);
  }
  void LinearToWeights(const at::Tensor& d_out, const at::Tensor& x, const at::Tensor& d_weight, bool add) {
    chosen_ ? chosen_->LinearToWeights(d_out, x, d_weight, add)
            : train::LinearToWeights(d_out, x, d_weight, add);
  }

  const FlatWeights flat_weights_, flat_gradients_;
  const DecoderWeights &weights_, &gradients_;
  const ModelConfig& config_;
  const PassShape shape_;
  const std::string dtype_, width_, head_;  // as kernels are named
  const int64_t norm_rows_, head_rows_;     // of a tile
  PackedAttention attention_;
  EmbeddingGradient embedding_gradient_;
  std::unique_ptr<ChosenProducts> chosen_;  // may be null
  at::Tensor rope_;
  std::vector<at::Tensor> x_;  // what enters each layer, and the last norm
  std::vector<Kept> kept_;     // one of all layers with checkpointing
  at::Tensor y_;               // of the last norm
  at::Tensor delta_;           // what a half of a layer adds, and the gradient of a norm's result
  at::Tensor d_x_, d_hidden_, d_attended_, d_rotated_, d_qkv_;
  at::Tensor logits_;  // of so many tokens at once
  at::Tensor losses_;
  // Norms of layers (input, mlp) and the last one; heads' norms of layers (q, k); biases of layers.
  PartSums norms_, head_norms_, qkv_biases_, attention_biases_, gate_up_biases_, down_biases_;
};

FusedPass::FusedPass(const FlatWeights& weights, const FlatWeights& gradients, const PassShape& shape)
    : flat_weights_(weights),
      flat_gradients_(gradients),
      weights_(flat_weights_.weights),
      gradients_(flat_gradients_.weights),
      config_(weights_.config),
      shape_(shape),
      dtype_(DtypeName(weights.flat.scalar_type())),
      width_(BuiltinWidth(config_.hidden)),
      head_(fmt::format("{}.{:d}", config_.head_dim, config_.qk_norm)),
      norm_rows_(std::max<int64_t>(1, kTile / std::stoll(width_))),
      head_rows_(kTile / config_.head_dim),
      attention_(config_, weights.flat.scalar_type(), shape.tokens, weights.flat.device()),
      embedding_gradient_(shape.tokens, config_.hidden, weights.flat.scalar_type(), weights.flat.device()) {
  TRITOGEN_CHECK(gradients.flat.scalar_type() == at::kFloat);
  if (config_.intermediate % 16 != 0) {
    throw UserError(fmt::format("the kernels need an intermediate size that is a multiple of 16, not {}",
                                config_.intermediate));
  }
  if (config_.rope.kind == RopeKind::kDynamic && shape.longest > config_.max_positions) {
    throw UserError(
        fmt::format("the model's angles change beyond {} positions (dynamic RoPE): documents of {} "
                    "tokens cannot be trained",
                    config_.max_positions, shape.longest));
  }
  const int64_t heads = config_.heads * config_.head_dim, kv = config_.kv_heads * config_.head_dim;
  const at::TensorOptions same = weights.flat.options(), wide = same.dtype(at::kFloat);
  const int64_t n = shape.tokens;
  const auto make = [&](int64_t columns) { return at::empty({n, columns}, same); };
  rope_ = RopeTensor(config_, shape.longest, weights.flat.device());
  for (int64_t i = 0; i <= config_.layers; ++i) x_.push_back(make(config_.hidden));
  for (int64_t i = 0; i < (shape.checkpointing ? 1 : config_.layers); ++i) {
    kept_.push_back({make(config_.hidden), make(heads + 2 * kv), make(heads + kv), make(heads),
                     at::empty({config_.heads, n}, wide), make(config_.hidden), make(config_.hidden),
                     make(2 * config_.intermediate), make(config_.intermediate)});
  }
  y_ = make(config_.hidden), delta_ = make(config_.hidden);
  d_x_ = make(config_.hidden), d_hidden_ = make(config_.intermediate), d_attended_ = make(heads);
  d_rotated_ = make(heads + kv), d_qkv_ = make(heads + 2 * kv);
  // Rows of logits begin on multiples of 16 elements, whatever the vocabulary.
  logits_ = at::empty({LogitTokens(config_, shape), RoundUp(config_.vocabulary, 16)}, same);
  losses_ = at::empty({n}, wide);
  MakePartSums();
  CompileKernels();
}

void FusedPass::MakePartSums() {
  std::vector<at::Tensor> norms, head_norms;
  for (const LayerWeights& layer : gradients_.layers) {
    norms.insert(norms.end(), {layer.input_norm, layer.mlp_norm});
    head_norms.insert(head_norms.end(), {layer.q_norm, layer.k_norm});
  }
  norms.push_back(gradients_.final_norm);
  const int64_t heads = shape_.tokens * (config_.heads + config_.kv_heads);
  norms_ = PartSums(flat_gradients_, norms, std::min(kNormParts, CeilDiv(shape_.tokens, norm_rows_)));
  head_norms_ = PartSums(flat_gradients_, head_norms, std::min(kHeadParts, CeilDiv(heads, head_rows_)));
  const auto biases = [&](at::Tensor LayerWeights::*bias) {
    std::vector<at::Tensor> vectors;
    for (const LayerWeights& layer : gradients_.layers) vectors.push_back(layer.*bias);
    if (!vectors.front().defined()) return PartSums();
    return PartSums(flat_gradients_, vectors, SumRowsParts(shape_.tokens, vectors.front().numel()));
  };
  qkv_biases_ = biases(&LayerWeights::qkv_bias);
  attention_biases_ = biases(&LayerWeights::attention_bias);
  gate_up_biases_ = biases(&LayerWeights::gate_up_bias);
  down_biases_ = biases(&LayerWeights::down_bias);
}

std::set<std::string> FusedPass::SetProducts(const std::optional<ProductChoices>& taken) {
  chosen_.reset();
  if ((taken && taken->empty()) || !logits_.is_cuda() || logits_.scalar_type() != at::kBFloat16) return {};
  chosen_ = std::make_unique<ChosenProducts>(taken);
  const LayerWeights& layer = weights_.layers.front();
  const int64_t n = shape_.tokens;
  chosen_->Try(n, layer.qkv, layer.qkv_bias, layer.qkv.size(0));
  chosen_->Try(n, layer.attention_out, layer.attention_bias, layer.attention_out.size(0));
  chosen_->Try(n, layer.gate_up, layer.gate_up_bias, layer.gate_up.size(0));
  chosen_->Try(n, layer.down, layer.down_bias, layer.down.size(0));
  chosen_->Try(logits_.size(0), weights_.output, {}, logits_.stride(0));
  return chosen_->refused();
}

void FusedPass::Check(const DeviceBatch& batch) const {
  const auto fits = [&](const at::Tensor& tensor, at::ScalarType type) {
    return tensor.numel() == shape_.tokens && tensor.scalar_type() == type && tensor.is_contiguous();
  };
  TRITOGEN_CHECK(fits(batch.tokens, at::kInt) && fits(batch.targets, at::kInt) &&
                 fits(batch.positions, at::kInt) && fits(batch.weights, at::kFloat));
  TRITOGEN_CHECK(batch.starts.scalar_type() == at::kInt && batch.starts.numel() >= 2);
  TRITOGEN_CHECK(batch.learned.scalar_type() == at::kLong && batch.learned.numel() <= shape_.tokens);
}

// All at once, the optimizer's, too, rather than each where it is first launched.
void FusedPass::CompileKernels() const {
  std::vector<std::string> names = {Kernel("add_norm", width_),
                                    Kernel("norm_backward", "0." + width_),
                                    Kernel("norm_backward", "1." + width_),
                                    Kernel("rope_heads", head_),
                                    Kernel("rope_heads_backward", head_),
                                    Kernel("swiglu"),
                                    Kernel("swiglu_backward"),
                                    CrossEntropyKernel(false),
                                    CrossEntropyKernel(true),
                                    Kernel("embed_norm", width_),
                                    Kernel("adamw"),
                                    Kernel("sum_rows"),
                                    "add_parts.0",
                                    "add_parts.1",
                                    "sum_squares"};
  if (shape_.checkpointing) names.push_back(Kernel("rms_norm", "0." + width_));
  for (const auto& more : {attention_.KernelNames(), embedding_gradient_.KernelNames()})
    names.insert(names.end(), more.begin(), more.end());
  std::vector<tritogen::Kernel> kernels;
  for (const std::string& name : names) kernels.push_back(BuiltinKernel(name));
  if (d_x_.is_cuda()) Gpu::Current()->Precompile(kernels);
}

void FusedPass::Norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& out) const {
  LaunchBuiltin(Kernel("rms_norm", "0." + width_), shape_.tokens,
                {x, x, weight, out, config_.hidden, config_.rms_norm_eps});
}

void FusedPass::AddNorm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& total,
                        const at::Tensor& out) const {
  LaunchBuiltin(Kernel("add_norm", width_), CeilDiv(shape_.tokens, norm_rows_),
                {x, delta_, weight, total, out, shape_.tokens, config_.hidden, config_.rms_norm_eps});
}

void FusedPass::NormBackward(const at::Tensor& x, const at::Tensor& weight, size_t norm, bool add) const {
  LaunchBuiltin(
      Kernel("norm_backward", (add ? "1." : "0.") + width_), norms_.rows(),
      {x, weight, delta_, d_x_, norms_.parts(norm), shape_.tokens, config_.hidden, config_.rms_norm_eps});
}

void FusedPass::Rope(const LayerWeights& layer, const DeviceBatch& batch, const Kept& kept) const {
  const at::Tensor& any = layer.input_norm;  // stands for norms that the model has not
  const int64_t rows = shape_.tokens * (config_.heads + config_.kv_heads);
  LaunchBuiltin(Kernel("rope_heads", head_), CeilDiv(rows, head_rows_),
                {kept.qkv, config_.qk_norm ? layer.q_norm : any, config_.qk_norm ? layer.k_norm : any, rope_,
                 batch.positions, kept.rotated, rows, config_.heads, config_.kv_heads, config_.rms_norm_eps});
}

void FusedPass::RopeBackward(size_t index, const DeviceBatch& batch, const Kept& kept) const {
  const LayerWeights& layer = weights_.layers[index];
  const at::Tensor& any = layer.input_norm;
  const int64_t rows = shape_.tokens * (config_.heads + config_.kv_heads);
  const int64_t programs =
      config_.qk_norm ? head_norms_.rows() : std::min(kHeadParts, CeilDiv(rows, head_rows_));
  LaunchBuiltin(
      Kernel("rope_heads_backward", head_), programs,
      {kept.qkv, config_.qk_norm ? layer.q_norm : any, config_.qk_norm ? layer.k_norm : any, rope_,
       batch.positions, d_rotated_, d_qkv_, config_.qk_norm ? head_norms_.parts(2 * index) : losses_, rows,
       config_.heads, config_.kv_heads, config_.rms_norm_eps});
}

void FusedPass::LayerForward(size_t index, const DeviceBatch& batch, bool again) {
  const LayerWeights& layer = weights_.layers[index];
  const Kept& at = kept(index);
  Linear(at.y, layer.qkv, layer.qkv_bias, at.qkv);
  Rope(layer, batch, at);
  attention_.Forward({at.rotated, at.qkv}, at.attended, at.lse);
  Linear(at.attended, layer.attention_out, layer.attention_bias, delta_);
  AddNorm(x_[index], layer.mlp_norm, at.x_mlp, at.y_mlp);
  Linear(at.y_mlp, layer.gate_up, layer.gate_up_bias, at.gate_up);
  LaunchBuiltin(Kernel("swiglu"), {shape_.tokens, CeilDiv(config_.intermediate, kSwigluBlock)},
                {at.gate_up, at.hidden, config_.intermediate});
  if (again) return;
  Linear(at.hidden, layer.down, layer.down_bias, delta_);
}

void FusedPass::Forward(const DeviceBatch& batch) {
  Check(batch);
  attention_.Begin(batch.starts, batch.positions);
  LaunchBuiltin(Kernel("embed_norm", width_), CeilDiv(shape_.tokens, norm_rows_),
                {weights_.embedding, batch.tokens, weights_.layers[0].input_norm, x_[0], kept(0).y,
                 shape_.tokens, config_.hidden, config_.rms_norm_eps});
  for (size_t i = 0; i < weights_.layers.size(); ++i) {
    LayerForward(i, batch, /*again=*/false);
    const bool is_last = i + 1 == weights_.layers.size();
    AddNorm(kept(i).x_mlp, is_last ? weights_.final_norm : weights_.layers[i + 1].input_norm, x_[i + 1],
            is_last ? y_ : kept(i + 1).y);
  }
}

void FusedPass::Output(const DeviceBatch& batch, const double* scale, bool add) {
  const std::string kernel = CrossEntropyKernel(scale != nullptr);
  const int64_t rows = LossRows(batch);
  const bool all = rows == shape_.tokens;
  if (scale != nullptr && !all) delta_.zero_();
  if (scale != nullptr && rows == 0 && !add) gradients_.output.zero_();
  for (int64_t from = 0; from < rows; from += logits_.size(0)) {
    const int64_t count = std::min(logits_.size(0), rows - from);
    const at::Tensor places = all ? at::Tensor() : batch.learned.narrow(0, from, count);
    const auto of = [&](const at::Tensor& tensor) {
      return all ? tensor.narrow(0, from, count) : tensor.index_select(0, places);
    };
    const at::Tensor y = of(y_), d_y = all ? of(delta_) : y;
    const at::Tensor logits = logits_.narrow(0, 0, count).narrow(1, 0, config_.vocabulary);
    Linear(y, weights_.output, {}, logits);
    LaunchBuiltin(kernel, count,
                  {logits, of(batch.targets), of(batch.weights), losses_.narrow(0, from, count),
                   logits_.stride(0), config_.vocabulary, scale != nullptr ? *scale : 0});
    if (scale == nullptr) continue;
    LinearToWeights(logits, y, gradients_.output, add || from > 0);
    LinearToInput(logits, weights_.output, d_y);
    if (!all) delta_.index_copy_(0, places, d_y);
  }
}

void FusedPass::AttentionBackward(size_t index, const DeviceBatch& batch, bool add) {
  const LayerWeights &layer = weights_.layers[index], &gradient = gradients_.layers[index];
  const Kept& at = kept(index);
  LinearToWeights(d_x_, at.attended, gradient.attention_out, add);
  if (gradient.attention_bias.defined()) attention_biases_.SumRows(d_x_, index);
  LinearToInput(d_x_, layer.attention_out, d_attended_);
  attention_.Backward({at.rotated, at.qkv}, at.attended, at.lse, d_attended_, d_rotated_, d_qkv_);
  RopeBackward(index, batch, at);
  if (gradient.qkv_bias.defined()) qkv_biases_.SumRows(d_qkv_, index);  // while the L2 has some of it
  LinearToWeights(d_qkv_, at.y, gradient.qkv, add);
  LinearToInput(d_qkv_, layer.qkv, delta_);
}

// d_x_: the gradient of what leaves the layer, then of what enters it.
void FusedPass::LayerBackward(size_t index, const DeviceBatch& batch, bool add) {
  const LayerWeights &layer = weights_.layers[index], &gradient = gradients_.layers[index];
  const Kept& at = kept(index);
  LinearToWeights(d_x_, at.hidden, gradient.down, add);
  if (gradient.down_bias.defined()) down_biases_.SumRows(d_x_, index);
  LinearToInput(d_x_, layer.down, d_hidden_);
  LaunchBuiltin(Kernel("swiglu_backward"), {shape_.tokens, CeilDiv(config_.intermediate, kSwigluBlock)},
                {at.gate_up, d_hidden_, config_.intermediate});
  LinearToWeights(at.gate_up, at.y_mlp, gradient.gate_up, add);
  if (gradient.gate_up_bias.defined()) gate_up_biases_.SumRows(at.gate_up, index);
  LinearToInput(at.gate_up, layer.gate_up, delta_);
  NormBackward(at.x_mlp, layer.mlp_norm, 2 * index + 1, /*add=*/true);
  AttentionBackward(index, batch, add);
  NormBackward(x_[index], layer.input_norm, 2 * index, /*add=*/true);
}

at::Tensor FusedPass::LossAndGradients(const DeviceBatch& batch, double scale, bool add) {
  const at::NoGradGuard no_gradients;
  Forward(batch);
  Output(batch, &scale, add);
  NormBackward(x_.back(), weights_.final_norm, 2 * weights_.layers.size(), /*add=*/false);
  for (size_t i = weights_.layers.size(); i-- > 0;) {
    if (shape_.checkpointing) {
      Norm(x_[i], weights_.layers[i].input_norm, kept(i).y);
      LayerForward(i, batch, /*again=*/true);
    }
    LayerBackward(i, batch, add);
  }
  if (!add && !config_.tied_embeddings) gradients_.embedding.zero_();  // otherwise Output has written it
  embedding_gradient_.Add(batch.tokens, d_x_, gradients_.embedding);
  for (const PartSums* sums :
       {&norms_, &head_norms_, &qkv_biases_, &attention_biases_, &gate_up_biases_, &down_biases_})
    sums->Finish(add);
  return TotalLoss(batch);
}

}  // namespace

std::unique_ptr<TrainingPass> MakeFusedPass(const FlatWeights& weights, const FlatWeights& gradients,
                                            const PassShape& shape) {
  const at::NoGradGuard no_gradients;
  return std::make_unique<FusedPass>(weights, gradients, shape);
}

}  // namespace tritogen::train
