// Negative controls: outputs of programs that do not do the work. Each must fail the checks that a candidate has to pass.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "verify/budget.h"

namespace tritogen {

enum class Control { kZeros, kConstant, kRowMean, kIdentity, kStale, kHalf };
inline constexpr std::array<Control, 6> kControls = {Control::kZeros,    Control::kConstant, Control::kRowMean,
                                                     Control::kIdentity, Control::kStale,    Control::kHalf};
// As a reader of a verdict would name it: "zeros", "its mean", …
std::string_view ControlName(Control control);

// What a control may look at.
struct ControlView {
  const Expectation& expected;
  const std::vector<at::Tensor>& inputs;  // of the trial
  const at::Tensor* other = nullptr;      // the exact output of another trial
  const at::Tensor* half = nullptr;       // the output for inputs and weights rounded to 11 bits, undefined below fp32
};

// The control's output; nothing where it makes no sense (no input of that shape, a single row, …).
std::optional<at::Tensor> ControlOutput(Control control, const ControlView& view);

}  // namespace tritogen
