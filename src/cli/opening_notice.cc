#include "cli/opening_notice.h"

#include <fmt/format.h>

namespace tritogen {
namespace {

constexpr std::chrono::seconds kQuiet{3}, kPause{10};  // before the first line; between two of no terminal
constexpr std::chrono::milliseconds kTick{250};

}  // namespace

OpeningLine::OpeningLine(Screen screen) : screen_(std::move(screen)) {
  began_ = phase_ = last_ = screen_.now();
}

void OpeningLine::Set(const Opening& at) {
  if (at.what != at_.what) phase_ = screen_.now();
  at_ = at;
}

void OpeningLine::Tick() {
  const auto now = screen_.now();
  if (at_.what.empty() || now - began_ < kQuiet || (!screen_.terminal && now - last_ < kPause)) return;
  last_ = now;
  const std::string count = at_.total > 0 ? fmt::format(" {}/{}", at_.done, at_.total) : "";
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - phase_).count();
  const std::string line = fmt::format("{}{}, {} s", at_.what, count, seconds);
  fmt::print(screen_.out, "{}{}{}", screen_.terminal ? "\r\033[K" : "", line, screen_.terminal ? "" : "\n");
  std::fflush(screen_.out);
  drawn_ = true;
}

void OpeningLine::Clear() {
  if (screen_.terminal && drawn_) std::fputs("\r\033[K", screen_.out);
  drawn_ = false;
}

void OpeningNotice::Set(const Opening& at) {
  const std::lock_guard lock(mutex_);
  line_.Set(at);
  if (!thread_.joinable()) thread_ = std::thread([this] { Work(); });
}

void OpeningNotice::Work() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kTick, [this] { return ends_; })) line_.Tick();
  line_.Clear();
}

OpeningNotice::~OpeningNotice() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace tritogen
