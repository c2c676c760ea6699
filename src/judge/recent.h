// What judges keep for the next job: a list, most recently used first.
#pragma once

#include <list>
#include <string_view>

namespace tritogen {

// The one with this key, which becomes the first; null when there is none.
template <typename Kept>
Kept* FindRecent(std::list<Kept>* kept, std::string_view key) {
  for (auto it = kept->begin(); it != kept->end(); ++it) {
    if (it->key != key) continue;
    kept->splice(kept->begin(), *kept, it);
    return &kept->front();
  }
  return nullptr;
}

}  // namespace tritogen
