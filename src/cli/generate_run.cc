#include "cli/generate_run.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "base/error.h"
#include "base/splitmix.h"

namespace tritogen {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// A prompt at work. Written by the engine's thread until its last answer is complete.
struct Open {
  size_t prompt = 0;
  RequestId id = 0;
  Clock::time_point submitted;
  std::vector<Completion> answers;
  std::vector<Clock::time_point> first_tokens;
  int32_t unfinished = 0;
};

// From the engine's thread to ours.
class Mail {
 public:
  struct Item {
    Open* done = nullptr;  // or text
    std::string text;
  };
  void Put(Item item) {
    {
      const std::lock_guard lock(mutex_);
      items_.push_back(std::move(item));
    }
    changed_.notify_one();
  }
  std::optional<Item> Take(std::chrono::milliseconds wait) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, wait, [&] { return !items_.empty(); })) return std::nullopt;
    Item item = std::move(items_.front());
    items_.pop_front();
    return item;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> items_;
};

void AddChunk(Chunk chunk, bool stream, Open* open, Mail* mail) {
  Completion& answer = open->answers[static_cast<size_t>(chunk.index)];
  if (answer.samples.empty() && !chunk.samples.empty()) open->first_tokens.push_back(Clock::now());
  if (stream && !chunk.text.empty()) mail->Put({.text = chunk.text});
  answer.text += chunk.text;
  answer.samples.insert(answer.samples.end(), std::make_move_iterator(chunk.samples.begin()),
                        std::make_move_iterator(chunk.samples.end()));
  if (!chunk.finish) return;
  answer.finish = *chunk.finish;
  answer.error = std::move(chunk.error);
  if (--open->unfinished == 0) mail->Put({.done = open});
}

class Session {
 public:
  Session(const std::vector<Prompt>& prompts, const GenerateRun& run, Generator* generator)
      : prompts_(prompts), run_(run), generator_(generator), encoder_(*run.tokenizer) {}

  // When something was thrown there are answers to come yet.
  ~Session() {
    if (open_ > 0) CancelAll();
    while (open_ > 0) {
      const auto item = mail_.Take(std::chrono::milliseconds(50));
      if (item && item->done != nullptr) --open_;
    }
  }

  GenerateTally Run() {
    for (size_t i = 0; i < prompts_.size() && !tally_.interrupted; ++i) {
      Submit(i);
      while (auto item = mail_.Take(std::chrono::milliseconds(0))) Take(*item);
      Look();
    }
    while (open_ > 0) {
      if (auto item = mail_.Take(std::chrono::milliseconds(50))) Take(*item);
      Look();
    }
    tally_.seconds = Seconds(Clock::now() - start_);
    return std::move(tally_);
  }

 private:
  void Submit(size_t index) {
    const Prompt& prompt = prompts_[index];
    try {
      if (!prompt.fault.empty()) throw UserError(prompt.fault);
      Request request{.prompt = EncodePrompt(prompt, run_.chat_template, run_.why_no_chat, &encoder_),
                      .options = run_.options,
                      .n = run_.n};
      if (prompt.number >= 0)
        request.options.sampling.seed = PromptSeed(run_.options.sampling.seed, prompt.number);
      auto open = std::make_unique<Open>();
      open->prompt = index;
      open->unfinished = run_.n;
      open->answers.resize(static_cast<size_t>(run_.n));
      for (int32_t i = 0; i < run_.n; ++i) open->answers[static_cast<size_t>(i)].index = i;
      open->submitted = Clock::now();
      open->id = generator_->Submit(std::move(request), [this, open = open.get()](Chunk chunk) {
        AddChunk(std::move(chunk), run_.stream, open, &mail_);
      });
      all_.push_back(std::move(open));
      ++open_;
    } catch (const UserError& error) {
      ++tally_.refused;
      run_.on_refused(prompt, error.what());
    }
  }

  void Take(const Mail::Item& item) {
    if (item.done == nullptr) return run_.on_text(item.text);
    --open_;
    Open& open = *item.done;
    for (const Clock::time_point time : open.first_tokens) {
      tally_.first_token_seconds.push_back(Seconds(time - open.submitted));
      const double since_start = Seconds(time - start_);
      tally_.first_seconds =
          tally_.first_seconds == 0 ? since_start : std::min(tally_.first_seconds, since_start);
    }
    bool whole = true;
    for (const Completion& answer : open.answers) {
      tally_.failed += answer.finish == FinishReason::kError;
      whole = whole && answer.finish != FinishReason::kError && answer.finish != FinishReason::kCancelled;
    }
    tally_.prompts += whole;
    run_.on_answers(prompts_[open.prompt], open.answers);
    open.answers = {};
  }

  void Look() {
    if (tally_.interrupted || !run_.stop()) return;
    tally_.interrupted = true;
    CancelAll();
  }

  void CancelAll() {
    for (const auto& open : all_) generator_->Cancel(open->id);
  }

  const std::vector<Prompt>& prompts_;
  const GenerateRun& run_;
  Generator* generator_;
  Encoder encoder_;
  Mail mail_;
  std::vector<std::unique_ptr<Open>> all_;
  size_t open_ = 0;
  GenerateTally tally_;
  const Clock::time_point start_ = Clock::now();
};

}  // namespace

uint64_t PromptSeed(uint64_t seed, int64_t number) {
  return SplitMix::At(SplitMix::Mix(seed), static_cast<uint64_t>(number));
}

GenerateTally Generate(const std::vector<Prompt>& prompts, const GenerateRun& run, Generator* generator) {
  return Session(prompts, run, generator).Run();
}

}  // namespace tritogen
