// A Batch as bytes, for the other ranks of a run: processes of the same program on the same machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/runner.h"

namespace tritogen {

// Tokens seen are left out where no penalty asks for them.
std::string EncodeBatch(const Batch& batch);

// The batch points into `words`.
struct DecodedBatch {
  explicit DecodedBatch(std::string_view bytes);  // throws FormatError
  DecodedBatch(const DecodedBatch&) = delete;

  std::vector<int32_t> words;
  Batch batch;
};

}  // namespace tritogen
