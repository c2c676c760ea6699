// A few threads that do what would hold up the event loop: reading bodies, tokenising.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "text/tokenizer.h"

namespace tritogen::serve {

class Workers {
 public:
  // Each job gets its thread's encoder, and must not throw.
  using Job = std::function<void(Encoder*)>;

  Workers(int threads, const Tokenizer& tokenizer);
  ~Workers();  // what was not begun is dropped

  void Add(Job job);  // thread-safe

 private:
  void Work(const Tokenizer& tokenizer);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tritogen::serve
