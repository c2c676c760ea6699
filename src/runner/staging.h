// Small data that goes to the device with each step, and back: page-locked memory on the host, one buffer for
// each step in flight, so that a step's data stays while the next is written.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "engine/runner.h"

namespace tritogen {

class Staging {
 public:
  static constexpr int64_t kAlignWords = 4;  // parts start at multiples of 16 bytes, as kernels want it

  // `words` of 4 bytes.
  Staging(int64_t words, at::Device device);

  void Next();                                          // the next step's buffer, which is then empty
  int32_t* Take(int64_t words, int64_t* at = nullptr);  // of the host's; `at`: where, in words
  void ToDevice();                                      // what was taken, in stream order
  void ToHost(int64_t words);                           // the device's first words into this step's buffer
  const int32_t* host(int step) const { return host_[step].const_data_ptr<int32_t>(); }
  int current() const { return current_; }
  const at::Tensor& device() const { return device_; }  // int32

  // Part of a tensor like device().
  static at::Tensor View(const at::Tensor& words, int64_t at, at::IntArrayRef shape,
                         at::ScalarType type = at::kInt);

 private:
  std::vector<at::Tensor> host_;
  at::Tensor device_;
  int64_t taken_ = 0;
  int current_ = Runner::kStepsInFlight - 1;
};

}  // namespace tritogen
