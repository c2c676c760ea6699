// What convert tells: the table on the terminal, the JSON object, and the header of the module it wrote.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "propose/proposer.h"

namespace tritogen {

struct ConvertReport {
  struct Row {
    Candidate candidate;
    nlohmann::json verdict;
  };
  std::string file;
  uint64_t seed = 0;
  std::vector<Row> rows;
  std::string out;     // empty: no module was written
  std::string chosen;  // strategy of the candidate that was
  std::vector<std::string> remarks;

  nlohmann::json ToJson() const;
  std::string ToText() const;
};

// Lines of the module's docstring: what was verified, how, with which seed and versions.
std::vector<std::string> ModuleHeader(const std::string& file, const Candidate& candidate,
                                      const nlohmann::json& verdict);

}  // namespace tritogen
