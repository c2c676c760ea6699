// Where verify --batch puts verdicts.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/json_lines.h"

namespace tritogen {

class BatchOutput {
 public:
  // Empty: stdout. A file is appended to. Throws UserError when it cannot be written.
  explicit BatchOutput(const std::string& path) : file_(path) {}
  // One line, written whole and flushed, so that an interrupted run can be continued. Throws UserError when
  // it cannot be written.
  void Write(const std::string& id, const nlohmann::json& verdict);

 private:
  AppendedLines file_;
};

// The verdict of a line that asks for nothing that can be judged.
nlohmann::json BadLine(const std::string& fault);

}  // namespace tritogen
