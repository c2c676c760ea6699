// Answers of a model to the parts of a program are put into one file, whatever they are: the file has both
// answers' lines but for imports, and its own forward. Taking numbers back keeps everything else.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "program/parse.h"
#include "propose/parts.h"
#include "propose/sizes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tritogen;
  static const Program program = ParseProgram(
      "import torch\n\n\ndef program(x):\n    # x: float32[4]\n    a = torch.relu(x)  # float32[4]\n"
      "    b = torch.exp(a)  # float32[4]\n    return b\n");
  static const auto parts = CutIntoParts(program, {.operations = 1, .computing = 1});
  const std::string text(reinterpret_cast<const char*>(data), size), half = text.substr(0, size / 2);
  const std::string file = FileOfParts(program, parts, {text, half});
  if (file.find("part1 = Part1()\n") == std::string::npos || !file.ends_with("        return b\n")) {
    std::fprintf(stderr, "no file of two parts:\n%s", file.c_str());
    std::abort();
  }
  const std::string there = TakenBack(text, {{37, 4096}}), back = TakenBack(there, {{4096, 37}});
  // Where the text has no 4096 of its own, the way back is the way there.
  if (text.find("4096") == std::string::npos && back != text) {
    std::fprintf(stderr, "numbers were lost:\n%s\n--\n%s", text.c_str(), back.c_str());
    std::abort();
  }
  return 0;
}
