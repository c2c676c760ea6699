// What is known of numbers, and places that are read at without what it makes needless.
#include "teach/ranges.h"

#include <gtest/gtest.h>

#include "teach/lowering.h"
#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

class RangesTest : public testing::Test {
 protected:
  Value Source(Dtype dtype) {
    Prim prim;
    prim.kind = PrimKind::kSource;
    prim.name = "x" + std::to_string(b_.graph.prims.size());
    prim.node = {static_cast<NodeId>(b_.graph.prims.size()), 0};
    prim.dtype = dtype;
    prim.sizes = {12};
    return {b_.graph.Whole(b_.graph.Add(std::move(prim))), dtype};
  }
  Value Make(const char* expr, const std::vector<Value>& in, Dtype dtype) {
    return b_.Pointwise("made", expr, in, dtype, 1);
  }
  // "lo to hi", and nothing for any numbers.
  std::string Of(const Value& value) {
    const auto range = Ranges(b_.graph).Of(value.view);
    return range ? std::to_string(static_cast<int64_t>(range->lo)) + " to " +
                       std::to_string(static_cast<int64_t>(range->hi))
                 : "";
  }

  const LowerOptions options_;
  Builder b_{options_};
};

TEST_F(RangesTest, ArithmeticOnElementNumbers) {
  const Value i = b_.Index({12}, 0);
  EXPECT_EQ(Of(i), "0 to 11");
  EXPECT_EQ(Of(Make("(3 - {0} * 2).to(tl.int64)", {i}, Dtype::kInt64)), "-19 to 3");
  EXPECT_EQ(Of(Make("({0} + 5) // 4", {i}, Dtype::kInt32)), "1 to 4");
  EXPECT_EQ(Of(Make("{0} * 1000000000", {i}, Dtype::kInt32)), "");  // which is more than 32 bits hold
}

TEST_F(RangesTest, RemaindersOfAnything) {
  const Value x = Source(Dtype::kInt64);
  EXPECT_EQ(Of(x), "");
  EXPECT_EQ(Of(Make("{0} % 5", {x}, Dtype::kInt64)), "-4 to 4");
  EXPECT_EQ(Of(Make("(({0} % 5 + 5) % 5)", {x}, Dtype::kInt64)), "0 to 4");
}

TEST_F(RangesTest, ConditionsHoldOnTheSideThatTheyChoose) {
  const Value x = Source(Dtype::kFloat32);
  const Value floor = b_.Op("floor", {x});
  const Value inside = b_.Op("logical_and", {b_.Op("ge", {floor, 0.0}), b_.Op("lt", {floor, 128.0})});
  const Value place = b_.Cast(floor, Dtype::kInt64);
  EXPECT_EQ(Of(place), "");
  EXPECT_EQ(Of(Make("tl.where({0}, {1}, 0)", {inside, place}, Dtype::kInt64)), "0 to 127");
  EXPECT_EQ(Of(Make("tl.where({0}, {1}, -7)", {inside, place}, Dtype::kInt64)), "-7 to 127");
  EXPECT_EQ(Of(Make("tl.where({0}, 0, {1})", {inside, place}, Dtype::kInt64)), "");
  EXPECT_EQ(Of(Make("tl.where({0}, {1}, 0)", {inside, b_.Cast(x, Dtype::kInt64)}, Dtype::kInt64)), "");
}

// What may be NaN is on neither side of a bound.
TEST_F(RangesTest, OnlyIntegersAreOnOneSideOfABound) {
  const char* clamp = "tl.where({0} < 2, 2, tl.where({0} > 7, 7, {0}))";
  EXPECT_EQ(Of(Make(clamp, {Source(Dtype::kInt64)}, Dtype::kInt64)), "2 to 7");
  const Value floats = Make(clamp, {Source(Dtype::kFloat32)}, Dtype::kFloat32);
  EXPECT_EQ(Of(b_.Cast(floats, Dtype::kInt64)), "");
}

// A half number just below a bound may be the bound when it is stored.
TEST_F(RangesTest, HalfNumbersMayBeRounded) {
  const Value x = Source(Dtype::kFloat16);
  const Value kept = b_.Op("where", {b_.Op("lt", {x, 0.0}), x, 5.0}, Dtype::kFloat16);
  EXPECT_EQ(Of(kept), "");
}

// x[i, j] of 5 × 9 elements.
std::string Read(Maker& m, NodeId i, NodeId j) {
  NodeId x = m.Leaf(NodeKind::kInput, "x", {5, 9});
  const auto answers =
      TeachFunction(m.Finish(m.Op("aten::index.Tensor", {Ref(x), Arg{Arg::List{Ref(i), Ref(j)}}}, {5})));
  return answers.empty() ? "" : answers[0].source;
}

TEST(Places, ThoseThatAreNeverNegativeAreTakenAsTheyAre) {
  Maker m;
  NodeId i = m.Op("aten::arange", {Arg{int64_t{5}}}, {5}, Dtype::kInt64);
  const std::string source = Read(m, i, m.Leaf(NodeKind::kInput, "j", {5}, Dtype::kInt64));
  EXPECT_EQ(CountOf(source, "< 0"), 1) << source;  // j's
  EXPECT_FALSE(Says(source, "int64")) << source;
  EXPECT_TRUE(Says(source, "offs * 9 + ")) << source;
}

TEST(Places, BetweenBoundsAreInt32FromTheStart) {
  Maker m;
  NodeId floats = m.Op("aten::floor", {Ref(m.Leaf(NodeKind::kInput, "f", {5}))}, {5});
  NodeId ge = m.Op("aten::ge.Scalar", {Ref(floats), Arg{int64_t{0}}}, {5}, Dtype::kBool);
  NodeId lt = m.Op("aten::lt.Scalar", {Ref(floats), Arg{int64_t{9}}}, {5}, Dtype::kBool);
  NodeId inside = m.Op("aten::logical_and", {Ref(ge), Ref(lt)}, {5}, Dtype::kBool);
  NodeId place = m.Op("aten::_to_copy", {Ref(floats)}, {5}, Dtype::kInt64);
  NodeId j = m.Op("aten::where.ScalarOther", {Ref(inside), Ref(place), Arg{int64_t{0}}}, {5}, Dtype::kInt64);
  const std::string source = Read(m, m.Leaf(NodeKind::kInput, "i", {5}, Dtype::kInt64), j);
  EXPECT_EQ(CountOf(source, "< 0"), 1) << source;  // i's
  EXPECT_TRUE(Says(source, ".to(tl.int32)")) << source;
  EXPECT_FALSE(Says(source, "int64")) << source;
}

}  // namespace
}  // namespace tritogen::teach
