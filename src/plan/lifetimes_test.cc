#include "plan/lifetimes.h"

#include <gtest/gtest.h>

#include "plan/parse.h"
#include "plan/test_plans.h"

namespace tritogen {
namespace {

void ExpectSpan(const Lifetime& lifetime, int birth, int death) {
  EXPECT_EQ(lifetime.birth, birth);
  EXPECT_EQ(lifetime.death, death);
}

TEST(LifetimesTest, TemporariesDieAtTheirLastUse) {
  Plan plan = ParsePlan(SmallPlanMap());
  auto run = TensorLifetimes(plan, Phase::kRun);
  ExpectSpan(run[0], -1, 3);      // the caller's input
  ExpectSpan(run[1], 0, 2);       // h
  ExpectSpan(run[2], 1, 3);       // the output
  ExpectSpan(run[4], -1, 3);      // the parameter
  EXPECT_FALSE(run[3].Exists());  // the parameter's CPU original
  auto setup = TensorLifetimes(plan, Phase::kSetup);
  ExpectSpan(setup[3], 0, 2);
  ExpectSpan(setup[4], 2, 3);
}

TEST(LifetimesTest, AStorageLivesAsLongAsItsViews) {
  auto map = SmallPlanMap();
  map["tensors"].push_back({1, "float32", {6}, {1}, 0, "cuda"});
  map["run"].push_back({{"op", "aten::view"},
                        {"args", {{{"t", 1}}, {6}}},
                        {"kwargs", nlohmann::json::object()},
                        {"outs", {5}},
                        {"line", 12}});
  map["outputs"][0]["t"] = 5;
  auto storages = StorageLifetimes(ParsePlan(map), Phase::kRun);
  ExpectSpan(storages[1], 0, 4);
  ExpectSpan(storages[2], 1, 2);
}

TEST(LifetimesTest, PeakCountsWhatLivesAtOnce) {
  EXPECT_EQ(PeakBytes(ParsePlan(SmallPlanMap())), 24 + 24 + 24 + 12);
  auto map = SmallPlanMap();
  map["storages"][3] = int64_t{1} << 50;  // only in set-up, beside nothing but the parameter
  EXPECT_EQ(PeakBytes(ParsePlan(map)), (int64_t{1} << 50) + 12);
}

}  // namespace
}  // namespace tritogen
