// Python text cut into tokens, as far as colours and careful edits need it. Never fails: broken text gives
// tokens too.
#pragma once

#include <string_view>
#include <vector>

namespace tritogen {

struct PythonToken {
  enum class Kind {
    kComment,  // without its line break
    kString,   // with its prefix and quotes; may span lines
    kName,     // identifiers and keywords
    kNumber,
    kOther,  // one character: operators, blanks, line breaks; a backslash takes the character after it along
  };
  Kind kind;
  std::string_view text;
};

// The tokens put together are the source.
std::vector<PythonToken> PythonTokens(std::string_view source);

}  // namespace tritogen
