#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace tritogen {
namespace {

double Seconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double>(d).count();
}

std::string Duration(double seconds) {
  const int s = static_cast<int>(seconds + 0.5);
  return s < 60 ? fmt::format("{} s", s) : fmt::format("{}:{:02} min", s / 60, s % 60);
}

}  // namespace

Screen StandardError() {
  return {.out = stderr, .terminal = isatty(STDERR_FILENO) != 0};
}

Progress::Progress(std::string what, int64_t total, Screen screen, int64_t from)
    : what_(std::move(what)),
      total_(total),
      from_(from),
      screen_(std::move(screen)),
      start_(screen_.now()),
      last_(start_) {}

Progress::~Progress() {
  if (drawn_) std::fputc('\n', screen_.out);
}

void Progress::Set(int64_t done, const std::string& remark) {
  done_ = done;
  const auto now = screen_.now();
  const double pause = screen_.terminal ? 0.1 : 10;
  if (done_ < total_ && Seconds(now - last_) < pause) return;
  last_ = now;
  Draw(remark);
}

void Progress::Clear() {
  if (screen_.terminal && drawn_) std::fputs("\r\033[K", screen_.out);
  drawn_ = false;
}

void Progress::Draw(const std::string& remark) {
  const double elapsed = Seconds(last_ - start_);
  const double rate = elapsed > 0 ? (done_ - from_) / elapsed : 0;
  std::string line = fmt::format("{} {}/{}  {:.1f}/s", what_, done_, total_, rate);
  // Before the first is done nobody knows how long they take.
  if (done_ >= total_ || rate > 0)
    line += fmt::format("  {} left", Duration(rate > 0 ? (total_ - done_) / rate : 0));
  if (!remark.empty()) line += "  " + remark;
  if (screen_.terminal) {
    constexpr int kWidth = 24;
    const int full = total_ ? static_cast<int>(kWidth * done_ / total_) : kWidth;
    line = fmt::format("\r\033[K[{:#<{}}{:.<{}}] {}", "", full, "", kWidth - full, line);
  } else {
    line += '\n';
  }
  std::fputs(line.c_str(), screen_.out);
  std::fflush(screen_.out);
  drawn_ = screen_.terminal;
}

}  // namespace tritogen
