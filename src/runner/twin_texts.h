// Which rows of a decode step are the same computation: those of texts that are the same so far, as samples
// of one prompt are until they part. A runner that knows its tokens computes such a row once.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/runner.h"

namespace tritogen {

// Of each slot the text. Not thread-safe, but for Drawn of unlike slots.
class TwinTexts {
 public:
  explicit TwinTexts(int32_t slots) : texts_(static_cast<size_t>(slots)) {}

  void Start(const SlotStart& start);
  void Drawn(int32_t slot, TokenId token);
  // Keys and values of texts that are under way are of two models now, of which share nobody knows.
  void WeightsChanged();

  // That the slot started with, and what was drawn since.
  std::span<const TokenId> Tokens(int32_t slot) const { return texts_[static_cast<size_t>(slot)].tokens; }

  // Of each row the place of the first one of the same text at the same position, which may be its own. Rows
  // of texts that are computed anew, with tokens behind them that are known, are alone. Valid until the next
  // call.
  std::span<const int32_t> Find(std::span<const DecodeRow> rows);

 private:
  struct Text {
    std::vector<TokenId> tokens;
    int32_t prompt_tokens = 0;
    uint64_t hash = 0;
    bool known = false;  // what its keys and values are of
  };
  bool IsEnd(const DecodeRow& row) const;
  bool AreSame(const Text& a, const Text& b) const {
    return a.prompt_tokens == b.prompt_tokens && a.tokens == b.tokens;
  }

  std::vector<Text> texts_;
  std::unordered_multimap<uint64_t, int32_t> firsts_;  // rows that are no twin of one before, by their hash
  std::vector<int32_t> found_;
};

}  // namespace tritogen
