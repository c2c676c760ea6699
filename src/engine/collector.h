// What a request gave, gathered for tests.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/engine.h"

namespace tritogen {

class Collector {
 public:
  struct Sequence {
    std::vector<Sample> samples;
    std::string text, error;
    std::optional<FinishReason> finish;
    int chunks = 0;

    std::vector<TokenId> tokens() const {
      std::vector<TokenId> tokens;
      for (const Sample& sample : samples) tokens.push_back(sample.chosen.token);
      return tokens;
    }
  };

  explicit Collector(int32_t n = 1) : state_(std::make_shared<State>()) {
    state_->sequences.resize(static_cast<size_t>(n));
    state_->unfinished = n;
  }

  // Safe to be called when this is gone.
  std::function<void(Chunk)> callback() const {
    return [state = state_](Chunk chunk) {
      const std::lock_guard lock(state->mutex);
      Sequence& sequence = state->sequences.at(static_cast<size_t>(chunk.index));
      if (sequence.finish) ++state->after_the_end;
      ++sequence.chunks;
      sequence.text += chunk.text;
      sequence.error += chunk.error;
      for (Sample& sample : chunk.samples) sequence.samples.push_back(std::move(sample));
      sequence.finish = chunk.finish;
      if (chunk.finish) --state->unfinished;
      state->changed.notify_all();
    };
  }

  const std::vector<Sequence>& Wait() const {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return state_->unfinished == 0; });
    return state_->sequences;
  }
  // Until the sequence has so many tokens, or is over.
  void WaitForTokens(size_t tokens, size_t index = 0) const {
    std::unique_lock lock(state_->mutex);
    const Sequence& sequence = state_->sequences[index];
    state_->changed.wait(lock, [&] { return sequence.samples.size() >= tokens || sequence.finish; });
  }
  int after_the_end() const {
    const std::lock_guard lock(state_->mutex);
    return state_->after_the_end;
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<Sequence> sequences;
    int32_t unfinished = 0;
    int after_the_end = 0;  // chunks that came too late
  };
  std::shared_ptr<State> state_;
};

}  // namespace tritogen
