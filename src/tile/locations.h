// Python lines behind the locations of TTIR text.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

namespace tritogen::tile {

// Knows the `#locN = loc(…)` lines of a text and resolves locations to lines of the kernel's file. Never
// throws for broken locations: they only serve messages. Linear time in the text, also for aliases that form
// cycles.
class LocationTable {
 public:
  explicit LocationTable(std::string_view text);  // the text must outlive the table

  // `inside` is what stands between the brackets of loc(…). Of an inlined call the innermost place in the
  // kernel's file counts, else the innermost place. 0: unknown.
  int Line(std::string_view inside);

 private:
  struct Place {
    std::string_view file;
    int line = 0;
  };
  struct Alias {
    std::string_view inside;
    bool resolved = false;  // set before the work, so that a cycle ends as unknown
    Place place;
  };
  class Reader;

  Place ResolveAlias(std::string_view name, int depth);

  std::unordered_map<std::string_view, Alias> aliases_;
  std::string_view kernel_file_;
};

}  // namespace tritogen::tile
