// A progress bar with rate and time left on stderr: redrawn in place on a terminal, a line every ten seconds
// elsewhere.
#pragma once

#include <chrono>
#include <string>

namespace tritogen {

class Progress {
 public:
  Progress(std::string what, int64_t total);
  ~Progress();  // leaves the last state on a line of its own
  void Set(int64_t done, const std::string& remark = "");
  // Takes the bar away so that something else can be printed; the next Set draws it again.
  void Clear();

 private:
  void Draw(const std::string& remark);

  std::string what_;
  int64_t total_, done_ = 0;
  bool terminal_, drawn_ = false;
  std::chrono::steady_clock::time_point start_, last_;
};

}  // namespace tritogen
