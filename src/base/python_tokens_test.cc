#include "base/python_tokens.h"

#include <gtest/gtest.h>

#include <string>

namespace tritogen {
namespace {

using Kind = PythonToken::Kind;

std::vector<std::string> Texts(std::string_view source, Kind kind) {
  std::vector<std::string> texts;
  for (const PythonToken& token : PythonTokens(source)) {
    if (token.kind == kind) texts.emplace_back(token.text);
  }
  return texts;
}

TEST(PythonTokens, TellsKindsApart) {
  const std::string source =
      "x1 = f'{a}' + \"# no\" + 0x1F*1e5  # it's\nr'\\'' if b'\"' else \"\"\"a\n'b'\"\"\"\n";
  EXPECT_EQ(Texts(source, Kind::kName), (std::vector<std::string>{"x1", "if", "else"}));
  EXPECT_EQ(Texts(source, Kind::kString),
            (std::vector<std::string>{"f'{a}'", "\"# no\"", "r'\\''", "b'\"'", "\"\"\"a\n'b'\"\"\""}));
  EXPECT_EQ(Texts(source, Kind::kNumber), (std::vector<std::string>{"0x1F", "1e5"}));
  EXPECT_EQ(Texts(source, Kind::kComment), (std::vector<std::string>{"# it's"}));
}

TEST(PythonTokens, PutTogetherAreTheSource) {
  for (const std::string source : {"", "'", "\"\"\"open", "'open\nx", "\\", "'\\", "1.5.", "x\\\n y",
                                   "\xc3\xa9t\xc3\xa9 = 1", "\xff'", "f", "rb''"}) {
    std::string all;
    for (const PythonToken& token : PythonTokens(source)) all += token.text;
    EXPECT_EQ(all, source);
  }
}

}  // namespace
}  // namespace tritogen
