#include "serve/inbox.h"

#include <iterator>

namespace tritogen::serve {

void Inbox::Put(Item item) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  const auto [place, is_new] =
      places_.try_emplace({item.exchange, item.prompt, item.chunk.index}, items_.size());
  if (is_new) {
    items_.push_back(std::move(item));
    if (items_.size() == 1) wake_();
    return;
  }
  Item& earlier = items_[place->second];
  Chunk& chunk = item.chunk;
  earlier.chunk.samples.insert(earlier.chunk.samples.end(), std::make_move_iterator(chunk.samples.begin()),
                               std::make_move_iterator(chunk.samples.end()));
  earlier.chunk.text += chunk.text;
  earlier.chunk.finish = chunk.finish;
  earlier.chunk.error = std::move(chunk.error);
  earlier.time = item.time;
}

std::vector<Inbox::Item> Inbox::Take() {
  const std::lock_guard lock(mutex_);
  places_.clear();
  return std::exchange(items_, {});
}

void Inbox::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

}  // namespace tritogen::serve
