#include "record/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "plan/parse.h"
#include "plan/test_plans.h"

namespace tritogen {
namespace {

using nlohmann::json;
using testing::ElementsAre;

// A reference that runs these operators one after the other.
Plan Chain(const std::vector<std::string>& ops) {
  json map = SmallPlanMap();
  map["role"] = "reference";
  map["kernels"] = map["setup"] = map["state"] = map["init_inputs"] = map["run"] = json::array();
  map["storages"] = {24};
  map["tensors"] = {{0, "float32", {2, 3}, {3, 1}, 0, "cuda"}};
  const auto step = [](const std::string& op, json args, int out) {
    return json{{"op", op}, {"args", args}, {"kwargs", json::object()}, {"outs", {out}}, {"line", 1}};
  };
  map["generate"] = {step("aten::randn", {{2, 3}}, 0)};
  for (const std::string& op : ops) {
    const int last = static_cast<int>(map["storages"].size()) - 1;
    map["storages"].push_back(24);
    map["tensors"].push_back({last + 1, "float32", {2, 3}, {3, 1}, 0, "cuda"});
    map["run"].push_back(step(op, {{{"t", last}}}, last + 1));
  }
  map["outputs"] = {{{"t", static_cast<int>(ops.size())}}};
  return ParsePlan(map);
}

// Stands in for the worker: knows what some operators are made of.
class SplitTest : public testing::Test {
 protected:
  LiftedReference Split(const std::vector<std::string>& ops) {
    return InKnownOps(
        [this](const RecordRequest& request) -> std::variant<Plan, RecordFailure> {
          asked_.push_back(request.split);
          const auto found = recordings_.find(request.split);
          if (found == recordings_.end())
            return RecordFailure{RecordFailure::Kind::kRuntimeError, "", "no", 0, ""};
          return Chain(found->second);
        },
        {.role = Role::kReference}, LiftReference(Chain(ops)));
  }

  static std::vector<std::string> Ops(const LiftedReference& reference) {
    std::vector<std::string> ops;
    for (const Node& node : reference.program->nodes) {
      if (node.kind == NodeKind::kOp) ops.push_back(node.op);
    }
    return ops;
  }

  std::map<std::vector<std::string>, std::vector<std::string>> recordings_;
  std::vector<std::vector<std::string>> asked_;
};

TEST_F(SplitTest, WhatTheCatalogueKnowsIsNotRecordedAgain) {
  EXPECT_THAT(Ops(Split({"aten::relu", "aten::exp"})), ElementsAre("aten::relu", "aten::exp"));
  EXPECT_TRUE(asked_.empty());
}

// Only the recorder knows which of them are small.
TEST_F(SplitTest, FactorsOfMatricesAreAskedForOnce) {
  recordings_ = {{{"aten::geqrf"}, {"aten::relu", "aten::geqrf"}}};
  EXPECT_THAT(Ops(Split({"aten::geqrf"})), ElementsAre("aten::relu", "aten::geqrf"));
  EXPECT_EQ(asked_.size(), 1u);
}

TEST_F(SplitTest, PartsOfPartsAreFound) {
  recordings_ = {{{"aten::odd"}, {"aten::odder", "aten::exp"}},
                 {{"aten::odd", "aten::odder"}, {"aten::relu", "aten::exp"}}};
  const LiftedReference parts = Split({"aten::odd"});
  EXPECT_THAT(Ops(parts), ElementsAre("aten::relu", "aten::exp"));
  EXPECT_EQ(parts.plan->run.size(), 2u);  // of the same recording as the program
  EXPECT_THAT(asked_, ElementsAre(ElementsAre("aten::odd"), ElementsAre("aten::odd", "aten::odder")));
}

TEST_F(SplitTest, AnOperatorOfWhichNobodyKnowsThePartsLeavesAllAsItWas) {
  recordings_ = {{{"aten::odd", "aten::whole"}, {"aten::relu", "aten::whole"}}};
  const LiftedReference whole = Split({"aten::odd", "aten::whole"});
  EXPECT_THAT(Ops(whole), ElementsAre("aten::odd", "aten::whole"));
  EXPECT_THAT(whole.unknown, ElementsAre("aten::whole"));
  EXPECT_EQ(asked_.size(), 1u);
}

TEST_F(SplitTest, AProgramThatDoesNotRunInPartsStaysWhole) {
  EXPECT_THAT(Ops(Split({"aten::odd"})), ElementsAre("aten::odd"));
}

// abs(z) of a z that set-up made, or of its parts.
Plan OfComplexSetup(bool in_parts) {
  json map = SmallPlanMap();
  map["role"] = "reference";
  map["kernels"] = map["setup"] = map["state"] = map["init_inputs"] = map["inputs"] = json::array();
  map["generate"] = map["run"] = json::array();
  map["storages"] = {24, 24, 24};
  map["tensors"] = {{0, "complex64", {3}, {1}, 0, "cuda"},
                    {0, "float32", {3, 2}, {2, 1}, 0, "cuda"},
                    {1, "float32", {3, 2}, {2, 1}, 0, "cuda"},
                    {2, "float32", {3}, {1}, 0, "cuda"}};
  const auto step = [](const std::string& op, json args, int out, json kwargs = json::object()) {
    return json{{"op", op}, {"args", args}, {"kwargs", kwargs}, {"outs", {out}}, {"line", 1}};
  };
  map["setup"] = {step("aten::zeros", {{3}}, 0, {{"dtype", {{"dtype", "complex64"}}}})};
  if (in_parts) {
    map["run"] = {step("aten::view_as_real", {{{"t", 0}}}, 1), step("aten::square", {{{"t", 1}}}, 2)};
  } else {
    map["run"] = {step("aten::abs", {{{"t", 0}}}, 3)};
  }
  map["outputs"] = {{{"t", in_parts ? 2 : 3}}};
  return ParsePlan(map);
}

TEST_F(SplitTest, ComplexNumbersAreTakenApart) {
  const auto record = [this](const RecordRequest& request) -> std::variant<Plan, RecordFailure> {
    asked_.push_back(request.split);
    return OfComplexSetup(true);
  };
  const LiftedReference whole = LiftReference(OfComplexSetup(false));
  EXPECT_TRUE(HasComplex(*whole.program));
  const LiftedReference parts = InKnownOps(record, {.role = Role::kReference}, whole);
  EXPECT_THAT(Ops(parts), ElementsAre("aten::view_as_real", "aten::square"));
  EXPECT_THAT(asked_, ElementsAre(ElementsAre("aten::view_as_real")));
  EXPECT_TRUE(parts.unknown.empty());
}

TEST_F(SplitTest, PartsWithoutEndAreGivenUp) {
  std::vector<std::string> known;
  for (int i = 0; i < 9; ++i) {
    known.push_back("aten::odd" + std::to_string(i));
    recordings_[known] = {"aten::odd" + std::to_string(i + 1)};
  }
  EXPECT_THAT(Ops(Split({"aten::odd0"})), ElementsAre("aten::odd0"));
  EXPECT_LE(asked_.size(), 4u);
}

}  // namespace
}  // namespace tritogen
