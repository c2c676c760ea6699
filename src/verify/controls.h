// Negative controls: outputs of programs that do not do the work. Each must fail the checks that a candidate
// has to pass.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "verify/budget.h"

namespace tritogen {

enum class Control { kZeros, kConstant, kRowMean, kIdentity, kStale };
inline constexpr std::array<Control, 5> kControls = {Control::kZeros, Control::kConstant, Control::kRowMean,
                                                     Control::kIdentity, Control::kStale};
// As a reader of a verdict would name it: "zeros", "its own mean", …
std::string_view ControlName(Control control);

// What the control returns in place of `expected`; nothing where it makes no sense (no input of that shape, a
// single row, …). `inputs` are the trial's, `other` is the exact output of another trial.
std::optional<at::Tensor> ControlOutput(Control control, const Expectation& expected,
                                        const std::vector<at::Tensor>& inputs, const at::Tensor& other);

}  // namespace tritogen
