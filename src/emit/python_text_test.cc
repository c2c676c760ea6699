#include "emit/python_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace tritogen {
namespace {

TEST(RenameIdentifier, LeavesStringsCommentsAndAttributesAlone) {
  const std::string source =
      "class Model(nn.Module):  # Model\n"
      "    \"\"\"A Model.\"\"\"\n"
      "    def __init__(self):\n"
      "        super(Model, self).__init__()\n"
      "        self.Model = lib.Model('Model', f\"Model\")\n"
      "ModelNew = Model_2 = xModel\n";
  EXPECT_EQ(RenameIdentifier(source, "Model", "Original"),
            "class Original(nn.Module):  # Model\n"
            "    \"\"\"A Model.\"\"\"\n"
            "    def __init__(self):\n"
            "        super(Original, self).__init__()\n"
            "        self.Model = lib.Model('Model', f\"Model\")\n"
            "ModelNew = Model_2 = xModel\n");
}

TEST(TopLevelStatements, KeepsWhatBelongsTogether) {
  const std::vector<std::string> expected = {
      "import a",
      "N = (\n1,\n)",
      "@triton.jit\n@other(\n    1)\ndef f(\nx,\n):\n    \"\"\"text\nnot a statement\n\"\"\"\n\n    return x",
      "try:\n    import b\nexcept ImportError:\n    b = None",
      "LAST = 'def g():'",
  };
  std::string source = "# a comment (\n";
  for (const std::string& statement : expected) source += statement + "\n\n\n";
  EXPECT_EQ(TopLevelStatements(source), expected);
  EXPECT_TRUE(TopLevelStatements("").empty());
}

TEST(RenameIdentifier, SurvivesBrokenText) {
  for (const char* text : {"'", "\"\"\"Model", "'Model\nModel", "\\", "'\\", "1e5Model", ""}) {
    EXPECT_NO_THROW(RenameIdentifier(text, "Model", "X")) << text;
  }
  EXPECT_EQ(RenameIdentifier("'open\nModel", "Model", "X"), "'open\nX");
}

TEST(PythonFloat, ReadsBackAsAFloat) {
  EXPECT_EQ(PythonFloat(1), "1.0");
  EXPECT_EQ(PythonFloat(0.1), "0.1");
  EXPECT_EQ(PythonFloat(1e-5), "1e-05");
  EXPECT_EQ(PythonFloat(-std::numeric_limits<double>::infinity()), "float(\"-inf\")");
  EXPECT_EQ(PythonFloat(1e300), "1e+300");
}

TEST(PythonTuple, KeepsTheCommaOfOne) {
  EXPECT_EQ(PythonTuple({}), "()");
  EXPECT_EQ(PythonTuple({3}), "(3,)");
  EXPECT_EQ(PythonTuple({3, 4}), "(3, 4)");
}

TEST(PythonString, EscapesWhatEndsALiteral) {
  EXPECT_EQ(PythonString("a\"b\\\n\x01"), "\"a\\\"b\\\\\\n\\x01\"");
}

TEST(HoistFutures, MovesFutureImports) {
  std::vector<std::string> futures;
  EXPECT_EQ(HoistFutures("\"\"\"doc\"\"\"\nfrom __future__ import annotations\nimport torch\n", &futures),
            "\"\"\"doc\"\"\"\nimport torch\n");
  EXPECT_EQ(futures, std::vector<std::string>{"from __future__ import annotations"});
}

TEST(WithoutChoosers, StartsAtTheJitDecorator) {
  EXPECT_EQ(WithoutChoosers("@triton.autotune(\n    configs=[],\n)\n@triton.jit\ndef k(x):\n    pass\n"),
            "@triton.jit\ndef k(x):\n    pass\n");
}

TEST(FormatCall, BreaksLongCalls) {
  EXPECT_EQ(FormatCall("f", {"a", "b"}, 4), "f(a, b)");
  const std::string longer(60, 'x');
  EXPECT_EQ(FormatCall("f", {longer, longer}, 4),
            "f(\n        " + longer + ",\n        " + longer + ",\n    )");
}

}  // namespace
}  // namespace tritogen
