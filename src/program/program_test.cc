#include <gtest/gtest.h>

#include <cmath>

#include "program/catalogue.h"
#include "program/names.h"
#include "program/print.h"

namespace tritogen {
namespace {

Node Leaf(NodeKind kind, std::string name, std::vector<int64_t> sizes) {
  Node node;
  node.kind = kind;
  node.name = std::move(name);
  node.results = {{Dtype::kFloat32, std::move(sizes)}};
  return node;
}

Node Op(std::string op, std::vector<Arg> args, std::vector<Shape> results) {
  Node node;
  node.op = std::move(op);
  node.args = std::move(args);
  node.results = std::move(results);
  return node;
}

TEST(Print, FlatFunctionWithShapes) {
  Program p;
  p.nodes = {Leaf(NodeKind::kInput, "x", {2, 3}), Leaf(NodeKind::kParameter, "up.weight", {4, 3}),
             Op("aten::linear", {Arg{NodeRef{0}}, Arg{NodeRef{1}}}, {{Dtype::kFloat32, {2, 4}}}),
             Op("aten::add.Tensor", {Arg{NodeRef{2}}, Arg{1.0}}, {{Dtype::kFloat32, {2, 4}}})};
  p.nodes[3].kwargs = {{"alpha", Arg{int64_t{2}}}};
  p.outputs = {{3}};
  p.structure = "*";
  EXPECT_EQ(PrintProgram(p), R"(import torch


def program(x, up_weight):
    # x: float32[2, 3]
    # up_weight: float32[4, 3], parameter "up.weight"
    linear = torch.nn.functional.linear(x, up_weight)  # float32[2, 4]
    add = torch.add(linear, 1.0, alpha=2)  # float32[2, 4]
    return add
)");
}

TEST(Print, UnknownOperatorsKeepTheirFullName) {
  auto name = [](NodeRef ref) { return "v" + std::to_string(ref.id); };
  Node pool = Op("aten::max_pool2d_with_indices", {Arg{NodeRef{7}}, Arg{Arg::List{Arg{int64_t{2}}}}}, {});
  EXPECT_EQ(CallText(pool, name, "v0.device"), "torch.ops.aten.max_pool2d_with_indices.default(v7, [2])");
  Node zeros = Op("aten::zeros", {Arg{Arg::List{Arg{int64_t{2}}}}}, {});
  zeros.kwargs = {{"dtype", Arg{Dtype::kInt64}}, {"device", Arg{std::string("cuda")}}};
  EXPECT_EQ(CallText(zeros, name, "v0.device"), "torch.zeros([2], dtype=torch.int64, device=v0.device)");
  const Node line = Op("aten::logspace", {Arg{0.0}, Arg{1.0}, Arg{int64_t{7}}}, {});
  EXPECT_EQ(CallText(line, name, "v0.device"),
            "torch.ops.aten.logspace.default(0.0, 1.0, 7, device=v0.device)");
}

TEST(Print, StructureOfOutputs) {
  EXPECT_EQ(FillStructure("*", {"a"}), "a");
  EXPECT_EQ(FillStructure("(*,*)", {"a", "b"}), "(a, b)");
  EXPECT_EQ(FillStructure(R"({"lo*s":*,"y":[*]})", {"a", "b"}), R"({"lo*s": a, "y": [b]})");
  EXPECT_EQ(FillStructure("(*,)", {"a"}), "(a,)");
  EXPECT_EQ(FillStructure("(*,*)", {"a"}), "");
}

TEST(Catalogue, NamesAndOverloads) {
  EXPECT_EQ(BaseName("aten::add.Tensor"), "add");
  EXPECT_EQ(WithoutNamespace("aten::add.Tensor"), "add.Tensor");
  EXPECT_TRUE(IsInPlace("aten::add_.Tensor"));
  EXPECT_FALSE(IsInPlace("aten::_softmax"));
  EXPECT_FALSE(IsInPlace("aten::__and__.Tensor"));
  EXPECT_EQ(FindOp("aten::relu_"), nullptr);
  EXPECT_EQ(FindOp("aten::max.other")->kind, OpClass::kPointwise);
  EXPECT_EQ(FindOp("aten::max.dim")->kind, OpClass::kReduction);
  EXPECT_EQ(FindOp("aten::no_such_op"), nullptr);
}

TEST(Catalogue, BindsDefaultsKeywordsAndConditions) {
  Node node = Op("aten::add.Tensor", {Arg{NodeRef{0}}, Arg{2.0}}, {});
  auto plain = BindCall(node);
  ASSERT_TRUE(plain);
  EXPECT_TRUE(plain->args.Holds("alpha=1"));
  node.kwargs = {{"alpha", Arg{0.5}}};
  EXPECT_FALSE(BindCall(node)->args.Holds("alpha=1"));
  node.kwargs = {{"beta", Arg{0.5}}};
  EXPECT_FALSE(BindCall(node));
  EXPECT_FALSE(BindCall(Op("aten::add.Tensor", {Arg{NodeRef{0}}}, {})));
}

TEST(Catalogue, EveryPointwiseRowHasACaseThatAlwaysHolds) {
  int pointwise = 0;
  for (const OpRow& row : Catalogue()) {
    if (row.kind != OpClass::kPointwise) continue;
    ++pointwise;
    ASSERT_FALSE(row.cases.empty()) << row.name;
    EXPECT_EQ(row.cases.back().when, "") << row.name;
    for (const OpCase& c : row.cases) EXPECT_EQ(c.triton.find("{}"), std::string_view::npos) << row.name;
  }
  EXPECT_GT(pointwise, 70);
}

TEST(Literal, PythonSpelling) {
  EXPECT_EQ(PythonLiteral(Arg{2.0}), "2.0");
  EXPECT_EQ(PythonLiteral(Arg{1e-5}), "1e-05");
  EXPECT_EQ(PythonLiteral(Arg{-HUGE_VAL}), "float(\"-inf\")");
  EXPECT_EQ(PythonLiteral(Arg{Arg::List{Arg{int64_t{1}}, Arg{}, Arg{true}}}), "[1, None, True]");
  EXPECT_EQ(PythonLiteral(Arg{std::string("a\"b")}), "\"a\\\"b\"");
}

TEST(Names, ValidAndUnlikeEachOther) {
  NameTable table{"torch"};
  EXPECT_EQ(table.Unique("up.weight"), "up_weight");
  EXPECT_EQ(table.Unique("up_weight"), "up_weight_1");
  EXPECT_EQ(table.Unique("lambda"), "lambda_1");
  EXPECT_EQ(table.Unique("torch"), "torch_1");
  EXPECT_EQ(table.Unique("0.weight"), "p0_weight");
  EXPECT_EQ(table.Unique("_softmax"), "softmax");
}

}  // namespace
}  // namespace tritogen
