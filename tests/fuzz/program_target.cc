// Any text is a program or a FormatError; what is a program prints, and its print reads back as the same.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "program/canonical.h"
#include "program/infer.h"
#include "program/parse.h"
#include "program/picture.h"
#include "program/print.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tritogen;
  try {
    Program program = ParseProgram({reinterpret_cast<const char*>(data), size});
    const std::string printed = PrintProgram(program);
    if (PrintProgram(ParseProgram(printed)) != printed) {
      std::fprintf(stderr, "a program that does not read back:\n%s", printed.c_str());
      std::abort();
    }
    Canonicalise(&program);
    ProblemsOf(program);
    CostOf(program);
    ToSvg(program);
  } catch (const FormatError&) {
  }
  return 0;
}
