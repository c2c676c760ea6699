#include "program/shape_rules.h"

#include <gtest/gtest.h>

#include "program/catalogue.h"
#include "program/draw.h"
#include "program/infer.h"
#include "program/parse.h"

namespace tritogen {
namespace {

CallForm Conv2d() {
  Node node;
  node.op = "aten::conv2d";
  node.args = {Arg{NodeRef{0}}, Arg{NodeRef{1}}};
  auto call = BindCall(node);
  CallForm form{.row = call->row, .signature = call->signature, .args = call->args};
  for (const char* name : {"input", "weight"})
    form.operands.push_back({call->signature->Find(name), call->row->SpecOf(name), 4, Dtype::kFloat32});
  form.free = {"stride", "groups"};
  return form;
}

TEST(ShapeRules, ConstraintsOfAConvolution) {
  const CallForm form = Conv2d();
  const ShapeSystem system = ConstraintsOf(form.Unsized());
  ASSERT_EQ(system.problem, "");
  std::vector<std::string> lines;
  for (const Relation& relation : system.relations) lines.push_back(ToString(system, relation));
  EXPECT_EQ(lines,
            (std::vector<std::string>{"t0[1] = t1[1] · groups[0]", "groups[0] divides t1[0]",
                                      "out0[2] = ⌊(t0[2] + 2·0 − 1·(t1[2] − 1) − 1) / stride[0]⌋ + 1",
                                      "out0[3] = ⌊(t0[3] + 2·0 − 1·(t1[3] − 1) − 1) / stride[1]⌋ + 1"}));
  ASSERT_EQ(system.results.size(), 1);
  EXPECT_EQ(system.results[0][0], system.operands[0][0]);  // the batch is the input's own
  EXPECT_EQ(system.results[0][1], system.operands[1][0]);
}

TEST(ShapeRules, KnownSizesAreComputedOrRefused) {
  CallForm form = Conv2d();
  OpForm known = form.Unsized();
  known.free.clear();
  auto sizes = [](std::initializer_list<int64_t> numbers) {
    Terms terms;
    for (int64_t number : numbers) terms.push_back(Term::Of(number));
    return terms;
  };
  known.tensors = {sizes({2, 3, 9, 8}), sizes({5, 3, 3, 2})};
  EXPECT_EQ(ShapesOf(known).results, (std::vector<std::vector<int64_t>>{{2, 5, 7, 7}}));
  known.tensors[1] = sizes({5, 4, 3, 2});
  EXPECT_NE(ShapesOf(known).problem, "");
  known.tensors[1] = sizes({5, 3, 10, 2});
  EXPECT_NE(ShapesOf(known).problem.find("larger than what it slides over"), std::string::npos);
}

// Every row can be drawn, and numbers that meet its constraints make a call (Size checks that itself).
TEST(Draw, EveryRowHasSizes) {
  SplitMix random(5);
  for (const OpRow& row : Catalogue()) {
    for (const Signature& signature : row.signatures) {
      int made = 0;
      for (int i = 0; i < 200 && made < 4; ++i) {
        auto form = DrawForm(row, signature, &random);
        made += form && Size(*form, &random);
      }
      EXPECT_EQ(made, 4) << signature.name;
    }
  }
}

TEST(Infer, PromotionFollowsPyTorch) {
  EXPECT_EQ(PromotedDtype(Dtype::kFloat16, Dtype::kBFloat16), Dtype::kFloat32);
  EXPECT_EQ(PromotedDtype(Dtype::kInt64, Dtype::kFloat16), Dtype::kFloat16);
  EXPECT_EQ(PromotedDtype(Dtype::kUint8, Dtype::kInt8), Dtype::kInt16);
  EXPECT_EQ(PromotedDtype(Dtype::kBool, Dtype::kInt32), Dtype::kInt32);
  const Program mixed = ParseProgram(
      "def program(x, s):\n    # x: float16[3]\n    # s: float32[]\n    y = torch.add(x, s)\n    z = "
      "torch.mul(x, 2.5)\n"
      "    return (y, z)\n");
  EXPECT_EQ(mixed.nodes[2].results[0].dtype, Dtype::kFloat16);  // a tensor without dimensions gives way
  EXPECT_EQ(mixed.nodes[3].results[0].dtype, Dtype::kFloat16);
}

TEST(Infer, CostOfALinearLayer) {
  const Program linear = ParseProgram(
      "def program(x, w):\n    # x: float32[4, 8]\n    # w: float32[16, 8]\n"
      "    y = torch.nn.functional.linear(x, w)\n    z = torch.reshape(y, [64])\n    return z\n");
  const Cost cost = CostOf(linear);
  EXPECT_EQ(cost.flops, 2.0 * 4 * 8 * 16);
  EXPECT_EQ(cost.bytes, 4.0 * (32 + 128 + 64));
}

}  // namespace
}  // namespace tritogen
