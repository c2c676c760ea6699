// The rules of a Plan that one field alone cannot show: ids in range, tensors inside their storages, every
// tensor defined before it is used, launches that fit the device.
#pragma once

#include <string_view>

#include "plan/plan.h"

namespace tritogen {

// Whether a text is a name in Python, or names with dots between them (`Model.Out`).
enum class Dots { kRefused, kInside };
bool IsPythonName(std::string_view text, Dots dots = Dots::kRefused);

// Throws FormatError that names the place and the rule.
void Validate(const Plan& plan);

}  // namespace tritogen
