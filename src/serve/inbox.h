// The way from the engine's thread to the event loop: chunks are laid in, and the loop is woken once for all
// that came since it looked.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <vector>

#include "engine/engine.h"
#include "serve/http_server.h"

namespace tritogen::serve {

// Thread-safe.
class Inbox {
 public:
  using Clock = std::chrono::steady_clock;
  struct Item {
    ExchangeId exchange = 0;
    size_t prompt = 0;  // of the call
    Chunk chunk;
    Clock::time_point time;
  };

  explicit Inbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  void Put(Item item) {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    items_.push_back(std::move(item));
    if (items_.size() == 1) wake_();
  }
  std::vector<Item> Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(items_, {});
  }
  void Close() {  // what comes later is dropped, and nobody is woken any more
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }

 private:
  std::mutex mutex_;
  std::vector<Item> items_;
  std::function<void()> wake_;
  bool closed_ = false;
};

}  // namespace tritogen::serve
