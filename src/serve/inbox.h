// The way from the engine's thread to the event loop: chunks are laid in, and the loop is woken once for all
// that came since it looked. When the loop is behind, chunks of one sequence become one.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <tuple>
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
    Clock::time_point time;  // of its last token
  };

  explicit Inbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  void Put(Item item);
  // Everything, in order for each sequence.
  std::vector<Item> Take();
  // What comes later is dropped, and nobody is woken any more.
  void Close();

 private:
  using Sequence = std::tuple<ExchangeId, size_t, int32_t>;

  std::mutex mutex_;
  std::vector<Item> items_;
  std::map<Sequence, size_t> places_;  // in items_
  std::function<void()> wake_;
  bool closed_ = false;
};

}  // namespace tritogen::serve
