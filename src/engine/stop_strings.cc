#include "engine/stop_strings.h"

#include <algorithm>
#include <utility>

namespace tritogen {

std::string StopStrings::Add(std::string_view piece) {
  if (found_) return "";
  if (stops_->empty()) return std::string(piece);
  held_ += piece;
  size_t first_end = std::string::npos, begin = 0;
  for (const std::string& stop : *stops_) {
    const size_t at = held_.find(stop);
    if (at == std::string::npos) continue;
    const size_t end = at + stop.size();
    if (end < first_end || (end == first_end && at < begin)) {
      first_end = end;
      begin = at;
    }
  }
  found_ = first_end != std::string::npos;
  const size_t certain = found_ ? begin : held_.size() - Undecided();
  std::string out = held_.substr(0, certain);
  held_.erase(0, found_ ? std::string::npos : certain);
  return out;
}

std::string StopStrings::Finish() {
  return std::exchange(held_, "");
}

// Bytes at the end that are the beginning of a stop string.
size_t StopStrings::Undecided() const {
  size_t most = 0;
  const std::string_view text = held_;
  for (const std::string& stop : *stops_) {
    for (size_t bytes = std::min(stop.size() - 1, text.size()); bytes > most; --bytes) {
      if (text.ends_with(std::string_view(stop).substr(0, bytes))) most = bytes;
    }
  }
  return most;
}

}  // namespace tritogen
