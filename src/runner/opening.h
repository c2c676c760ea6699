// What opening a model is at, for whoever shows it. Free of torch.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace tritogen {

struct Opening {
  std::string what;             // "compiling kernels"
  int64_t done = 0, total = 0;  // of it; total 0: nothing is counted
};

// Called when something else begins, and when some more of it is done; from any thread, one call at a time,
// and never before ranks are forked. By several ranks: of rank 0 only.
using OnOpening = std::function<void(const Opening&)>;

// What the loss of a rank means is for the command to say. `users_fault`: the rank ended with a sentence for
// the user (UserError).
using OnRankLost = std::function<void(const std::string& why, bool users_fault)>;

}  // namespace tritogen
