// Numbers of a device that the host reads later, so that neither waits for the other.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <functional>
#include <optional>
#include <vector>

namespace tritogen::train {

class LateNumbers {
 public:
  // `numbers`: [n] float32 on a device. They are copied in stream order; what is written there later does not
  // show.
  explicit LateNumbers(const at::Tensor& numbers);

  // Waits for them. `while_waiting` is called now and then; what it throws ends the waiting.
  std::vector<float> Wait(const std::function<void()>& while_waiting);

 private:
  at::Tensor host_;
  std::optional<c10::Event> event_;
};

}  // namespace tritogen::train
