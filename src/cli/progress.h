// A progress bar with rate and time left: redrawn in place on a terminal, a line every ten seconds elsewhere.
#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>

namespace tritogen {

// Where a bar is drawn, and the clock it goes by.
struct Screen {
  std::FILE* out;
  bool terminal;
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};
Screen StandardError();

class Progress {
 public:
  // `from`: done before it began, and no part of the rate.
  Progress(std::string what, int64_t total, Screen screen = StandardError(), int64_t from = 0);
  ~Progress();  // leaves the last state on a line of its own
  void Set(int64_t done, const std::string& remark = "");
  // Takes the bar away so that something else can be printed; the next Set draws it again.
  void Clear();

 private:
  void Draw(const std::string& remark);

  std::string what_;
  int64_t total_, from_, done_ = 0;
  Screen screen_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point start_, last_;
};

}  // namespace tritogen
