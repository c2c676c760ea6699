#include "program/parse.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "program/canonical.h"
#include "program/infer.h"
#include "program/print.h"

namespace tritogen {
namespace {

constexpr const char* kMlp = R"(import torch


def program(x, up_weight):
    # x: float32[4, 8]
    # up_weight: float32[16, 8], parameter "up.weight"
    linear = torch.nn.functional.linear(x, up_weight)  # float32[4, 16]
    half = linear[:, 1:9]  # float32[4, 8]
    max, max_1 = torch.max(half, dim=1)  # float32[4], int64[4]
    zeros = torch.zeros([4], dtype=torch.float32, device=x.device)  # float32[4]
    add = torch.ops.aten.add.Scalar(zeros, 2.5)  # float32[4]
    return {"loss": add, "index": [max_1, None]}
)";

std::string Failure(const std::string& text) {
  try {
    ParseProgram(text);
  } catch (const FormatError& error) {
    return error.what();
  }
  return "";
}

// A program of one line behind two parameters, x float32[4, 6] and i int64[4].
std::string OneLine(const std::string& line) {
  return "def program(x, i):\n    # x: float32[4, 6]\n    # i: int64[4]\n    " + line + "\n    return x\n";
}

TEST(ParseProgram, IsTheInverseOfPrinting) {
  const Program program = ParseProgram(kMlp);
  EXPECT_EQ(PrintProgram(program), kMlp);
  EXPECT_EQ(program.nodes[1].kind, NodeKind::kParameter);
  EXPECT_EQ(program.nodes[1].name, "up.weight");
  EXPECT_EQ(program.nodes[3].op, "aten::slice.Tensor");
  EXPECT_EQ(program.structure, R"({"loss":*,"index":[*,*]})");
  EXPECT_EQ(program.outputs[1], (NodeRef{4, 1}));
  EXPECT_EQ(program.outputs[2].id, -1);
}

TEST(ParseProgram, ReadsBackResultsOfCallsThatAreAlike) {
  Program program = ParseProgram(OneLine("a, b = torch.max(x, dim=1)"));
  program.nodes[2].name = "";  // as recorded: printed by its operator
  program.nodes.insert(program.nodes.end(), 2, program.nodes[2]);
  const std::string text = PrintProgram(program);
  EXPECT_NE(text.find("max_2, max_3 = torch.max"), std::string::npos) << text;
  EXPECT_NE(text.find("max_4, max_5 = torch.max"), std::string::npos) << text;
  EXPECT_EQ(PrintProgram(ParseProgram(text)), text);
}

TEST(ParseProgram, InfersWhatCommentsLeaveOut) {
  const Program program = ParseProgram(OneLine("y = torch.mean(x, dim=[1], keepdim=True)"));
  EXPECT_EQ(program.nodes[2].results[0], (Shape{Dtype::kFloat32, {4, 1}}));
}

TEST(ParseProgram, OverloadsByKindOfArgument) {
  auto op = [](const std::string& line) { return ParseProgram(OneLine(line)).nodes[2].op; };
  EXPECT_EQ(op("y = torch.eq(x, 0)"), "aten::eq.Scalar");
  EXPECT_EQ(op("y = torch.eq(x, x)"), "aten::eq.Tensor");
  EXPECT_EQ(op("y = torch.add(x, 1.5)"), "aten::add.Tensor");
  EXPECT_EQ(op("y = torch.max(x)"), "aten::max");
  EXPECT_EQ(op("y = torch.max(x, x)"), "aten::max.other");
  EXPECT_EQ(op("y = torch.nn.functional.pad(x, [1, 1])"), "aten::constant_pad_nd");
}

TEST(ParseProgram, SaysWhatIsWrongAndWhere) {
  EXPECT_NE(Failure(OneLine("y = torch.no_such(x)")).find("line 4: the catalogue has no such call"),
            std::string::npos);
  EXPECT_NE(Failure(OneLine("y = torch.relu(z)")).find("z"), std::string::npos);
  EXPECT_NE(Failure(OneLine("x = torch.relu(x)")).find("x has a value already"), std::string::npos);
  EXPECT_NE(Failure(OneLine("y = torch.reshape(x, [5, 5])")).find("number of elements"), std::string::npos);
  EXPECT_NE(Failure(OneLine("y = torch.relu(x)  # float32[4, 7]")).find("not what the comment says"),
            std::string::npos);
  EXPECT_NE(Failure("def program(x):\n    return x\n").find("no comment with its dtype"), std::string::npos);
  EXPECT_NE(Failure("def program():\n").find("does not return"), std::string::npos);
  EXPECT_NE(Failure(OneLine("y, z = torch.relu(x)")).find("2 names for 1 results"), std::string::npos);
  EXPECT_NE(Failure("").find("does not return"), std::string::npos);
}

TEST(ParseProgram, HugeNumbersAreRefused) {
  EXPECT_NE(Failure(OneLine("y = torch.zeros([1099511627776, 1099511627776])")), "");
  EXPECT_NE(Failure(OneLine("y = x.repeat([9223372036854775807, 2])")), "");
  EXPECT_NE(Failure(OneLine("y = torch.select(x, 0, -9223372036854775808)")), "");
}

TEST(Canonicalise, OneFormForEqualThings) {
  auto canonical = [](const std::string& line) {
    Program program = ParseProgram(OneLine(line));
    Canonicalise(&program);
    EXPECT_TRUE(ProblemsOf(program).empty());
    return CallText(
        program.nodes[2], [](NodeRef ref) { return ref.id == 0 ? "x" : "i"; }, "device");
  };
  EXPECT_EQ(canonical("y = x.view([2, 12])"), "torch.reshape(x, [2, 12])");
  EXPECT_EQ(canonical("y = torch.flatten(x)"), "torch.reshape(x, [24])");
  EXPECT_EQ(canonical("y = torch.ops.aten._softmax.default(x, 1, False)"), "torch.softmax(x, dim=1)");
  EXPECT_EQ(canonical("y = torch.ops.aten.elu.default(x, 1.6732632423543772, 1.0507009873554805)"),
            "torch.selu(x)");
  EXPECT_EQ(canonical("y = torch.nn.functional.hardtanh(x, min_val=0.0, max_val=6.0)"),
            "torch.nn.functional.relu6(x)");
  EXPECT_EQ(canonical("y = torch.ops.aten.add.Scalar(x, 1e-06)"), "torch.add(x, 1e-06)");
  EXPECT_EQ(canonical("y = torch.ops.aten.slice.Tensor(x, -1, 0, 6, 2)"), "x[:, ::2]");
  EXPECT_EQ(canonical("y = torch.ops.aten.var.correction(x, [1], correction=0, keepdim=False)"),
            "torch.var(x, dim=[1], correction=0)");
}

TEST(Canonicalise, ResultsThatAreReadStay) {
  const std::string line = "y, m, s = torch.ops.aten.native_layer_norm.default(x, [6], None, None, 1e-05)";
  Program first = ParseProgram(OneLine(line));
  Canonicalise(&first);
  EXPECT_EQ(first.nodes[2].op, "aten::layer_norm");
  std::string text = OneLine(line);
  text.replace(text.find("return x"), 8, "return m");
  Program mean = ParseProgram(text);
  Canonicalise(&mean);
  EXPECT_EQ(mean.nodes[2].op, "aten::native_layer_norm");
}

}  // namespace
}  // namespace tritogen
