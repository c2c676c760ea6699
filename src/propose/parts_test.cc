#include "propose/parts.h"

#include <gtest/gtest.h>

#include "program/parse.h"
#include "program/print.h"

namespace tritogen {
namespace {

using Words = std::vector<std::string>;

std::vector<Words> OperationsOf(const std::vector<ProgramPart>& parts) {
  std::vector<Words> all;
  for (const ProgramPart& part : parts) {
    Words& names = all.emplace_back();
    for (const Node& node : part.program.nodes) {
      if (node.kind == NodeKind::kOp) names.push_back(node.op.substr(6));
    }
  }
  return all;
}

const char* kChain = R"(import torch


def program(x, w):
    # x: float32[4, 8]
    # w: float32[8]
    relu = torch.relu(x)  # float32[4, 8]
    exp = torch.exp(relu)  # float32[4, 8]
    t = torch.t(exp)  # float32[8, 4]
    sum = torch.sum(t, dim=[1])  # float32[8]
    mul = torch.mul(sum, w)  # float32[8]
    add = torch.add(mul, sum)  # float32[8]
    return (add, relu, x)
)";

TEST(CutIntoParts, PartsAreWithinTheLimitsAndViewsStandWithWhoReadsThem) {
  const Program program = ParseProgram(kChain);
  EXPECT_EQ(OperationsOf(CutIntoParts(program, {.operations = 3, .computing = 3})),
            (std::vector<Words>{{"relu"}, {"exp", "t", "sum.dim_IntList"}, {"mul.Tensor", "add.Tensor"}}));
  EXPECT_EQ(
      OperationsOf(CutIntoParts(program, {.operations = 3, .computing = 1})),
      (std::vector<Words>{{"relu"}, {"exp"}, {"t", "sum.dim_IntList"}, {"mul.Tensor"}, {"add.Tensor"}}));
  EXPECT_EQ(OperationsOf(CutIntoParts(program, {.operations = 6, .computing = 6})).size(), 1u);
  EXPECT_EQ(OperationsOf(CutIntoParts(program, {.operations = 1, .computing = 1})).size(), 6u);
}

TEST(CutIntoParts, APartIsAProgramOfItsOwn) {
  const std::vector<ProgramPart> parts = CutIntoParts(ParseProgram(kChain), {});
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(PrintProgram(parts[1].program), R"(import torch


def program(x0):
    # x0: float32[4, 8]
    exp = torch.exp(x0)  # float32[4, 8]
    t = torch.t(exp)  # float32[8, 4]
    sum = torch.sum(t, dim=[1])  # float32[8]
    return sum
)");
  EXPECT_EQ(PrintProgram(parts[2].program), R"(import torch


def program(x0, x1):
    # x0: float32[8]
    # x1: float32[8]
    mul = torch.mul(x0, x1)  # float32[8]
    add = torch.add(mul, x0)  # float32[8]
    return add
)");
  EXPECT_EQ(parts[2].reads, (std::vector<NodeRef>{{5}, {1}}));
  EXPECT_EQ(parts[2].writes, (std::vector<NodeRef>{{7}}));
}

TEST(CutIntoParts, SeveralValuesAreHandedOnInThePartsOrder) {
  Program program = ParseProgram(kChain);
  program.outputs = {{7}, {2}, {3}};
  program.structure = "(*,*,*)";
  const std::vector<ProgramPart> parts = CutIntoParts(program, {.operations = 4, .computing = 4});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].writes, (std::vector<NodeRef>{{2}, {3}}));
  EXPECT_EQ(parts[0].program.structure, "(*,*)");
  EXPECT_EQ(parts[1].reads, (std::vector<NodeRef>{{3}, {1}}));
}

TEST(CutIntoParts, WhatNobodyReadsIsLeftOut) {
  Program program = ParseProgram(kChain);
  program.outputs = {{2}};
  program.structure = "*";
  EXPECT_EQ(OperationsOf(CutIntoParts(program, {.operations = 1, .computing = 1})),
            (std::vector<Words>{{"relu"}, {"exp"}, {"t"}, {"sum.dim_IntList"}, {"mul.Tensor"}}));
}

// Attention's way with views: one product's result, split, in other orders.
const char* kViews = R"(import torch


def program(x, w):
    # x: float32[4, 6]
    # w: float32[6, 9]
    mm = torch.mm(x, w)  # float32[4, 9]
    relu = torch.relu(mm)  # float32[4, 9]
    split, split_1, split_2 = torch.split(relu, 3, dim=1)  # float32[4, 3], float32[4, 3], float32[4, 3]
    t = torch.t(split_1)  # float32[3, 4]
    mm_1 = torch.mm(split, t)  # float32[4, 4]
    mm_2 = torch.mm(mm_1, split_2)  # float32[4, 3]
    t_1 = torch.t(mm_2)  # float32[3, 4]
    return (t_1, split)
)";

TEST(CutIntoParts, ViewsApartAreInNoPart) {
  const Program program = ParseProgram(kViews);
  const PartLimits limits{.operations = 3, .computing = 3, .views_apart = true};
  const auto parts = CutIntoParts(program, limits);
  EXPECT_EQ(OperationsOf(parts), (std::vector<Words>{{"mm", "relu"}, {"mm", "mm"}}));
  EXPECT_EQ(parts[0].writes, (std::vector<NodeRef>{{3}}));
  EXPECT_EQ(parts[1].reads, (std::vector<NodeRef>{{4, 0}, {5}, {4, 2}}));
  EXPECT_EQ(parts[1].writes, (std::vector<NodeRef>{{7}}));
  const std::string file = FileOfParts(program, parts, Words(2, "class ModelNew:\n    pass\n"));
  EXPECT_TRUE(file.ends_with(R"(
    def forward(self, x0, x1):
        relu = part1(x0, x1)
        split, split_1, split_2 = torch.split(relu, 3, dim=1)
        t = torch.t(split_1)
        mm_2 = part2(split.contiguous(), t.contiguous(), split_2.contiguous())
        t_1 = torch.t(mm_2)
        return (t_1, split)
)")) << file;
}

TEST(CutIntoParts, NothingButViewsIsNoPart) {
  Program program = ParseProgram(kViews);
  program.nodes.resize(2);
  program.nodes.push_back(
      {.op = "aten::t", .args = {Arg{NodeRef{0}}}, .results = {{Dtype::kFloat32, {6, 4}}}});
  program.outputs = {{2}};
  program.structure = "*";
  EXPECT_TRUE(CutIntoParts(program, {.operations = 3, .computing = 1, .views_apart = true}).empty());
  EXPECT_EQ(CutIntoParts(program, {}).size(), 1u);
}

TEST(FileOfParts, NamesOfTwoAnswersAreToldApart) {
  const std::string answer = R"(import torch
import triton


SIZE = 4


@triton.jit
def add_kernel(x, SIZE):
    "add_kernel"
    pass


class ModelNew(torch.nn.Module):
    def forward(self, x0):
        add_kernel[(1,)](x0, SIZE=SIZE)  # no x0.add_kernel
        return x0.SIZE
)";
  const Program program = ParseProgram(kChain);
  const auto parts = CutIntoParts(program, {});
  EXPECT_EQ(FileOfParts(program, parts, {answer, answer, "import math\nclass ModelNew:\n    pass\n"}),
            R"(import math
import torch
import triton


SIZE = 4


@triton.jit
def add_kernel(x, SIZE):
    "add_kernel"
    pass


class Part1(torch.nn.Module):
    def forward(self, x0):
        add_kernel[(1,)](x0, SIZE=SIZE)  # no x0.add_kernel
        return x0.SIZE


part1 = Part1()


SIZE_2 = 4


@triton.jit
def add_kernel_2(x, SIZE_2):
    "add_kernel"
    pass


class Part2(torch.nn.Module):
    def forward(self, x0):
        add_kernel_2[(1,)](x0, SIZE_2=SIZE_2)  # no x0.add_kernel
        return x0.SIZE


part2 = Part2()


class Part3:
    pass


part3 = Part3()


class ModelNew(torch.nn.Module):
    def forward(self, x0, x1):
        relu = part1(x0)
        sum = part2(relu)
        add = part3(sum, x1)
        return (add, relu, x0)
)");
}

TEST(CutIntoParts, WhatIsSpreadHasOneElement) {
  const Program program = ParseProgram(R"(import torch


def program(x, s, t):
    # x: float32[4, 6]
    # s: float32[]
    # t: float32[]
    exp = torch.exp(t)  # float32[]
    mul = torch.mul(x, s)  # float32[4, 6]
    add = torch.add(exp, s)  # float32[]
    minimum = torch.minimum(mul, exp)  # float32[4, 6]
    return minimum, add
)");
  const auto parts = CutIntoParts(program, {.operations = 1, .computing = 1});
  ASSERT_EQ(parts.size(), 4u);
  const std::vector<int64_t> none, one = {1};
  EXPECT_EQ(parts[0].program.nodes[0].results[0].sizes, none);  // exp makes one without dimensions
  EXPECT_EQ(parts[1].program.nodes[1].results[0].sizes, one);
  EXPECT_EQ(parts[2].program.nodes[0].results[0].sizes, none);
  EXPECT_EQ(parts[3].program.nodes[1].results[0].sizes, one);
  const std::string file =
      FileOfParts(program, parts, std::vector<std::string>(4, "class ModelNew:\n    pass\n"));
  EXPECT_NE(file.find("        mul = part2(x0, x1.reshape(1))\n"), std::string::npos) << file;
  EXPECT_NE(file.find("        add = part3(exp, x1)\n"), std::string::npos) << file;
  EXPECT_NE(file.find("        minimum = part4(mul, exp.reshape(1))\n"), std::string::npos) << file;
}

TEST(FileOfParts, AnAnswersOwnNameIsNotTakenForAPart) {
  const Program program = ParseProgram(kChain);
  const auto parts = CutIntoParts(program, {});
  const std::string own = "class Part1:\n    pass\n\n\nclass ModelNew:\n    helper = Part1\n";
  const std::string file = FileOfParts(program, parts, {own, own, own});
  EXPECT_NE(file.find("class Part1:\n    helper = Part1_1\n\n\npart1 = Part1()\n"), std::string::npos)
      << file;
  EXPECT_NE(file.find("class Part3:\n    helper = Part1_3\n"), std::string::npos) << file;
}

TEST(FileOfParts, AViewThatIsHandedOnIsMadeContiguous) {
  const Program program = ParseProgram(kChain);
  const auto parts = CutIntoParts(program, {.operations = 1, .computing = 1});
  const std::string text = FileOfParts(program, parts, Words(6, "class ModelNew:\n    pass\n"));
  EXPECT_NE(text.find("        t = part3(exp)\n        sum = part4(t.contiguous())\n"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace tritogen
