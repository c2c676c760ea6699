#include "plan/hash.h"

#include <gtest/gtest.h>

#include "plan/parse.h"
#include "plan/test_plans.h"

namespace tritogen {
namespace {

using nlohmann::json;

std::string HashOf(const json& map) {
  return PlanHash(ParsePlan(map));
}

std::string HashAfter(const char* pointer, const json& value) {
  json map = SmallPlanMap();
  map[json::json_pointer(pointer)] = value;
  return HashOf(map);
}

TEST(PlanHashTest, WhereAProgramCameFromDoesNotCount) {
  const std::string hash = HashOf(SmallPlanMap());
  EXPECT_EQ(hash.size(), 64u);
  EXPECT_EQ(HashAfter("/run/0/line", 99), hash);
  EXPECT_EQ(HashAfter("/kernels/0/ttir", "#loc = loc(\"b.py\":1:1)\nmodule {}\n"), hash);
  EXPECT_EQ(HashAfter("/kernels/0/source", "def scale(): pass"), hash);
  EXPECT_EQ(HashAfter("/run/2/variants/0/call/0/0", "renamed"), hash);
}

TEST(PlanHashTest, NumberingDoesNotCount) {
  json map = SmallPlanMap();
  // Swap the ids of tensors 1 and 2 everywhere, and leave an unused tensor and kernel behind.
  std::swap(map["tensors"][1], map["tensors"][2]);
  map["run"][0]["outs"] = {2};
  map["run"][1]["outs"] = {1};
  auto& args = map["run"][2]["variants"][0]["args"];
  args[0]["ptr"] = 2;
  args[2]["ptr"] = 1;
  map["outputs"][0]["t"] = 1;
  map["tensors"].push_back(map["tensors"][0]);
  map["kernels"].push_back(map["kernels"][0]);
  EXPECT_EQ(HashOf(map), HashOf(SmallPlanMap()));
}

TEST(PlanHashTest, WhatAProgramComputesCounts) {
  const std::string hash = HashOf(SmallPlanMap());
  EXPECT_NE(HashAfter("/setup/1/args/2", 2.0), hash);
  EXPECT_NE(HashAfter("/setup/1/args/2", 1), hash);  // an int is not a float
  EXPECT_NE(HashAfter("/run/0/op", "aten::relu_"), hash);
  EXPECT_NE(HashAfter("/run/2/variants/0/grid/0", 3), hash);
  EXPECT_NE(HashAfter("/run/2/variants/0/args/1/ptr", 1), hash);
  EXPECT_NE(HashAfter("/kernels/0/options/num_warps", 8), hash);
  EXPECT_NE(HashAfter("/kernels/0/options/enable_fp_fusion", false), hash);
  EXPECT_NE(HashAfter("/kernels/0/options/launch_cooperative_grid", true), hash);
  EXPECT_EQ(HashAfter("/kernels/0/options/enable_fp_fusion", true), hash);
  EXPECT_NE(HashAfter("/kernels/0/ttir", "module { }"), hash);
  EXPECT_NE(HashAfter("/state/0/0", "bias"), hash);
  EXPECT_NE(HashAfter("/structure", "[*]"), hash);
  EXPECT_NE(HashAfter("/training", true), hash);
  auto of_dict = [](const char* key) {
    return HashAfter("/inputs/0", {{"dict", json::array({json::array({key, {{"t", 0}}})})}});
  };
  EXPECT_NE(of_dict("x"), hash);
  EXPECT_NE(of_dict("x"), of_dict("y"));
}

}  // namespace
}  // namespace tritogen
