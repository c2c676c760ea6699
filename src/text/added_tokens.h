// Finds added tokens in a text, as Hugging Face's tokenizers do: leftmost, longest, without overlap.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer_file.h"

namespace tritogen {

// Immutable; thread-safe.
class AddedTokenFinder {
 public:
  struct Entry {
    std::string text;  // what is looked for; not empty
    AddedToken token;
  };
  explicit AddedTokenFinder(std::vector<Entry> entries);

  struct Piece {
    std::string_view text;
    const AddedToken* token = nullptr;  // null: a stretch between added tokens
  };
  // Cuts `text` into pieces, none of them empty. `special_as_text`: special tokens are not looked for.
  void Cut(std::string_view text, bool special_as_text, std::vector<Piece>* pieces) const;

  bool empty() const { return entries_.empty(); }

 private:
  // The longest entry that `text` begins with; null when there is none.
  const Entry* LongestAt(std::string_view text) const;

  std::vector<Entry> entries_;  // by text
  bool begins_[256] = {};       // whether some entry begins with this byte
};

// \w of Rust's regex crate: letters, marks, digits, connectors, joiners.
bool IsWordCharacter(char32_t c);
// White_Space of Unicode.
bool IsWhiteSpace(char32_t c);

}  // namespace tritogen
