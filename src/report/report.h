// One self-contained page on what became of a candidate, or of a conversion: no script, no network, light and
// dark. Everything that a candidate can have written is escaped, and the page's own policy forbids scripts
// besides.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace tritogen {

struct ReportCandidate {
  std::string proposer, strategy;
  nlohmann::json verdict;
  bool chosen = false;  // it is the one that the report is about
};

struct ReportSource {
  std::string title;  // "Shipped module"
  std::string text;   // Python
  bool open = true;   // shown, or folded away
};

struct ReportInput {
  std::string command;                      // "verify" or "convert"
  std::string task;                         // "mlp_gelu.py"
  nlohmann::json verdict;                   // docs/formats/verdict.md; null: no candidate was chosen
  std::vector<ReportCandidate> candidates;  // of a conversion
  std::vector<std::string> remarks;
  std::vector<ReportSource> sources;  // the first one is what `line` of the evidence counts in
  std::vector<std::string> versions;  // "torch 2.11.0"
};

// The HTML text. A verdict with fields missing or of other types gives a page with sections missing.
std::string RenderReport(const ReportInput& input);

}  // namespace tritogen
