// A growing text that ends before the first of some strings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tritogen {

// What Add and Finish give, one after another, is the text before the stop string that was complete first (of
// several that end at one place, the longest), however the text was cut into pieces.
class StopStrings {
 public:
  explicit StopStrings(const std::vector<std::string>* stops) : stops_(stops) {}  // none is empty

  // What is certain: not part of a stop string, nor of what may become one.
  std::string Add(std::string_view piece);
  // The text ends here: what was held back.
  std::string Finish();
  bool found() const { return found_; }  // nothing comes any more

 private:
  size_t Undecided() const;

  const std::vector<std::string>* stops_;
  std::string held_;
  bool found_ = false;
};

}  // namespace tritogen
