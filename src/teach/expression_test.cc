#include "teach/expression.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tritogen::teach {
namespace {

TEST(Expression, LoosestOperatorsAreOutermost) {
  const auto e = ParseExpression("({1} - {2} <= 3) & {0} != 0");
  ASSERT_TRUE(e.has_value());
  ASSERT_TRUE(e->IsBinary("!="));
  ASSERT_TRUE(e->in[0].IsBinary("&"));
  EXPECT_TRUE(e->in[0].in[0].IsBinary("<="));
  EXPECT_TRUE(e->in[0].in[0].in[0].IsBinary("-"));
  EXPECT_EQ(e->in[0].in[1].operand, 0u);
}

TEST(Expression, NumbersAreWorkedOut) {
  const auto e = ParseExpression("{0} * 64 ** -0.5");
  ASSERT_TRUE(e && e->IsBinary("*"));
  EXPECT_TRUE(e->in[1].IsNumber(0.125));
  EXPECT_TRUE(ParseExpression("tl.full([], 1.0, tl.float32)")->IsNumber(1));
  EXPECT_TRUE(ParseExpression("float(\"-inf\")")->IsNumber(-INFINITY));
}

TEST(Expression, CallsAndCasts) {
  const auto e = ParseExpression("tl.where({2}, ~{0}, {1}.to(tl.int64))");
  ASSERT_TRUE(e && e->IsCall("tl.where", 3));
  EXPECT_EQ(e->in[1].kind, Expression::Kind::kNot);
  EXPECT_EQ(e->in[2].kind, Expression::Kind::kCast);
  EXPECT_EQ(e->in[2].name, "tl.int64");
}

TEST(Expression, NothingForWhatIsNone) {
  for (const char* text : {"", "{0} +", "({0}", "{0} << 2", "{0}) + 1", "tl.where({0},", "{x}", "[0]"})
    EXPECT_FALSE(ParseExpression(text)) << text;
  EXPECT_FALSE(ParseExpression(std::string(5000, '(')));
}

}  // namespace
}  // namespace tritogen::teach
