// Keys of several words → 0, 1, … in the order in which they were put in. One word: key_index.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace tritogen::synth {

class SpanIndex {
 public:
  int Find(std::span<const int64_t> key) const {
    if (slots_.empty()) return -1;
    for (size_t at = Hash(key);; ++at) {
      const int id = slots_[at & (slots_.size() - 1)];
      if (id < 0 || Equal(id, key)) return id;
    }
  }
  // REQUIRES: no key is the beginning of another one, and this one is new.
  int Insert(std::span<const int64_t> key) {
    if (2 * (begin_.size() + 1) > slots_.size()) Grow();
    const int id = static_cast<int>(begin_.size());
    slots_[Free(key)] = id;
    begin_.push_back(words_.size());
    words_.insert(words_.end(), key.begin(), key.end());
    return id;
  }
  size_t bytes() const {
    return slots_.capacity() * sizeof slots_[0] + begin_.capacity() * sizeof begin_[0] +
           words_.capacity() * sizeof words_[0];
  }

 private:
  static size_t Hash(std::span<const int64_t> key) {
    uint64_t hash = 0;
    for (int64_t word : key) {
      hash = (hash ^ static_cast<uint64_t>(word)) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 29;
    }
    return hash;
  }
  bool Equal(int id, std::span<const int64_t> key) const {
    const size_t begin = begin_[id];
    return words_.size() - begin >= key.size() && std::equal(key.begin(), key.end(), words_.begin() + begin);
  }
  size_t Free(std::span<const int64_t> key) const {
    size_t at = Hash(key) & (slots_.size() - 1);
    while (slots_[at] >= 0) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void Grow() {
    slots_.assign(std::max<size_t>(64, 2 * slots_.size()), -1);
    for (size_t id = 0; id < begin_.size(); ++id) {
      const size_t end = id + 1 < begin_.size() ? begin_[id + 1] : words_.size();
      slots_[Free({words_.data() + begin_[id], end - begin_[id]})] = static_cast<int>(id);
    }
  }

  std::vector<int32_t> slots_;  // −1: free
  std::vector<size_t> begin_;   // by key, among the words
  std::vector<int64_t> words_;
};

}  // namespace tritogen::synth
