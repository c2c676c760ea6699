#include "runner/twin_texts.h"

#include <algorithm>

#include "base/splitmix.h"

namespace tritogen {
namespace {

uint64_t With(uint64_t hash, TokenId token) {
  return SplitMix::At(hash, static_cast<uint32_t>(token));
}

}  // namespace

void TwinTexts::Start(const SlotStart& start) {
  Text& text = texts_[static_cast<size_t>(start.slot)];
  text.tokens.assign(start.seen.begin(), start.seen.end());
  text.prompt_tokens = start.prompt_tokens;
  text.hash = static_cast<uint64_t>(start.prompt_tokens);
  for (const TokenId token : text.tokens) text.hash = With(text.hash, token);
  text.known = !text.tokens.empty();
}

void TwinTexts::Drawn(int32_t slot, TokenId token) {
  Text& text = texts_[static_cast<size_t>(slot)];
  text.tokens.push_back(token);
  text.hash = With(text.hash, token);
}

void TwinTexts::WeightsChanged() {
  for (Text& text : texts_) text.known = false;
}

// A row that takes the last token that is known.
bool TwinTexts::IsEnd(const DecodeRow& row) const {
  const Text& text = texts_[static_cast<size_t>(row.slot)];
  return text.known && static_cast<size_t>(row.position) + 1 == text.tokens.size() &&
         (row.token == DecodeRow::kLast || row.token == text.tokens.back());
}

std::span<const int32_t> TwinTexts::Find(std::span<const DecodeRow> rows) {
  firsts_.clear();
  found_.clear();
  for (const DecodeRow& row : rows) {
    const auto own = static_cast<int32_t>(found_.size());
    found_.push_back(own);
    if (!IsEnd(row)) continue;
    const Text& text = texts_[static_cast<size_t>(row.slot)];
    const auto [begin, end] = firsts_.equal_range(text.hash);
    const auto same = std::find_if(begin, end, [&](const auto& entry) {
      return AreSame(text, texts_[static_cast<size_t>(rows[static_cast<size_t>(entry.second)].slot)]);
    });
    if (same == end) {
      firsts_.emplace(text.hash, own);
    } else {
      found_.back() = same->second;
    }
  }
  return found_;
}

}  // namespace tritogen
