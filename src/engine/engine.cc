#include "engine/engine.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.h"
#include "engine/make_group.h"
#include "engine/scheduler.h"

namespace tritogen {

// One thread plans, waits for the device and hands out what it sampled; others only leave word in the inbox.
class Engine::Impl {
 public:
  Impl(std::unique_ptr<Runner> runner, const Tokenizer* tokenizer, EngineOptions options)
      : runner_(std::move(runner)),
        tokenizer_(tokenizer),
        depth_(options.overlap ? Runner::kStepsInFlight : 1),
        scheduler_(runner_->limits(), options),
        thread_([this] { Run(); }) {}

  ~Impl() {
    Tell([this] { inbox_.stop = true; });
    thread_.join();
  }

  RequestId Submit(Request request, std::function<void(Chunk)> on_chunk);
  void Cancel(RequestId id) {
    Tell([this, id] { inbox_.cancelled.push_back(id); });
  }
  EngineStats Stats() const;
  const RunnerLimits& limits() const { return runner_->limits(); }
  void UpdateWeights(const std::function<void()>& write);

 private:
  // New weights are asked for, then written while the engine rests, then they count.
  enum class Weights { kSettled, kAsked, kResting, kWritten };
  struct Inbox {
    std::vector<std::unique_ptr<Group>> groups;
    std::vector<RequestId> cancelled;
    bool stop = false;
  };

  void Tell(auto&& change) {
    {
      const std::lock_guard lock(mutex_);
      change();
    }
    wake_.notify_all();
  }
  void ThrowIfFailed() const {  // REQUIRES: locked
    if (!failure_.empty()) throw std::runtime_error(failure_);
  }

  // All below: the engine's thread only.
  void Run();
  bool TakeInbox(bool busy);
  bool Advance();
  void FinishStep();
  void CountTokens(const std::vector<Sequence*>& sampled);
  void RestForWeights();
  void Fail(const std::string& error);
  void End(Sequence* sequence, FinishReason reason, const std::string& error = "");
  void EndAll(Group* group, FinishReason reason, const std::string& error = "");
  void Deliver(Sequence* sequence);
  void Publish();

  const std::unique_ptr<Runner> runner_;
  const Tokenizer* const tokenizer_;
  const int depth_;  // steps in flight

  Scheduler scheduler_;
  std::array<PlannedStep, Runner::kStepsInFlight> steps_;  // a ring
  int64_t submitted_ = 0, finished_ = 0;                   // steps
  bool rests_ = false;                                     // nothing is planned until new weights are there
  EngineStats counts_;

  mutable std::mutex mutex_;
  std::condition_variable wake_, weights_changed_;
  Inbox inbox_;
  std::string failure_;
  EngineStats stats_;
  int64_t entering_ = 0;  // sequences in the inbox
  RequestId next_id_ = 1;
  Weights weights_ = Weights::kSettled;
  std::mutex one_update_;

  std::thread thread_;  // last: it uses all of the above
};

RequestId Engine::Impl::Submit(Request request, std::function<void(Chunk)> on_chunk) {
  auto group = MakeGroup(0, std::move(request), std::move(on_chunk), runner_->limits(), tokenizer_);
  RequestId id = 0;
  Tell([&] {
    ThrowIfFailed();
    group->id = id = next_id_++;
    entering_ += group->request.n;
    inbox_.groups.push_back(std::move(group));
  });
  return id;
}

EngineStats Engine::Impl::Stats() const {
  const std::lock_guard lock(mutex_);
  EngineStats stats = stats_;
  stats.waiting += entering_;
  return stats;
}

void Engine::Impl::UpdateWeights(const std::function<void()>& write) {
  const std::lock_guard one(one_update_);
  std::unique_lock lock(mutex_);
  auto wait_for = [&](Weights state) {
    wake_.notify_all();
    weights_changed_.wait(lock, [&] { return weights_ == state || !failure_.empty(); });
    ThrowIfFailed();
  };
  ThrowIfFailed();
  weights_ = Weights::kAsked;
  wait_for(Weights::kResting);
  lock.unlock();
  std::exception_ptr error;
  try {
    write();
  } catch (...) {
    error = std::current_exception();  // some of the numbers may be new
  }
  lock.lock();
  weights_ = Weights::kWritten;
  wait_for(Weights::kSettled);
  if (error) std::rethrow_exception(error);
}

void Engine::Impl::Run() {
  bool busy = false;
  while (TakeInbox(busy)) {
    try {
      busy = Advance();
    } catch (const std::exception& error) {
      Fail(error.what());
      busy = false;
    }
    Publish();
  }
  try {
    while (finished_ < submitted_) FinishStep();
  } catch (const std::exception& error) {
    Fail(error.what());
  }
  for (Group* group : scheduler_.groups()) EndAll(group, FinishReason::kCancelled);
}

// Waits for news unless there is work. False: it is time to stop.
bool Engine::Impl::TakeInbox(bool busy) {
  Inbox news;
  bool failed = false;
  {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] {
      return busy || inbox_.stop || !inbox_.groups.empty() || !inbox_.cancelled.empty() ||
             weights_ == Weights::kAsked;
    });
    std::swap(news, inbox_);
    entering_ = 0;
    for (const auto& group : news.groups) stats_.waiting += group->request.n;  // until they are counted
    failed = !failure_.empty();
    rests_ = weights_ == Weights::kAsked;
  }
  for (auto& group : news.groups) {
    Group* const added = group.get();
    scheduler_.Add(std::move(group));
    if (failed) EndAll(added, FinishReason::kError, failure_);
  }
  for (const RequestId id : news.cancelled) {
    if (Group* group = scheduler_.Find(id)) EndAll(group, FinishReason::kCancelled);
  }
  return !news.stop;
}

// False: there is nothing to do.
bool Engine::Impl::Advance() {
  if (!failure_.empty()) return false;  // written by this thread only
  bool planned = false;
  if (!rests_ && submitted_ - finished_ < depth_) {
    PlannedStep& next = steps_[submitted_ % Runner::kStepsInFlight];
    planned = scheduler_.Plan(&next);
    if (planned) {
      runner_->Submit(next.batch);
      ++submitted_;
    }
  }
  if (submitted_ > finished_) {
    if (!planned || submitted_ - finished_ == depth_) FinishStep();
    return true;
  }
  if (rests_) {
    RestForWeights();
    return true;
  }
  TRITOGEN_CHECK(scheduler_.idle());
  return false;
}

void Engine::Impl::FinishStep() {
  std::vector<Sample> samples = runner_->Wait();
  const std::vector<Sequence*>& sampled = steps_[finished_++ % Runner::kStepsInFlight].sampled;
  TRITOGEN_CHECK(samples.size() == sampled.size());
  CountTokens(sampled);
  for (size_t i = 0; i < samples.size(); ++i) {
    Sequence* sequence = sampled[i];
    if (sequence->stage == Sequence::Stage::kEnded) continue;  // before this token was known
    scheduler_.Drawn(sequence, samples[i].chosen.token);
    const bool ends = sequence->output.Add(std::move(samples[i]));
    if (ends) scheduler_.End(sequence);
    if (ends || sequence->group->request.stream) Deliver(sequence);
  }
  scheduler_.StepDone();
}

// Before they are delivered: whoever has the last one finds all of them counted.
void Engine::Impl::CountTokens(const std::vector<Sequence*>& sampled) {
  counts_.generated_tokens += std::ranges::count_if(
      sampled, [](const Sequence* sequence) { return sequence->stage != Sequence::Stage::kEnded; });
  const std::lock_guard lock(mutex_);
  stats_.generated_tokens = counts_.generated_tokens;
}

void Engine::Impl::RestForWeights() {
  {
    std::unique_lock lock(mutex_);
    weights_ = Weights::kResting;
    weights_changed_.notify_all();
    wake_.wait(lock, [&] { return weights_ == Weights::kWritten; });
  }
  rests_ = false;
  runner_->WeightsChanged();
  scheduler_.Forget();
  {
    const std::lock_guard lock(mutex_);
    weights_ = Weights::kSettled;
  }
  weights_changed_.notify_all();
}

void Engine::Impl::Fail(const std::string& error) {
  {
    const std::lock_guard lock(mutex_);
    failure_ = "the engine has stopped: " + error;
    weights_ = Weights::kSettled;
  }
  weights_changed_.notify_all();
  submitted_ = finished_;
  for (Group* group : scheduler_.groups()) EndAll(group, FinishReason::kError, failure_);
}

void Engine::Impl::EndAll(Group* group, FinishReason reason, const std::string& error) {
  for (Sequence& sequence : group->sequences) {
    if (sequence.stage == Sequence::Stage::kEnded) continue;
    sequence.output.End(reason, error);
    scheduler_.End(&sequence);
    Deliver(&sequence);
  }
}

void Engine::Impl::Deliver(Sequence* sequence) {
  Group* const group = sequence->group;
  Chunk chunk = sequence->output.Take();
  if (chunk.finish && --group->unfinished == 0) {
    ++(chunk.finish == FinishReason::kCancelled ? counts_.requests_cancelled
       : chunk.finish == FinishReason::kError   ? counts_.requests_failed
                                                : counts_.requests_finished);
  }
  group->on_chunk(std::move(chunk));
}

void Engine::Impl::Publish() {
  scheduler_.AddTo(&counts_);
  const std::lock_guard lock(mutex_);
  stats_ = counts_;
}

Engine::Engine(std::unique_ptr<Runner> runner, const Tokenizer* tokenizer, EngineOptions options)
    : impl_(std::make_unique<Impl>(std::move(runner), tokenizer, options)) {}

Engine::~Engine() = default;

RequestId Engine::Submit(Request request, std::function<void(Chunk)> on_chunk) {
  return impl_->Submit(std::move(request), std::move(on_chunk));
}

void Engine::Cancel(RequestId id) {
  impl_->Cancel(id);
}

EngineStats Engine::Stats() const {
  return impl_->Stats();
}

const RunnerLimits& Engine::limits() const {
  return impl_->limits();
}

void Engine::UpdateWeights(const std::function<void()>& write) {
  impl_->UpdateWeights(write);
}

}  // namespace tritogen
