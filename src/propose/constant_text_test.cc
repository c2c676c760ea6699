#include "propose/constant_text.h"

#include <gtest/gtest.h>

namespace tritogen {
namespace {

// What a program's one constant of `dtype`, shape [n], with these bytes is written as.
std::map<NodeId, std::string> Written(Dtype dtype, std::vector<uint8_t> bytes) {
  Plan plan;
  plan.tensors.resize(1);
  plan.tensors[0].dtype = dtype;
  plan.tensors[0].sizes = {static_cast<int64_t>(bytes.size() / DtypeSize(dtype))};
  ConstantStep step;
  step.out = 0;
  step.data = std::move(bytes);
  plan.run.emplace_back(step);
  Program program;
  program.nodes.resize(1);
  program.nodes[0].kind = NodeKind::kConstant;
  program.nodes[0].name = "constant_0";
  return ConstantTexts(plan, program);
}

TEST(ConstantTexts, AreLiterals) {
  EXPECT_EQ(Written(Dtype::kInt16, {0xfe, 0xff, 0x03, 0x00}).at(0),
            "torch.tensor([-2, 3], dtype=torch.int16).view([2])");
  EXPECT_EQ(Written(Dtype::kFloat16, {0x00, 0x38, 0x00, 0xc1}).at(0),
            "torch.tensor([0.5, -2.5], dtype=torch.float16).view([2])");
  EXPECT_EQ(Written(Dtype::kBFloat16, {0x00, 0x3f, 0x80, 0xff}).at(0),
            "torch.tensor([0.5, float(\"-inf\")], dtype=torch.bfloat16).view([2])");
}

TEST(ConstantTexts, AreBytesWhereThereAreNoLiteralsOrTooMany) {
  EXPECT_EQ(Written(Dtype::kFloat8E4M3, {0x38, 0x40}).at(0),
            "torch.frombuffer(bytearray.fromhex(\"3840\"), dtype=torch.float8_e4m3fn).view([2])");
  const std::string text = Written(Dtype::kUint8, std::vector<uint8_t>(5000, 7)).at(0);
  EXPECT_EQ(text.substr(0, 42), "torch.frombuffer(bytearray.fromhex(\"070707");
  EXPECT_EQ(text.substr(text.size() - 37), "07\"), dtype=torch.uint8).view([5000])");
}

TEST(ConstantTexts, LeaveOutWhatNoFileShouldHold) {
  EXPECT_TRUE(Written(Dtype::kFloat32, std::vector<uint8_t>((1 << 20) + 4)).empty());
}

}  // namespace
}  // namespace tritogen
