// Keys → 0, 1, … in order of first appearance.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tritogen::synth {

// Open addressing; the slot is the top of a product with the golden ratio (Knuth, vol. 3, 6.4). Where keys
// have few bits the key itself is the slot.
class KeyIndex {
 public:
  // REQUIRES: keys below 2^bits.
  explicit KeyIndex(size_t expected = 0, int bits = 64) {
    if (bits < 48 && size_t{1} << bits <= 4 * expected + 64) {
      factor_ = 1;
      slots_.assign(size_t{1} << bits, -1);
      mask_ = slots_.size() - 1;
    } else {
      Resize(std::bit_ceil(2 * expected + 8));
    }
  }
  int size() const { return static_cast<int>(keys_.size()); }
  const std::vector<uint64_t>& keys() const { return keys_; }

  int Find(uint64_t key) const {
    for (size_t at = Slot(key);; ++at) {
      const int id = slots_[at & mask_];
      if (id < 0 || keys_[id] == key) return id;
    }
  }
  int Insert(uint64_t key) {
    for (size_t at = Slot(key);; ++at) {
      int& id = slots_[at & mask_];
      if (id >= 0 && keys_[id] != key) continue;
      if (id >= 0) return id;
      const int fresh = id = size();
      keys_.push_back(key);
      if (2 * keys_.size() >= slots_.size() && factor_ != 1) Grow();
      return fresh;
    }
  }

 private:
  size_t Slot(uint64_t key) const { return key * factor_ >> shift_; }
  void Resize(size_t slots) {
    slots_.assign(slots, -1);
    mask_ = slots - 1;
    shift_ = 64 - std::countr_zero(slots);
  }
  void Grow() {
    Resize(2 * slots_.size());
    for (int id = 0; id < size(); ++id) {
      size_t at = Slot(keys_[id]);
      while (slots_[at & mask_] >= 0) ++at;
      slots_[at & mask_] = id;
    }
  }

  std::vector<int32_t> slots_;  // −1: free
  std::vector<uint64_t> keys_;
  uint64_t factor_ = 0x9e3779b97f4a7c15u;
  size_t mask_ = 0;
  int shift_ = 0;
};

// Numbers of which many repeat: only what is distinct is sorted.
class Distinct {
 public:
  explicit Distinct(size_t expected) { ids_.reserve(expected); }
  void Add(int64_t number) { ids_.push_back(index_.Insert(static_cast<uint64_t>(number))); }

  // Those that were added, ascending, each once.
  std::vector<int64_t> Sorted() const {
    std::vector<int64_t> values;
    values.reserve(index_.keys().size());
    for (uint64_t key : index_.keys()) values.push_back(static_cast<int64_t>(key));
    std::sort(values.begin(), values.end());
    return values;
  }
  // Of each that was added, in order, its place among them.
  std::vector<int> Places(const std::vector<int64_t>& sorted) const {
    std::vector<int> place(sorted.size());
    for (size_t i = 0; i < sorted.size(); ++i)
      place[index_.Find(static_cast<uint64_t>(sorted[i]))] = static_cast<int>(i);
    std::vector<int> places;
    places.reserve(ids_.size());
    for (int id : ids_) places.push_back(place[id]);
    return places;
  }

 private:
  KeyIndex index_;
  std::vector<int> ids_;
};

}  // namespace tritogen::synth
