// Ways through a Plan on which an element of what is made hangs on a few elements of what is read.
#pragma once

#include <set>
#include <string_view>

#include "plan/plan.h"

namespace tritogen {

// Elementwise calls, layout and pooling; sums, norms and products of matrices are not.
bool IsLocal(const Plan& plan, const AtenStep& step);

using Storages = std::set<StorageId>;

Storages StoragesRead(const Plan& plan, const AtenStep& step);
Storages StoragesMade(const Plan& plan, const AtenStep& step);  // results, and arguments that it writes

// The operator's name without its overload, and as it is called out of place: "aten::relu_" → "aten::relu".
std::string_view OutOfPlaceName(const AtenStep& step);

}  // namespace tritogen
