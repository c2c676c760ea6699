// What a command that opens a model is at, on stderr, when that takes long: redrawn in place on a terminal, a
// line every ten seconds elsewhere. "compiling kernels 12/64, 30 s"
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "cli/progress.h"
#include "runner/opening.h"

namespace tritogen {

// Draws when it is told to look at the clock.
class OpeningLine {
 public:
  explicit OpeningLine(Screen screen);
  void Set(const Opening& at);
  void Tick();
  void Clear();  // takes the line away, on a terminal

 private:
  Screen screen_;
  Opening at_;
  std::chrono::steady_clock::time_point began_, phase_, last_;  // of all, of at_.what, of the last line
  bool drawn_ = false;
};

// The same with a thread that looks at the clock, until it is destroyed. It starts with the first Set, which
// must not come before a fork.
class OpeningNotice {
 public:
  explicit OpeningNotice(Screen screen = StandardError()) : line_(std::move(screen)) {}
  ~OpeningNotice();
  OpeningNotice(const OpeningNotice&) = delete;
  OpeningNotice& operator=(const OpeningNotice&) = delete;

  void Set(const Opening& at);  // thread-safe

 private:
  void Work();

  std::mutex mutex_;
  std::condition_variable changed_;
  OpeningLine line_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace tritogen
