// The log of what remote models cost: one line of JSON for each request that came to an end
// (docs/remote.md), appended, never rewritten.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>

#include "base/fd.h"

namespace tritogen {

// What a million tokens cost, in dollars.
struct TokenPrices {
  std::optional<double> prompt, completion;
};

// Nothing where a price or a count is not known.
std::optional<double> CostOf(const TokenPrices& prices, std::optional<int64_t> prompt_tokens,
                             std::optional<int64_t> completion_tokens);

class CostLog {
 public:
  // Throws UserError when the file cannot be opened for appending.
  explicit CostLog(const std::filesystem::path& path);

  // One whole line, whoever else appends: the file is locked meanwhile, a line that was cut off before is
  // closed first, and what does not fit on the disk is taken back. Throws UserError when it cannot be
  // written.
  void Append(const nlohmann::ordered_json& entry);

 private:
  std::filesystem::path path_;
  UniqueFd fd_;
};

}  // namespace tritogen
