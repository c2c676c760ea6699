// Integers that are taken for their size, all of them far below zero: maxima that begin at 0, and what few
// bits tell apart.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "verify/asked_values.h"

namespace tritogen {

// Of generated inputs those that may sink (AskedIntegers::sinks), each integer less by one large number, the
// same for all of a dtype: beyond what float32 counts to, and with the lower half of their bits around the
// end of what half as many bits hold. What may be categories stays (kMostCategories), and what is spread too
// widely. Nothing where none changes.
std::optional<std::vector<at::Tensor>> Sunk(const AskedValues& asked,
                                            const std::vector<at::Tensor>& generated);

}  // namespace tritogen
