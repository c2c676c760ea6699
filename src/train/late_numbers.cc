#include "train/late_numbers.h"

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <chrono>
#include <thread>

namespace tritogen::train {

LateNumbers::LateNumbers(const at::Tensor& numbers) {
  const bool on_device = !numbers.is_cpu();
  host_ = at::empty(numbers.sizes(), at::TensorOptions(at::kFloat).pinned_memory(on_device));
  host_.copy_(numbers, /*non_blocking=*/true);
  if (!on_device) return;
  event_.emplace(numbers.device().type());
  event_->record(c10::impl::VirtualGuardImpl(numbers.device().type()).getStream(numbers.device()));
}

std::vector<float> LateNumbers::Wait(const std::function<void()>& while_waiting) {
  while (event_ && !event_->query()) {
    while_waiting();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  const float* data = host_.const_data_ptr<float>();
  return {data, data + host_.numel()};
}

}  // namespace tritogen::train
