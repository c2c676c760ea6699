// A trusted program that stays and answers each line with a line.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"

namespace tritogen {

class LineProcess {
 public:
  explicit LineProcess(std::vector<std::string> argv) : argv_(std::move(argv)) {}
  ~LineProcess() { Stop(); }
  LineProcess(const LineProcess&) = delete;

  // Starts the program when it does not run. False when there was no answer in time, or none at all: then it
  // has been ended, and the next question starts it anew. `line` has no line break; neither has `answer`,
  // which is at most 16 MiB long.
  bool Ask(const std::string& line, double wall_seconds, std::string* answer);
  bool running() const { return pid_ > 0; }

 private:
  void Start();
  void Stop();

  static constexpr size_t kMaxAnswerBytes = size_t{16} << 20;

  std::vector<std::string> argv_;
  int pid_ = -1;
  UniqueFd in_, out_;
  std::string unread_;
};

}  // namespace tritogen
