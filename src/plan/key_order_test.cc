#include "plan/key_order.h"

#include <gtest/gtest.h>

#include <string>

namespace tritogen {
namespace {

Plan Returning(std::string structure) {
  Plan plan;
  plan.structure = std::move(structure);
  for (const char c : plan.structure) {
    if (c == '*') plan.outputs.push_back(Value{static_cast<int64_t>(plan.outputs.size())});
  }
  return plan;
}

// The numbers that the leaves of `candidate` had, and the structure.
std::string Taken(const std::string& reference, const std::string& candidate) {
  Plan plan = Returning(candidate);
  TakeKeyOrder(Returning(reference), &plan);
  std::string text;
  for (const Value& value : plan.outputs) text += std::to_string(std::get<int64_t>(value.v));
  return text + " " + plan.structure;
}

TEST(KeyOrder, IsTheReferences) {
  EXPECT_EQ(Taken(R"({"a":*,"b":[*,*]})", R"({"b":[*,*],"a":*})"), R"(201 {"a":*,"b":[*,*]})");
  EXPECT_EQ(Taken(R"(({"x":*,3:*},(*,)))", R"(({3:*,"x":*},(*,)))"), R"(102 ({"x":*,3:*},(*,)))");
  EXPECT_EQ(Taken(R"({"o":{"k":*,"l":*},"p":[]})", R"({"p":[],"o":{"l":*,"k":*}})"),
            R"(10 {"o":{"k":*,"l":*},"p":[]})");
  EXPECT_EQ(Taken(R"({",}\"":*,"":*})", R"({"":*,",}\"":*})"), R"(10 {",}\"":*,"":*})");
}

TEST(KeyOrder, OtherKeysAndOtherContainersStay) {
  for (const char* other : {R"({"b":*,"c":*})", R"({"b":*})", "[*,*]", "*", "(*,*)", R"({1:*,"a":*})"})
    EXPECT_TRUE(Taken(R"({"a":*,"b":*})", other).ends_with(std::string(" ") + other)) << other;
}

TEST(KeyOrder, TypesGoWithTheirContainers) {
  Plan plan = Returning(R"({"b":(*,),"a":[*]})");
  plan.packed = {{.container = 1, .type = "Out", .fields = {"y"}},
                 {.container = 2, .type = "Line", .fields = {}}};
  TakeKeyOrder(Returning(R"({"a":[*],"b":(*,)})"), &plan);
  ASSERT_EQ(plan.packed.size(), 2u);
  EXPECT_EQ(plan.packed[0].type, "Line");
  EXPECT_EQ(plan.packed[1].container, 2);
  EXPECT_EQ(plan.packed[1].type, "Out");
}

}  // namespace
}  // namespace tritogen
