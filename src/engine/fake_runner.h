// A runner without a model, for tests: its cache holds, for each position, who wrote it and a hash of all
// that was before. The token that a row samples is a hash of everything that it may depend on, so a wrong
// block, a missing copy, a wrong position, token, seed or draw gives another text; what runner.h REQUIRES is
// checked.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <functional>
#include <set>

#include "base/error.h"
#include "base/splitmix.h"
#include "engine/engine.h"

namespace tritogen {

// The model that FakeRunner computes.
struct FakeModel {
  enum class Way : uint8_t { kPrefill, kDecode };

  // State of a text's position, from the state before (0: none).
  static uint64_t Next(uint64_t before, TokenId token, int32_t position, Way way, int weights,
                       int32_t stretch = 0) {
    return SplitMix::Mix(before ^ SplitMix::Mix(static_cast<uint64_t>(stretch) << 20) ^
                         SplitMix::Mix((static_cast<uint64_t>(token) << 32) + 4 * position +
                                       2 * (way == Way::kDecode)) ^
                         SplitMix::Mix(static_cast<uint64_t>(weights) << 50)) |
           1;
  }
  static Sample Draw(uint64_t state, const SamplingOptions& sampling, int32_t draw,
                     const std::set<TokenId>& seen, int32_t vocabulary) {
    uint64_t hash = SplitMix::Mix(state ^ SplitMix::Mix(sampling.seed + static_cast<uint64_t>(draw)) ^
                                  std::bit_cast<uint32_t>(sampling.temperature));
    for (const TokenId token : seen) hash = SplitMix::Mix(hash + static_cast<uint64_t>(token));
    auto at = [&](uint64_t index) {
      const uint64_t bits = SplitMix::At(hash, index);
      return TokenLogprob{static_cast<TokenId>(bits % static_cast<uint64_t>(vocabulary)),
                          -static_cast<float>(bits >> 50)};
    };
    Sample sample{.chosen = at(0)};
    for (int32_t i = 0; i < sampling.top_logprobs; ++i) sample.top.push_back(at(1 + i));
    return sample;
  }
};

class FakeRunner : public Runner {
 public:
  explicit FakeRunner(const RunnerLimits& limits)
      : limits_(limits),
        cells_(static_cast<size_t>(limits.blocks) * limits.block_tokens),
        slots_(static_cast<size_t>(limits.slots)) {}

  // What the scheduler did, for tests to look at; only read when the engine rests.
  struct StepSize {
    int32_t prefill = 0, decode = 0, copies = 0;
  };
  std::vector<StepSize> log;
  std::function<void(const Batch&)> on_submit;  // may throw
  std::function<void()> on_wait;                // may throw
  TokenId nan_token = -1;                       // is NaN instead

  const RunnerLimits& limits() const override { return limits_; }

  void Submit(const Batch& batch) override {
    Require(results_.size() < kStepsInFlight, "steps in flight");
    if (on_submit) on_submit(batch);
    ++step_;
    Start(batch.starts);
    Copy(batch.copies);
    StepSize size{.decode = static_cast<int32_t>(batch.decode.size()),
                  .copies = static_cast<int32_t>(batch.copies.size())};
    for (const PrefillChunk& chunk : batch.prefill) size.prefill += Prefill(chunk);
    Require(size.prefill <= limits_.prefill_tokens && size.decode <= limits_.decode_rows,
            "step within limits");
    results_.emplace_back();
    for (size_t i = 0; i < batch.decode.size(); ++i) Decode(batch.decode[i]);
    log.push_back(size);
  }

  std::vector<Sample> Wait() override {
    Require(!results_.empty(), "a step to wait for");
    if (on_wait) on_wait();
    std::vector<Sample> samples = std::move(results_.front());
    results_.pop_front();
    return samples;
  }

  void WeightsChanged() override {
    Require(results_.empty(), "no step in flight");
    ++weights_;
  }

 private:
  using Way = FakeModel::Way;
  struct Cell {
    TokenId token = -1;
    int32_t position = -1;
    uint64_t state = 0;
    int64_t step = -1;    // that wrote it
    int32_t writer = -1;  // slot, of decode rows
    int weights = 0;
    Way way = Way::kPrefill;
    int32_t stretch = 0;
  };
  struct Slot {
    bool started = false;
    SamplingOptions sampling;
    std::set<TokenId> seen;
    TokenId last = -1;  // none
    int32_t position = -1, draw = -1;
    int64_t sampled_in = -1;  // step
  };

  static void Require(bool holds, const char* what) {
    if (!holds) throw InternalError(std::string("the engine breaks what runner.h requires: ") + what);
  }

  void Start(const std::vector<SlotStart>& starts) {
    for (const SlotStart& start : starts) {
      Require(start.slot >= 0 && start.slot < limits_.slots, "a slot's number");
      Require(start.prompt_tokens > 0 && start.seen.size() >= static_cast<size_t>(start.prompt_tokens),
              "the prompt among the tokens seen");
      slots_[start.slot] = {
          .started = true, .sampling = start.sampling, .seen = {start.seen.begin(), start.seen.end()}};
    }
  }

  void Copy(const std::vector<BlockCopy>& copies) {
    std::set<int32_t> sources, targets;
    for (const BlockCopy& copy : copies) {
      sources.insert(copy.from);
      Require(targets.insert(copy.to).second, "one copy into a block");
      for (int32_t i = 0; i < limits_.block_tokens; ++i) {
        Cell cell = At(copy.from, i);
        Require(cell.step < step_, "copies before prefill");
        At(copy.to, i) = cell;
      }
    }
    for (const int32_t block : sources) Require(!targets.contains(block), "no copy of a copy's target");
  }

  int32_t Prefill(const PrefillChunk& chunk) {
    const auto tokens = static_cast<int32_t>(chunk.tokens.size());
    Require(tokens > 0 && chunk.start >= 0, "a chunk of tokens");
    uint64_t state = Read(chunk.start, chunk.blocks, /*reader=*/-1);
    Require(Blocks(chunk.start + tokens - 1) == chunk.blocks.size(), "the chunk's blocks");
    for (int32_t i = 0; i < tokens; ++i)
      state = Write(state, chunk.tokens[i], chunk.start + i, chunk.blocks, Way::kPrefill, -1, chunk.stretch);
    return tokens;
  }

  void Decode(const DecodeRow& row) {
    Require(row.slot >= 0 && row.slot < limits_.slots && slots_[row.slot].started, "a slot that is started");
    Slot& slot = slots_[row.slot];
    Require(Blocks(row.position) == row.blocks.size(), "the row's blocks");
    Require(slot.position < 0 || row.position == slot.position + 1, "rows of a slot in order, each once");
    Require(slot.sampled_in < step_, "only the last row of a slot samples");
    slot.position = row.position;
    Require(row.token != DecodeRow::kLast || slot.last >= 0, "a token sampled in this slot");
    const TokenId token = row.token == DecodeRow::kLast ? slot.last : row.token;
    const uint64_t before = Read(row.position, row.blocks, row.slot);
    const uint64_t state = Write(before, token, row.position, row.blocks, Way::kDecode, row.slot);
    if (row.draw < 0) return;
    Require(slot.draw < 0 || row.draw == slot.draw + 1, "draws in order");
    slot.draw = row.draw;
    slot.sampled_in = step_;
    Sample sample = FakeModel::Draw(state, slot.sampling, row.draw, slot.seen, limits_.vocabulary);
    if (sample.chosen.token == nan_token) sample.chosen = {0, std::nanf("")};
    slot.last = sample.chosen.token;
    slot.seen.insert(slot.last);
    results_.back().push_back(std::move(sample));
  }

  // State of all positions before `end`, which were written one after another for one text.
  uint64_t Read(int32_t end, std::span<const int32_t> blocks, int32_t reader) {
    uint64_t state = 0;
    for (int32_t p = 0; p < end; ++p) {
      const Cell& cell = At(blocks[p / limits_.block_tokens], p % limits_.block_tokens);
      Require(cell.position == p, "positions that were written");
      Require(cell.step < step_ || (cell.writer == reader && reader >= 0),
              "reads of earlier steps, or own ones");
      Require(cell.state == FakeModel::Next(state, cell.token, p, cell.way, cell.weights, cell.stretch),
              "one text's blocks");
      state = cell.state;
    }
    return state;
  }

  uint64_t Write(uint64_t before, TokenId token, int32_t position, std::span<const int32_t> blocks, Way way,
                 int32_t writer, int32_t stretch = 0) {
    Require(token >= 0 && token < limits_.vocabulary, "a token of the vocabulary");
    Require(position < limits_.context, "a position of the context");
    Cell& cell = At(blocks[position / limits_.block_tokens], position % limits_.block_tokens);
    Require(cell.step < step_, "each place written once in a step");
    cell = {token, position, FakeModel::Next(before, token, position, way, weights_, stretch),
            step_, writer,   weights_,
            way,   stretch};
    return cell.state;
  }

  size_t Blocks(int32_t position) const { return static_cast<size_t>(position / limits_.block_tokens) + 1; }
  Cell& At(int32_t block, int32_t offset) {
    Require(block >= 0 && block < limits_.blocks, "a block's number");
    return cells_[static_cast<size_t>(block) * limits_.block_tokens + offset];
  }

  RunnerLimits limits_;
  std::vector<Cell> cells_;
  std::vector<Slot> slots_;
  std::deque<std::vector<Sample>> results_;
  int64_t step_ = 0;
  int weights_ = 0;
};

// What the model gives for a request's sequence computed alone.
inline std::vector<Sample> Alone(const Request& request, int32_t index, const RunnerLimits& limits,
                                 int weights = 0) {
  const GenerateOptions& options = request.options;
  const auto prompt = static_cast<int32_t>(request.prompt.size());
  const int32_t room = std::min(limits.context, limits.blocks * limits.block_tokens) - prompt;
  const int32_t most = options.max_tokens > 0 ? std::min(options.max_tokens, room) : room;
  SamplingOptions sampling = options.sampling;
  sampling.seed = SequenceSeed(sampling.seed, index);
  uint64_t state = 0;
  const int32_t stretch = limits.stretch_beyond > 0 && prompt > limits.stretch_beyond ? prompt : 0;
  for (int32_t p = 0; p + 1 < prompt; ++p)
    state = FakeModel::Next(state, request.prompt[p], p, FakeModel::Way::kPrefill, weights, stretch);
  std::set<TokenId> seen(request.prompt.begin(), request.prompt.end());
  std::vector<Sample> samples;
  TokenId token = request.prompt.back();
  for (int32_t draw = 0; draw < most; ++draw) {
    state = FakeModel::Next(state, token, prompt - 1 + draw, FakeModel::Way::kDecode, weights);
    samples.push_back(FakeModel::Draw(state, sampling, draw, seen, limits.vocabulary));
    token = samples.back().chosen.token;
    seen.insert(token);
    if (std::ranges::count(options.stop_tokens, token) > 0) break;
  }
  return samples;
}

}  // namespace tritogen
