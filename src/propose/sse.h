// Server-sent events (WHATWG HTML, section 9.2), as far as chat endpoints use them: the data of each event.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace tritogen {

// Takes a stream in pieces of any size, split anywhere. Lines end with LF, CR LF or CR.
class SseParser {
 public:
  // `on_data` gets each event's data, several lines joined by line breaks; false ends the reading.
  using OnData = std::function<bool(std::string_view data)>;
  SseParser(OnData on_data, size_t max_event_bytes)
      : on_data_(std::move(on_data)), max_event_bytes_(max_event_bytes) {}

  // False once an event was longer than the limit, or on_data said so; what follows is ignored.
  bool Feed(std::string_view bytes);
  // The stream ended: an event that no empty line closed is given, too.
  bool End();
  bool too_long() const { return too_long_; }

 private:
  void Line();
  void Dispatch();

  OnData on_data_;
  size_t max_event_bytes_;
  std::string line_, data_;
  bool has_data_ = false, after_return_ = false, first_line_ = true;
  bool going_ = true, too_long_ = false;
};

}  // namespace tritogen
