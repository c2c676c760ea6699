#include "propose/sse.h"

namespace tritogen {

bool SseParser::Feed(std::string_view bytes) {
  while (going_ && !bytes.empty()) {
    if (after_return_ && bytes[0] == '\n') bytes.remove_prefix(1);  // the second half of CR LF
    after_return_ = false;
    const size_t end = bytes.find_first_of("\r\n");
    line_ += bytes.substr(0, end);
    if (line_.size() + data_.size() > max_event_bytes_) {
      too_long_ = true;
      going_ = false;
    } else if (end != std::string_view::npos) {
      after_return_ = bytes[end] == '\r';
      Line();
    }
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
  }
  return going_;
}

bool SseParser::End() {
  if (going_ && !line_.empty()) Line();
  if (going_) Dispatch();
  return going_;
}

void SseParser::Line() {
  std::string_view line = line_;
  if (first_line_ && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  first_line_ = false;
  if (line.empty()) {
    Dispatch();
  } else if (line.starts_with("data")) {
    line.remove_prefix(4);
    if (line.empty() || line[0] == ':') {
      if (!line.empty()) line.remove_prefix(1);
      if (line.starts_with(' ')) line.remove_prefix(1);
      if (has_data_) data_ += '\n';
      data_ += line;
      has_data_ = true;
    }
  }  // comments and other fields mean nothing to us
  line_.clear();
}

void SseParser::Dispatch() {
  if (has_data_) going_ = on_data_(data_);
  data_.clear();
  has_data_ = false;
}

}  // namespace tritogen
