// From text to words: the normaliser and the splits of a tokenizer. Words are what BPE never merges across.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "text/hand_split.h"
#include "text/split_regex.h"

namespace tritogen {

// Immutable; thread-safe. Each thread has a Splitter.
class PreTokenizer {
 public:
  // The "normalizer" and "pre_tokenizer" of tokenizer.json. Throws FormatError for kinds other than NFC;
  // Split (by a regular expression or a text, isolated; or removing what is between), Digits, and
  // ByteLevel, which must be the last; and Sequences of them.
  PreTokenizer(const nlohmann::json& normalizer, const nlohmann::json& pre_tokenizer);

  // The text as the splits see it; `scratch` holds it when it differs. Malformed UTF-8 stays as it is.
  std::string_view Normalize(std::string_view text, std::string* scratch) const;

 private:
  friend class Splitter;
  struct Split {
    SplitRegex regex;
    std::optional<HandSplit> by_hand;
    bool keep_gaps = true;  // what is between two matches is a word, too
  };
  void AddStep(const nlohmann::json& step, bool last);
  void AddSplit(const nlohmann::json& step);
  void AddRegex(std::string_view pattern, bool keep_gaps);

  bool nfc_ = false;
  bool prefix_space_ = false;  // ByteLevel puts a space before each text that has none
  std::vector<Split> splits_;
  size_t prefix_before_ = 0;  // the split that the space comes before; splits_.size(): after all of them
};

// One thread's matchers.
class Splitter {
 public:
  explicit Splitter(const PreTokenizer& pre_tokenizer);  // keeps a reference

  // Calls on_word with every word of a normalised text, in order; the views are good during the call only.
  // Runs of bytes that are no UTF-8 are words of their own.
  template <typename OnWord>
  void ForEachWord(std::string_view text, const OnWord& on_word);

 private:
  template <typename OnWord>
  void Split(std::string_view text, size_t step, const OnWord& on_word);
  bool Find(std::string_view text, size_t step, size_t from, size_t* begin, size_t* end);

  const PreTokenizer& pre_tokenizer_;
  std::vector<SplitRegex::Matcher> matchers_;
};

// Bytes of the longest beginning of text that is UTF-8, and of the longest that is not at any byte.
size_t WellFormedPrefix(std::string_view text);
size_t MalformedPrefix(std::string_view text);

inline bool Splitter::Find(std::string_view text, size_t step, size_t from, size_t* begin, size_t* end) {
  if (const auto& by_hand = pre_tokenizer_.splits_[step].by_hand) {
    if (const size_t bytes = by_hand->Match(text, from); bytes != 0) {
      *begin = from;
      *end = from + bytes;
      return true;
    }
  }
  return matchers_[step].Find(text, from, begin, end);
}

template <typename OnWord>
void Splitter::ForEachWord(std::string_view text, const OnWord& on_word) {
  while (!text.empty()) {
    const size_t good = WellFormedPrefix(text);
    if (good > 0) Split(text.substr(0, good), 0, on_word);
    text.remove_prefix(good);
    const size_t bad = MalformedPrefix(text);
    if (bad > 0) on_word(text.substr(0, bad));
    text.remove_prefix(bad);
  }
}

template <typename OnWord>
void Splitter::Split(std::string_view text, size_t step, const OnWord& on_word) {
  std::string with_space;
  if (pre_tokenizer_.prefix_space_ && step == pre_tokenizer_.prefix_before_ && !text.starts_with(' ')) {
    with_space.reserve(text.size() + 1);
    with_space += ' ';
    with_space += text;
    text = with_space;
  }
  if (step == matchers_.size()) return on_word(text);
  const auto piece = [&](size_t begin, size_t end) {
    if (begin == end) return;
    const std::string_view word = text.substr(begin, end - begin);
    const bool done = step + 1 == matchers_.size() &&
                      !(pre_tokenizer_.prefix_space_ && pre_tokenizer_.prefix_before_ == step + 1);
    done ? on_word(word) : Split(word, step + 1, on_word);
  };
  size_t done = 0, from = 0, begin = 0, end = 0;
  while (from < text.size() && Find(text, step, from, &begin, &end)) {
    if (begin == end) {  // an empty match splits nothing; look from the next character on
      from = end + 1;
      while (from < text.size() && (text[from] & 0xc0) == 0x80) ++from;
      continue;
    }
    if (pre_tokenizer_.splits_[step].keep_gaps) piece(done, begin);
    piece(begin, end);
    done = from = end;
  }
  if (pre_tokenizer_.splits_[step].keep_gaps) piece(done, text.size());
}

}  // namespace tritogen
