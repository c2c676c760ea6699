#include "runner/cpu_runner.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "base/available_memory.h"
#include "base/error.h"
#include "base/rounding.h"
#include "runner/cpu_forward.h"
#include "runner/sampler.h"
#include "runner/twin_texts.h"

namespace tritogen {
namespace {

constexpr int64_t kBlockTokens = cpu::kBlockTokens;

RunnerLimits LimitsFor(const CpuModel& model, const CpuRunnerOptions& options) {
  const ModelConfig& config = model.config();
  if (options.slots < 1 || options.prefill_tokens < 1 || options.decode_rows < 1 || options.context < 0 ||
      options.cache_bytes < 0 || options.threads < 0) {
    throw UserError("a runner needs at least one slot, one row and one token of a prompt in a step");
  }
  const int64_t block_bytes = CpuForward::BlockBytes(config, CpuForward::CacheElement(model));
  CheckContext(config, options.context);
  const int64_t context = options.context > 0 ? options.context : config.max_positions;
  const int64_t useful = options.slots * CeilDiv(context, kBlockTokens);
  const int64_t bytes = options.cache_bytes > 0 ? options.cache_bytes : AvailableMemory() / 2;
  const int64_t blocks = std::min(useful, bytes / block_bytes);
  if (blocks < 1) {
    throw UserError(fmt::format("{} bytes for keys and values are too few: {} positions take {}", bytes,
                                kBlockTokens, block_bytes));
  }
  RunnerLimits limits;
  limits.block_tokens = static_cast<int32_t>(kBlockTokens);
  limits.blocks = static_cast<int32_t>(std::min<int64_t>(blocks, INT32_MAX));
  limits.slots = options.slots;
  limits.prefill_tokens = options.prefill_tokens;
  limits.decode_rows = options.decode_rows;
  limits.context = static_cast<int32_t>(std::min(context, limits.blocks * kBlockTokens));
  limits.vocabulary = static_cast<int32_t>(config.vocabulary);
  limits.stretch_beyond = static_cast<int32_t>(StretchBeyond(config));
  limits.finds_twins = options.twins;
  return limits;
}

class CpuRunner final : public Runner {
 public:
  CpuRunner(std::shared_ptr<const DecoderWeights> weights, const CpuRunnerOptions& options)
      : level_(options.level.value_or(cpu::BestLevel())),
        team_(options.threads),
        model_(std::move(weights), options.int8_weights, level_),
        limits_(LimitsFor(model_, options)),
        forward_(model_, level_, limits_.blocks, limits_.context, &team_),
        slots_(static_cast<size_t>(limits_.slots)),
        twins_(limits_.slots),
        samplers_(static_cast<size_t>(team_.size())) {}

  const RunnerLimits& limits() const override { return limits_; }
  void Submit(const Batch& batch) override;
  std::vector<Sample> Wait() override;
  void WeightsChanged() override {
    TRITOGEN_CHECK(results_.empty());
    model_.Refresh();
    twins_.WeightsChanged();
  }

 private:
  struct Slot {
    SamplingOptions sampling;
    TokenId last = 0;
  };

  void Start(const SlotStart& start);
  void AddPrefill(const PrefillChunk& chunk);
  void AddDecode(std::span<const DecodeRow> rows);
  void AddRow(TokenId token, int32_t position, std::span<const int32_t> blocks, int32_t stretch = 0);
  void SampleRows(int64_t begin, int64_t end, std::vector<Sample>* samples);

  cpu::Level level_;
  ThreadTeam team_;
  CpuModel model_;
  RunnerLimits limits_;
  CpuForward forward_;
  std::vector<Slot> slots_;
  TwinTexts twins_;
  std::vector<Sampler> samplers_;  // of each thread
  // Of the step: rows that are computed; and draws, in order, with the rows whose logits they are from.
  struct Draw {
    const DecodeRow* decode;
    int64_t row;
  };
  std::vector<ForwardRow> rows_;
  std::vector<Draw> draws_;
  std::vector<float> logits_;
  std::deque<std::vector<Sample>> results_;
};

void CpuRunner::Start(const SlotStart& start) {
  TRITOGEN_CHECK(start.slot >= 0 && start.slot < limits_.slots);
  Slot& slot = slots_[static_cast<size_t>(start.slot)];
  slot.sampling = start.sampling;
  twins_.Start(start);
}

void CpuRunner::AddRow(TokenId token, int32_t position, std::span<const int32_t> blocks, int32_t stretch) {
  TRITOGEN_CHECK(token >= 0 && token < limits_.vocabulary);
  TRITOGEN_CHECK(position >= 0 && position < limits_.context);
  TRITOGEN_CHECK(static_cast<size_t>(position / kBlockTokens) < blocks.size());
  rows_.push_back({token, position, blocks.data(), std::max(stretch, position + 1)});
}

void CpuRunner::AddPrefill(const PrefillChunk& chunk) {
  int32_t position = chunk.start;
  for (const TokenId token : chunk.tokens) AddRow(token, position++, chunk.blocks, chunk.stretch);
}

// Twins of a row before them add nothing but their blocks to it.
void CpuRunner::AddDecode(std::span<const DecodeRow> rows) {
  const std::span<const int32_t> firsts =
      limits_.finds_twins ? twins_.Find(rows) : std::span<const int32_t>();
  std::vector<int64_t> places;  // in rows_, of each decode row
  for (size_t i = 0; i < rows.size(); ++i) {
    const DecodeRow& row = rows[i];
    TRITOGEN_CHECK(row.slot >= 0 && row.slot < limits_.slots);
    const size_t first = firsts.empty() ? i : static_cast<size_t>(firsts[i]);
    if (first == i) {
      places.push_back(static_cast<int64_t>(rows_.size()));
      AddRow(row.token == DecodeRow::kLast ? slots_[static_cast<size_t>(row.slot)].last : row.token,
             row.position, row.blocks);
    } else {
      places.push_back(places[first]);
      rows_[static_cast<size_t>(places[first])].twins.push_back(
          row.blocks[static_cast<size_t>(row.position / kBlockTokens)]);
    }
    if (row.draw >= 0) draws_.push_back({&row, places.back()});
  }
}

// Draws from the rows `begin` to `end`, which the last forward pass took through the whole model.
void CpuRunner::SampleRows(int64_t begin, int64_t end, std::vector<Sample>* samples) {
  std::vector<size_t> draws;                                                   // of these rows
  std::vector<int64_t> rows, logits_of(static_cast<size_t>(end - begin), -1);  // of the pass; their places
  for (size_t i = 0; i < draws_.size(); ++i) {
    const int64_t row = draws_[i].row - begin;
    if (row < 0 || row >= end - begin) continue;
    draws.push_back(i);
    int64_t& place = logits_of[static_cast<size_t>(row)];
    if (place >= 0) continue;
    place = static_cast<int64_t>(rows.size());
    rows.push_back(row);
  }
  if (draws.empty()) return;
  const size_t vocabulary = static_cast<size_t>(limits_.vocabulary);
  logits_.resize(std::max(logits_.size(), rows.size() * vocabulary));
  forward_.Logits(rows, logits_.data());
  constexpr size_t kWorthSharing = 1 << 13;  // logits
  const int64_t grain = static_cast<int64_t>(kWorthSharing / vocabulary + 1);
  team_.For(static_cast<int64_t>(draws.size()), grain, [&](int thread, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const size_t number = draws[static_cast<size_t>(i)];
      const auto& [decode, row] = draws_[number];
      Slot& slot = slots_[static_cast<size_t>(decode->slot)];
      const auto place = static_cast<size_t>(logits_of[static_cast<size_t>(row - begin)]);
      Sample& sample = (*samples)[number];
      sample = samplers_[static_cast<size_t>(thread)].Choose(
          std::span(logits_).subspan(place * vocabulary, vocabulary), slot.sampling,
          twins_.Tokens(decode->slot), decode->draw);
      slot.last = sample.chosen.token;
      twins_.Drawn(decode->slot, slot.last);
    }
  });
}

void CpuRunner::Submit(const Batch& batch) {
  TRITOGEN_CHECK(results_.size() < kStepsInFlight);
  for (const SlotStart& start : batch.starts) Start(start);
  for (const BlockCopy& copy : batch.copies) {
    TRITOGEN_CHECK(std::min(copy.from, copy.to) >= 0 && std::max(copy.from, copy.to) < limits_.blocks);
    forward_.CopyBlock(copy.from, copy.to);
  }
  rows_.clear();
  draws_.clear();
  for (const PrefillChunk& chunk : batch.prefill) AddPrefill(chunk);
  const int64_t decode_begin = static_cast<int64_t>(rows_.size());
  TRITOGEN_CHECK(decode_begin <= limits_.prefill_tokens &&
                 static_cast<int64_t>(batch.decode.size()) <= limits_.decode_rows);
  AddDecode(batch.decode);
  const int64_t count = static_cast<int64_t>(rows_.size());
  std::vector<Sample> samples(draws_.size());
  for (int64_t begin = 0; begin < count; begin += CpuForward::kMostRows) {
    const int64_t end = std::min(count, begin + CpuForward::kMostRows);
    const int64_t decode = std::clamp(decode_begin, begin, end);  // from here on
    forward_.Run(std::span(rows_).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)),
                 decode - begin);
    SampleRows(begin, end, &samples);
  }
  results_.push_back(std::move(samples));
}

std::vector<Sample> CpuRunner::Wait() {
  TRITOGEN_CHECK(!results_.empty());
  std::vector<Sample> samples = std::move(results_.front());
  results_.pop_front();
  return samples;
}

}  // namespace

std::unique_ptr<Runner> MakeCpuRunner(std::shared_ptr<const DecoderWeights> weights,
                                      const CpuRunnerOptions& options) {
  return std::make_unique<CpuRunner>(std::move(weights), options);
}

}  // namespace tritogen
