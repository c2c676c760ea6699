#include "runner/staging.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "base/rounding.h"

namespace tritogen {
Staging::Staging(int64_t words, at::Device device) {
  const auto ints = at::TensorOptions(at::kInt);
  for (int i = 0; i < Runner::kStepsInFlight; ++i) {
    host_.push_back(at::empty({words}, ints.pinned_memory(device.is_cuda())));
  }
  device_ = at::zeros({words}, ints.device(device));
}

void Staging::Next() {
  current_ = (current_ + 1) % Runner::kStepsInFlight;
  taken_ = 0;
}

int32_t* Staging::Take(int64_t words, int64_t* at) {
  const int64_t from = taken_;
  if (at != nullptr) *at = from;
  taken_ += RoundUp(words, kAlignWords);
  TRITOGEN_CHECK(taken_ <= device_.numel());
  return host_[current_].mutable_data_ptr<int32_t>() + from;
}

void Staging::ToDevice() {
  device_.narrow(0, 0, taken_).copy_(host_[current_].narrow(0, 0, taken_), /*non_blocking=*/true);
}

void Staging::ToHost(int64_t words) {
  host_[current_].narrow(0, 0, words).copy_(device_.narrow(0, 0, words), /*non_blocking=*/true);
}

at::Tensor Staging::View(const at::Tensor& words, int64_t at, at::IntArrayRef shape, at::ScalarType type) {
  const at::Tensor part = words.narrow(0, at, c10::multiply_integers(shape)).view(shape);
  return type == at::kInt ? part : part.view(type);
}

}  // namespace tritogen
