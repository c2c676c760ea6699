// The regular expressions of tokenizer.json, matched by PCRE2 with its JIT as Oniguruma matches them for
// Hugging Face's tokenizers: the same white space, and letters and numbers of the same Unicode.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace tritogen {

// Rewrites Oniguruma's dialect into PCRE2's. Throws FormatError for what the two may understand differently
// and no known tokenizer needs (anchors, \w, back references, …).
std::string TranslateRegex(std::string_view pattern);

// Immutable, and so safe to share between threads; each thread has a Matcher of its own.
class SplitRegex {
 public:
  // Throws FormatError when the pattern is none, or one that TranslateRegex refuses.
  explicit SplitRegex(std::string_view pattern);
  ~SplitRegex();
  SplitRegex(SplitRegex&&) noexcept;
  SplitRegex& operator=(SplitRegex&&) noexcept;

  class Matcher {
   public:
    explicit Matcher(const SplitRegex& regex);  // keeps a reference
    ~Matcher();
    Matcher(Matcher&&) noexcept;

    // The first match that begins at or after `from`. REQUIRES: text is UTF-8, from is a character's start.
    // Throws UserError for a pattern that backtracks without end.
    bool Find(std::string_view text, size_t from, size_t* begin, size_t* end);

   private:
    struct State;
    std::unique_ptr<State> state_;
  };

 private:
  struct Code;
  std::unique_ptr<Code> code_;
};

}  // namespace tritogen
