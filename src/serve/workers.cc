#include "serve/workers.h"

namespace tritogen::serve {

Workers::Workers(int threads, const Tokenizer& tokenizer) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this, &tokenizer] { Work(tokenizer); });
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::Add(Job job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
}

void Workers::Work(const Tokenizer& tokenizer) {
  Encoder encoder(tokenizer);
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_ || !jobs_.empty(); });
    if (ended_) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job(&encoder);
  }
}

}  // namespace tritogen::serve
