// What convert tells: the table on the terminal, the JSON object, and the header of the module it wrote.
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
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
  std::string out;               // empty: no module was written
  std::string module;            // its text
  std::optional<size_t> chosen;  // the row that became the module
  std::vector<std::string> remarks;

  nlohmann::json ToJson() const;
  std::string ToText() const;
  // The page that --html asks for. `source`: the program that was converted.
  std::string ToHtml(const std::string& source) const;

 private:
  std::string ChosenStrategy() const { return rows.at(*chosen).candidate.strategy; }
};

// Lines of the module's docstring: what was verified, how, with which seed and versions.
std::vector<std::string> ModuleHeader(const std::string& file, const Candidate& candidate,
                                      const nlohmann::json& verdict);

}  // namespace tritogen
