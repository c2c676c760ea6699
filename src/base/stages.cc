#include "base/stages.h"

#include <utility>

namespace tritogen {

thread_local Stages* Stages::current_ = nullptr;

Stage::Stage(std::string name) : stages_(Stages::current_), name_(std::move(name)) {
  if (stages_ == nullptr) return;
  outer_ = std::exchange(stages_->innermost_, this);
  start_ = Clock::now();
}

Stage::~Stage() {
  if (stages_ == nullptr) return;
  const Clock::duration spent = Clock::now() - start_;
  stages_->seconds_[name_] += std::chrono::duration<double>(spent - inner_).count();
  stages_->innermost_ = outer_;
  if (outer_ != nullptr) outer_->inner_ += spent;
}

}  // namespace tritogen
