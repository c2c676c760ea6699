// Ways through a Plan on which an element of what is made hangs on a few elements of what is read.
#pragma once

#include <cstddef>
#include <map>
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

// What an input has become where it arrives: so many times itself and so much more, where nothing but numbers
// has been done to it; else that has been done at some point.
struct Arrival {
  double times = 1, plus = 0;
  bool plain = true;   // so many times itself and nothing else
  bool mixed = false;  // another tensor has been added, which may hold zeros
};
using Arrivals = std::map<size_t, Arrival>;  // by tensor leaf of the inputs

// Inputs on their way through the calls of a Plan, which are to be passed in order.
class InputFlow {
 public:
  explicit InputFlow(const Plan& plan);

  struct Arrived {
    Arrivals local;           // those that reach the call element by element (IsLocal)
    std::set<size_t> summed;  // and those of which sums, means, norms and the like of a line do
    std::set<size_t> anywhere;
  };
  Arrived Pass(const AtenStep& step);

 private:
  const Plan& plan_;
  std::map<StorageId, Arrivals> local_;
  std::map<StorageId, std::set<size_t>> summed_, anywhere_;
};

}  // namespace tritogen
