// For tests: a Generator without a model. Its own thread gives each running sequence a token a step: greedily
// the words of kGreedyText over and over, otherwise printable ASCII drawn from the seed.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/splitmix.h"
#include "engine/engine.h"
#include "text/stream_decoder.h"

namespace tritogen::serve {

struct GeneratorDoubleOptions {
  double step_seconds = 0;
  RunnerLimits limits = {.block_tokens = 16, .blocks = 1024, .slots = 64, .context = 2048};
};

class GeneratorDouble : public Generator {
 public:
  static constexpr const char* kGreedyText = "the quick 🦊 jumps über the lazy dog ";
  static constexpr const char* kFailure = "PLEASE FAIL";  // a prompt with this fails after three tokens

  GeneratorDouble(const Tokenizer& tokenizer, GeneratorDoubleOptions options)
      : tokenizer_(tokenizer), options_(options), greedy_(Encoder(tokenizer).Encode(kGreedyText)) {
    options_.limits.vocabulary = tokenizer.id_end();
    thread_ = std::thread([this] { Work(); });
  }
  ~GeneratorDouble() override {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  RequestId Submit(Request request, std::function<void(Chunk)> on_chunk) override {
    if (request.options.sampling.seed == kRefusedSeed) throw UserError("the double does not like this seed");
    if (request.options.sampling.seed == kFatalSeed) failed_ = true;
    if (failed_) throw std::runtime_error("the double has failed for good");
    const std::lock_guard lock(mutex_);
    const auto shared = std::make_shared<const Request>(std::move(request));
    for (int32_t i = 0; i < shared->n; ++i) {
      const int64_t room = options_.limits.context - static_cast<int64_t>(shared->prompt.size());
      const int64_t asked = shared->options.max_tokens == 0 ? room : shared->options.max_tokens;
      waiting_.push_back({next_id_, i, shared, on_chunk, std::min(asked, room),
                          StreamDecoder(tokenizer_, shared->options.skip_special_tokens)});
    }
    stats_.prompt_tokens += static_cast<int64_t>(shared->prompt.size());
    changed_.notify_all();
    return next_id_++;
  }
  void Cancel(RequestId id) override {
    const std::lock_guard lock(mutex_);
    for (auto* list : {&waiting_, &running_}) {
      for (Sequence& sequence : *list) sequence.cancelled |= sequence.id == id;
    }
    changed_.notify_all();
  }
  EngineStats Stats() const override {
    const std::lock_guard lock(mutex_);
    EngineStats stats = stats_;
    stats.waiting = static_cast<int64_t>(waiting_.size());
    stats.running = static_cast<int64_t>(running_.size());
    stats.blocks = options_.limits.blocks;
    stats.blocks_used = stats.running;
    return stats;
  }
  const RunnerLimits& limits() const override { return options_.limits; }

  static constexpr uint64_t kRefusedSeed = 666, kFatalSeed = 667;

 private:
  struct Sequence {
    RequestId id;
    int32_t index;
    std::shared_ptr<const Request> request;
    std::function<void(Chunk)> on_chunk;
    int64_t most_tokens;
    StreamDecoder decoder;
    std::string held = {};  // text that may become a stop string
    int64_t tokens = 0;
    bool cancelled = false;
  };

  void Work() {
    std::unique_lock lock(mutex_);
    while (!ended_) {
      changed_.wait(lock, [this] { return ended_ || !waiting_.empty() || !running_.empty(); });
      for (Sequence& one : waiting_) {
        if (one.cancelled) End(&one, FinishReason::kCancelled);
      }
      std::erase_if(waiting_, [](const Sequence& one) { return one.cancelled; });
      while (!waiting_.empty() && running_.size() < static_cast<size_t>(options_.limits.slots)) {
        running_.splice(running_.end(), waiting_, waiting_.begin());
      }
      std::erase_if(running_, [this](Sequence& one) { return StepOf(&one); });
      ++stats_.steps;
      lock.unlock();
      if (options_.step_seconds > 0)
        std::this_thread::sleep_for(std::chrono::duration<double>(options_.step_seconds));
      lock.lock();
    }
  }

  void End(Sequence* one, FinishReason reason) {
    if (reason == FinishReason::kCancelled) {
      ++stats_.requests_cancelled;
      one->on_chunk({.index = one->index, .finish = reason});
    }
  }

  TokenId Token(const Sequence& one) const {
    const SamplingOptions& sampling = one.request->options.sampling;
    if (sampling.temperature == 0) return greedy_[one.tokens % greedy_.size()];
    const uint64_t draw = SplitMix::At(sampling.seed + static_cast<uint64_t>(one.index), one.tokens);
    return *tokenizer_.Find(std::string(1, static_cast<char>(' ' + draw % 95)));
  }

  // One token more; whether the sequence has ended.
  bool StepOf(Sequence* one) {
    if (one->cancelled) return End(one, FinishReason::kCancelled), true;
    const GenerateOptions& asked = one->request->options;
    if (one->tokens == 3 && tokenizer_.Decode(one->request->prompt).find(kFailure) != std::string::npos) {
      ++stats_.requests_failed;
      one->on_chunk(
          {.index = one->index, .finish = FinishReason::kError, .error = "the double failed, as asked"});
      return true;
    }
    const TokenId token = Token(*one);
    Chunk chunk{.index = one->index, .samples = {{.chosen = {token, -0.5f}, .top = {}}}};
    for (int32_t i = 0; i < asked.sampling.top_logprobs; ++i) chunk.samples[0].top.push_back({i, -1.0f - i});
    ++one->tokens;
    ++stats_.generated_tokens;
    if (std::ranges::count(asked.stop_tokens, token) > 0) {
      chunk.finish = FinishReason::kStop;
    } else {
      one->held += one->decoder.Add(token);
    }
    if (one->tokens == one->most_tokens && !chunk.finish) {
      one->held += one->decoder.Finish();
      chunk.finish = FinishReason::kLength;
    }
    chunk.text = TakeText(one, &chunk);
    stats_.requests_finished += chunk.finish.has_value();
    const bool ended = chunk.finish.has_value();
    one->on_chunk(std::move(chunk));
    return ended;
  }

  // What is certain of the held text.
  static std::string TakeText(Sequence* one, Chunk* chunk) {
    size_t keep = 0;
    for (const std::string& stop : one->request->options.stop) {
      if (const size_t at = one->held.find(stop); at != std::string::npos) {
        one->held.resize(at);
        chunk->finish = FinishReason::kStop;
      }
      keep = std::max(keep, stop.size() - 1);
    }
    if (chunk->finish) keep = 0;
    size_t give = one->held.size() - std::min(keep, one->held.size());
    while (give > 0 && give < one->held.size() && (one->held[give] & 0xc0) == 0x80)
      --give;  // whole characters
    std::string text = one->held.substr(0, give);
    one->held.erase(0, give);
    return text;
  }

  const Tokenizer& tokenizer_;
  GeneratorDoubleOptions options_;
  std::vector<TokenId> greedy_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Sequence> waiting_, running_;
  EngineStats stats_;
  RequestId next_id_ = 1;
  bool ended_ = false;
  std::atomic<bool> failed_ = false;
  std::thread thread_;
};

}  // namespace tritogen::serve
