// What of a product's result is kept: a triangle or a band around its diagonal, where all else is set to
// zero.
#pragma once

#include <cstdint>
#include <optional>

#include "teach/partition.h"

namespace tritogen::teach {

// Columns of the result that lie further ahead of their row, or further behind it, are zero whatever the
// product is.
struct Band {
  std::optional<int64_t> ahead, behind;
  bool All() const { return !ahead && !behind; }
};

// Of all that a product's group stores.
Band KeptOf(const Graph& graph, const Group& group);

}  // namespace tritogen::teach
