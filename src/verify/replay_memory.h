// Memory that a program allocated and has not written: poisoned, and on the CPU tracked for the tile
// machine's memory checker.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace tritogen {

class UndefinedMemory {
 public:
  // The seed chooses the poison, so that a program that happens to survive one meets another: NaN or the
  // largest number. Or `leftovers`, which look like nothing in particular: zero, or a small number drawn each
  // time.
  explicit UndefinedMemory(uint64_t seed, bool leftovers = false)
      : seed_(seed), poison_nan_(seed % 2 == 0), leftovers_(leftovers) {}

  // From now on the other poison.
  void ChangePoison() { poison_nan_ = !poison_nan_; }
  // `fresh` owns memory that nobody wrote, or whose contents are to be forgotten.
  void Born(const at::Tensor& fresh);
  // Every element of `tensor` has been written.
  void Written(const at::Tensor& tensor);
  // One byte for each byte of the storage, 1 where it holds a defined value; null when all of it does.
  uint8_t* MapOf(const at::Tensor& tensor);
  // Position of the first element of `tensor`, in row-major order, that holds no defined value.
  std::optional<std::vector<int64_t>> FirstUndefined(const at::Tensor& tensor);
  // Forgets storages that nobody else holds.
  void Sweep();

 private:
  struct Entry {
    c10::Storage storage;
    std::vector<uint8_t> defined;  // empty: nothing is
  };
  Entry* Find(const at::Tensor& tensor);
  void Fill(const at::Tensor& fresh);
  void FillWithLeftovers(const at::Tensor& fresh);

  uint64_t seed_;
  bool poison_nan_, leftovers_;
  uint64_t births_ = 0;
  std::vector<Entry> entries_;  // few: only what empty-like operators made and nobody filled
};

}  // namespace tritogen
