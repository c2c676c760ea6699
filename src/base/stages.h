// Where the time of one job goes. The thread that does the job opens a stage around each part; time inside of
// an inner stage is not the outer one's.
#pragma once

#include <chrono>
#include <map>
#include <string>

namespace tritogen {

// Seconds by stage. One per thread is current at a time: the one made last.
class Stages {
 public:
  Stages() : outer_(current_) { current_ = this; }
  ~Stages() { current_ = outer_; }
  Stages(const Stages&) = delete;
  Stages& operator=(const Stages&) = delete;

  const std::map<std::string, double>& seconds() const { return seconds_; }
  double elapsed() const {  // seconds since this was made, in stages or not
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  friend class Stage;
  static thread_local Stages* current_;

  Stages* outer_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::map<std::string, double> seconds_;
  class Stage* innermost_ = nullptr;
};

// From here to the end of the scope; nothing when no Stages is current.
class Stage {
 public:
  explicit Stage(std::string name);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  Stages* stages_;
  std::string name_;
  Stage* outer_ = nullptr;
  Clock::time_point start_;
  Clock::duration inner_{};  // spent in stages inside of this one
};

}  // namespace tritogen
