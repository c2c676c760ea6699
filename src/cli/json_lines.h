// Files of JSON lines that a command appends to, and goes on with where an earlier run has stopped.
#pragma once

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace tritogen {

// Whether the end of a file of JSON lines, without its line break, may be what a kill left of an object with
// an "id". Anything else is of somebody else's file, which must not be cut.
bool MayBeCutLine(const std::string& end);

// A line of an earlier run, or of somebody else; behind a part others belong to the same before one can go
// on.
enum class OldLine { kForeign, kPart, kWhole };
// Shows `take` what is at a path, a line at a time (discarded: it is no JSON), and cuts off what is behind
// the last kWhole, so that appending is safe. Gives the number of the first line that is somebody else's,
// with the file as it was; 0: there is none. What is no regular file has no lines.
int64_t ReadOldLines(const std::string& path, const std::function<OldLine(const nlohmann::json&)>& take);

class AppendedLines {
 public:
  // Throws UserError when the file cannot be written. None is made where the path is empty.
  explicit AppendedLines(const std::string& path = "");

  bool is_open() const { return file_.is_open(); }
  // Whole lines, flushed. Throws UserError when they do not get there.
  void Write(const std::string& lines);

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace tritogen
