#include "runner/gpu_runner.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/rounding.h"
#include "cuda/graph.h"
#include "device/device_errors.h"
#include "device/gpu.h"
#include "kernels/builtin.h"
#include "model/rope.h"
#include "runner/cache_blocks.h"
#include "runner/decode_inputs.h"
#include "runner/device_sampler.h"
#include "runner/staging.h"

namespace tritogen {
namespace {

constexpr int64_t kBlocksEach = 8;     // of a program of decode attention in the batch-invariant mode
constexpr size_t kStretchedRopes = 8;  // are kept
constexpr int64_t kStagedPart = 5 * Staging::kAlignWords;  // is lost at most to a part's arrays

// What a step in flight will give.
struct Pending {
  int event = 0;                                  // recorded behind it
  int staged = 0;                                 // the buffer of the results
  std::vector<std::pair<int32_t, int32_t>> rows;  // that sample: row, top_logprobs
};

class GpuRunner final : public Runner {
 public:
  GpuRunner(std::shared_ptr<const DecoderWeights> weights, const GpuRunnerOptions& options,
            std::shared_ptr<Ranks> ranks);
  ~GpuRunner() override;

  const RunnerLimits& limits() const override { return limits_; }
  void Submit(const Batch& batch) override;
  std::vector<Sample> Wait() override;
  void WeightsChanged() override {}  // the passes read the tensors themselves

 private:
  void CompileKernels();
  void Say(const Opening& opening) const {
    if (options_.on_opening && (ranks_ == nullptr || ranks_->rank() == 0)) options_.on_opening(opening);
  }
  int64_t ResultWords() const { return rows_ * (3 + 2 * kTopLogits); }
  SampleOut Results(int64_t rows) const;
  void Start(const SlotStart& start);
  void Prefill(const std::vector<PrefillChunk>& chunks);
  PrefillTokens Stage(const std::vector<const PrefillChunk*>& chunks);
  at::Tensor StretchedRope(int32_t prompt);
  void Decode(const std::vector<DecodeRow>& rows, Pending* pending);
  void RunDecode(const DecodeShape& shape, bool fresh);
  int64_t Width() const { return CeilDiv(limits_.context, kCacheBlock); }

  const std::shared_ptr<Ranks> ranks_;  // goes last: NCCL's communicators outlive the graphs that use them
  const std::shared_ptr<const DecoderWeights> weights_;
  const GpuRunnerOptions options_;
  const at::Device device_;
  Gpu* const gpu_;  // null on the CPU
  RunnerLimits limits_;
  const int64_t rows_;  // of the staged arrays
  std::unique_ptr<DecoderPass> pass_;
  std::unique_ptr<DeviceSampler> sampler_;
  std::unique_ptr<CacheBlocks> cache_;
  std::unique_ptr<DecodeInputs> decode_in_;
  std::unique_ptr<Staging> prefill_in_, results_;
  std::map<int32_t, at::Tensor> stretched_;  // angles of prompts by their lengths
  std::vector<SamplingOptions> slots_;
  std::unique_ptr<GraphMemory> graph_memory_;
  std::map<DecodeShape, std::optional<cuda::Graph>> graphs_;  // empty: ran once, captured next
  std::vector<CUevent> events_;
  std::vector<Pending> in_flight_;
  int64_t submitted_ = 0;
};

RunnerLimits MakeLimits(const ModelConfig& config, const GpuRunnerOptions& options) {
  RunnerLimits limits;
  limits.block_tokens = kCacheBlock;
  limits.slots = options.slots;
  limits.decode_rows = options.slots;
  CheckContext(config, options.context);
  limits.context = options.context > 0 ? options.context : static_cast<int32_t>(config.max_positions);
  limits.prefill_tokens = options.prefill_tokens;
  limits.vocabulary = static_cast<int32_t>(config.vocabulary);
  limits.stretch_beyond = static_cast<int32_t>(StretchBeyond(config));
  return limits;
}

GpuRunner::GpuRunner(std::shared_ptr<const DecoderWeights> weights, const GpuRunnerOptions& options,
                     std::shared_ptr<Ranks> ranks)
    : ranks_(std::move(ranks)),
      weights_(std::move(weights)),
      options_(options),
      device_(weights_->embedding.device()),
      gpu_(device_.is_cuda() ? Gpu::Current() : nullptr),
      limits_(MakeLimits(weights_->config, options)),
      rows_(RoundUp(options.slots, Staging::kAlignWords)) {
  if (gpu_ != nullptr) gpu_->EnterThread();
  const PassOptions pass{.prefill_tokens = limits_.prefill_tokens,
                         .decode_rows = limits_.decode_rows,
                         .positions = limits_.context,
                         .blocks_each = options.batch_invariant ? kBlocksEach : 0,
                         .processors = gpu_ != nullptr ? gpu_->info().sm_count : 1,
                         .batch_invariant = options.batch_invariant,
                         .fused_rows = options.fused_rows};
  pass_ = std::make_unique<DecoderPass>(weights_, pass, ranks_);
  sampler_ = std::make_unique<DeviceSampler>(limits_.decode_rows, limits_.slots + 1, limits_.vocabulary,
                                             weights_->embedding);
  const int64_t tiles = CeilDiv(limits_.prefill_tokens, pass_->prefill_tile()) + limits_.slots;
  prefill_in_ = std::make_unique<Staging>(
      3 * limits_.prefill_tokens + 4 * tiles + limits_.slots * (Width() + kStagedPart), device_);
  results_ = std::make_unique<Staging>(ResultWords(), device_);
  slots_.resize(limits_.slots + 1);
  const int64_t blocks = BlocksFor(*weights_, options, limits_, ranks_.get());
  limits_.blocks = static_cast<int32_t>(blocks);
  cache_ = std::make_unique<CacheBlocks>(*weights_, blocks);
  SharingOptions sharing = pass_->sharing();
  if (options.share_prefixes == SharePrefixes::kAlways) sharing.least_saved = 1;
  if (options.share_prefixes == SharePrefixes::kNever) sharing.rows_of_item = 0;
  decode_in_ = std::make_unique<DecodeInputs>(limits_, sharing, device_);
  CompileKernels();
  if (gpu_ == nullptr) return;
  graph_memory_ = std::make_unique<GraphMemory>();
  for (int i = 0; i < kStepsInFlight; ++i) {
    events_.emplace_back();
    cuda::Check(gpu_->driver().cuEventCreate(&events_.back(), CU_EVENT_DISABLE_TIMING), "make an event");
  }
}

// All at once. Of several ranks, which have one cache, the first one compiles.
void GpuRunner::CompileKernels() {
  std::vector<Kernel> kernels;
  for (const std::string& name : pass_->KernelNames()) kernels.push_back(BuiltinKernel(name));
  for (const std::string& name : sampler_->KernelNames()) kernels.push_back(BuiltinKernel(name));
  if (gpu_ == nullptr) return;  // the names are right, which is all that the tile machine asks for
  const bool first = ranks_ == nullptr || ranks_->rank() == 0;
  if (first) {
    gpu_->Precompile(kernels, [&](int64_t done, int64_t total) { Say({"compiling kernels", done, total}); });
  }
  if (ranks_ == nullptr) return;
  Say({"waiting for the other ranks' memory and kernels"});
  LeastOfRanks(ranks_.get(), 0, device_);
  if (!first) gpu_->Precompile(kernels);
}

GpuRunner::~GpuRunner() {
  for (CUevent event : events_) gpu_->driver().cuEventDestroy(event);
}

SampleOut GpuRunner::Results(int64_t rows) const {
  const at::Tensor& words = results_->device();
  return {.tokens = Staging::View(words, 0, {rows}),
          .logprobs = Staging::View(words, rows_, {rows, 2}, at::kFloat),
          .top_tokens = Staging::View(words, 3 * rows_, {rows, kTopLogits}),
          .top_logits = Staging::View(words, (3 + kTopLogits) * rows_, {rows, kTopLogits}, at::kFloat)};
}

void GpuRunner::Start(const SlotStart& start) {
  slots_[start.slot] = start.sampling;
  if (start.sampling.repetition_penalty == 1) return;  // nobody looks
  const std::vector<int64_t> seen(start.seen.begin(), start.seen.end());
  sampler_->SetSeen(start.slot, seen);
}

// Chunks of prompts whose keys depend on the prompts' lengths go alone, with angles of their own; all others
// at once. What they need is on its way before the first of them runs.
void GpuRunner::Prefill(const std::vector<PrefillChunk>& chunks) {
  if (chunks.empty()) return;
  std::vector<const PrefillChunk*> together;
  std::vector<PrefillTokens> parts;
  prefill_in_->Next();
  for (const PrefillChunk& chunk : chunks) {
    if (chunk.stretch == 0) {
      together.push_back(&chunk);
      continue;
    }
    parts.push_back(Stage({&chunk}));
    parts.back().rope = StretchedRope(chunk.stretch);
  }
  if (!together.empty()) parts.push_back(Stage(together));
  prefill_in_->ToDevice();
  for (const PrefillTokens& part : parts) pass_->Prefill(part, cache_->pages());
}

// Puts into prefill_in_ what the pass wants to know of chunks; returns views of where it will be.
PrefillTokens GpuRunner::Stage(const std::vector<const PrefillChunk*>& chunks) {
  int64_t tokens = 0, tiles = 0;
  for (const PrefillChunk* chunk : chunks) {
    tokens += static_cast<int64_t>(chunk->tokens.size());
    tiles += CeilDiv(static_cast<int64_t>(chunk->tokens.size()), pass_->prefill_tile());
  }
  int64_t at[5];
  const int64_t count = static_cast<int64_t>(chunks.size());
  int32_t* token = prefill_in_->Take(tokens, &at[0]);
  int32_t* position = prefill_in_->Take(tokens, &at[1]);
  int32_t* table_row = prefill_in_->Take(tokens, &at[2]);
  int32_t* tile = prefill_in_->Take(4 * tiles, &at[3]);
  int32_t* tables = prefill_in_->Take(count * Width(), &at[4]);
  int32_t first = 0;
  for (int32_t i = 0; i < count; ++i) {
    const PrefillChunk& chunk = *chunks[i];
    const auto n = static_cast<int32_t>(chunk.tokens.size());
    std::copy(chunk.tokens.begin(), chunk.tokens.end(), token + first);
    std::copy(chunk.blocks.begin(), chunk.blocks.end(), tables + i * Width());
    for (int32_t t = 0; t < n; ++t) {
      position[first + t] = chunk.start + t;
      table_row[first + t] = i;
    }
    const auto most = static_cast<int32_t>(pass_->prefill_tile());
    for (int32_t t = 0; t < n; t += most, tile += 4) {
      tile[0] = first + t, tile[1] = std::min(most, n - t), tile[2] = chunk.start + t, tile[3] = i;
    }
    first += n;
  }
  const at::Tensor& in = prefill_in_->device();
  return {.tokens = Staging::View(in, at[0], {tokens}),
          .positions = Staging::View(in, at[1], {tokens}),
          .table_rows = Staging::View(in, at[2], {tokens}),
          .tiles = Staging::View(in, at[3], {tiles, 4}),
          .tables = Staging::View(in, at[4], {count, Width()})};
}

// A prompt comes in many chunks.
at::Tensor GpuRunner::StretchedRope(int32_t prompt) {
  if (stretched_.size() > kStretchedRopes) stretched_.clear();
  at::Tensor& rope = stretched_[prompt];
  if (!rope.defined()) rope = RopeTensor(weights_->config, prompt, device_, prompt);
  return rope;
}

void GpuRunner::Decode(const std::vector<DecodeRow>& rows, Pending* pending) {
  if (rows.empty()) return;
  DecodeInputs::Filled filled = decode_in_->Fill(rows, slots_);
  const DecodeShape& shape = filled.shape;
  RunDecode(shape, filled.fresh);
  if (filled.tops) {
    sampler_->TopLogits(pass_->logits(shape.rows), decode_in_->Sampling(shape), Results(shape.rows));
  }
  results_->Next();
  results_->ToHost(filled.tops ? ResultWords() : rows_ * 3);
  pending->staged = results_->current();
  pending->rows = std::move(filled.sampling);
}

void GpuRunner::RunDecode(const DecodeShape& shape, bool fresh) {
  const auto run = [&] {
    const at::Tensor logits =
        pass_->Decode(decode_in_->Rows(shape, sampler_->last()), cache_->pages(), fresh);
    sampler_->Sample(logits, decode_in_->Sampling(shape), shape.cuts, Results(shape.rows));
  };
  if (gpu_ == nullptr || !options_.graphs || !fresh) return run();
  const auto [entry, is_new] = graphs_.try_emplace(shape);
  if (is_new) return run();  // loads kernels and makes cuBLAS take its memory, which a capture must not do
  std::optional<cuda::Graph>& graph = entry->second;
  if (!graph) {
    std::string why;
    graph_memory_->Allocating(
        gpu_, [&] { graph = cuda::Graph::Capture(gpu_->driver(), gpu_->stream(), run, &why); });
    if (!graph) throw InternalError("the decode step cannot be captured: " + why);
  }
  graph->Launch(gpu_->stream());
}

void GpuRunner::Submit(const Batch& batch) {
  TRITOGEN_CHECK(in_flight_.size() < kStepsInFlight);
  if (gpu_ != nullptr) gpu_->EnterThread();
  const at::NoGradGuard no_gradients;
  for (const SlotStart& start : batch.starts) Start(start);
  cache_->Copy(batch.copies);
  Prefill(batch.prefill);
  Pending pending;
  Decode(batch.decode, &pending);
  // Also of steps that give nothing: their staged data must not be written over before it is on the device.
  pending.event = static_cast<int>(submitted_++ % kStepsInFlight);
  if (gpu_ != nullptr) {
    cuda::Check(gpu_->driver().cuEventRecord(events_[pending.event], gpu_->stream()), "record an event");
  }
  in_flight_.push_back(std::move(pending));
}

std::vector<Sample> GpuRunner::Wait() {
  TRITOGEN_CHECK(!in_flight_.empty());
  const Pending pending = std::move(in_flight_.front());
  in_flight_.erase(in_flight_.begin());
  std::vector<Sample> samples;
  if (gpu_ != nullptr) {
    cuda::Check(gpu_->driver().cuEventSynchronize(events_[pending.event]), "wait for a step");
  }
  if (pending.rows.empty()) return samples;
  const int32_t* tokens = results_->host(pending.staged);
  const auto* logprobs = reinterpret_cast<const float*>(tokens + rows_);
  const int32_t* top_tokens = tokens + 3 * rows_;
  const auto* top_logits = reinterpret_cast<const float*>(tokens + (3 + kTopLogits) * rows_);
  samples.reserve(pending.rows.size());
  for (const auto& [row, tops] : pending.rows) {
    Sample& sample = samples.emplace_back();
    sample.chosen = {tokens[row], logprobs[2 * row]};
    for (int32_t i = 0; i < tops; ++i) {
      const int64_t at = row * kTopLogits + i;
      sample.top.push_back({top_tokens[at], top_logits[at] - logprobs[2 * row + 1]});
    }
  }
  return samples;
}

}  // namespace

std::unique_ptr<Runner> MakeGpuRunner(std::shared_ptr<const DecoderWeights> weights,
                                      const GpuRunnerOptions& options, std::shared_ptr<Ranks> ranks) {
  return NeedingDeviceMemory(
      "the model's buffers", "; --cache-gib, --batch and --context say how many there are",
      [&] { return std::make_unique<GpuRunner>(std::move(weights), options, std::move(ranks)); });
}

}  // namespace tritogen
