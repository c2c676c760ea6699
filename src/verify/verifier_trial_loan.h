// A trial for as long as somebody needs it: the kept one, or, where memory is too short to keep any, the same
// made again of its seed.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "verify/verifier_task.h"

namespace tritogen {

class TrialLoan {
 public:
  // The inputs are there then. Throws where they cannot be made again, which says nothing about a candidate.
  explicit TrialLoan(const Trial& kept) : kept_(kept) {
    if (kept.remaker == nullptr) return;
    std::string reason;
    made_ = kept.remaker->Inputs(kept.distribution, kept.seed, kept.strength, &reason);
    if (!made_) throw std::runtime_error("inputs of the reference could not be made again: " + reason);
  }

  const Trial& trial() const { return made_ ? *made_ : kept_; }

  // The trial, with what is expected. Throws likewise.
  const Trial& Expected() {
    std::string reason;
    if (made_ && made_->outputs.empty() && !kept_.remaker->Expect(&*made_, &reason))
      throw std::runtime_error("the reference did not run again: " + reason);
    return trial();
  }

 private:
  const Trial& kept_;
  std::optional<Trial> made_;
};

}  // namespace tritogen
