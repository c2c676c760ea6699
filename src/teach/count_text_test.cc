#include <gtest/gtest.h>

#include "teach/count_text.h"

namespace tritogen::teach {
namespace {

TEST(CountText, ProductsAreWrittenOut) {
  EXPECT_EQ(CountText({7, 1, 3}), "7 * 3");
  EXPECT_EQ(CountOperand({7, 1, 3}), "(7 * 3)");
  EXPECT_EQ(CountOperand({1, 5, 1}), "5");
  EXPECT_EQ(CountText({}), "1");
}

TEST(CountText, StridesAreLastDimensions) {
  const std::vector<int64_t> shape = {3, 4, 1, 6};
  EXPECT_EQ(StrideText(shape, 24), "(4 * 6)");
  EXPECT_EQ(StrideText(shape, 48), "(2 * 4 * 6)");
  EXPECT_EQ(StrideText(shape, 12), "(2 * 6)");
  EXPECT_EQ(StrideText(shape, 6), "6");
  EXPECT_EQ(StrideText(shape, 5), "5");
  EXPECT_EQ(StrideText(shape, -6), "-6");
  EXPECT_EQ(StrideText({}, 2), "2");
}

TEST(CountText, PlacesAreSumsOverDimensions) {
  using Terms = std::vector<std::string>;
  EXPECT_EQ(PlaceTerms({3, 4, 6}, 31), (Terms{"4 * 6", "6", "1"}));
  EXPECT_EQ(PlaceTerms({3, 4, 6}, 50), (Terms{"2 * 4 * 6", "2"}));
  EXPECT_EQ(PlaceTerms({3, 1, 6}, 12), (Terms{"2 * 6"}));
  EXPECT_EQ(PlaceTerms({}, 9), (Terms{"9"}));
  EXPECT_EQ(PlaceTerms({2, 2}, 0), Terms{});
}

TEST(CountText, FactorsAreFoundWhereTheDigitsHaveBorders) {
  const std::vector<int64_t> digits = {48, 3, 7, 5};
  EXPECT_EQ(FactorsAt(digits, 1, 35), (std::vector<int64_t>{7, 5}));
  EXPECT_EQ(FactorsAt(digits, 5, 21), (std::vector<int64_t>{3, 7}));
  EXPECT_EQ(FactorsAt(digits, 1, 10), (std::vector<int64_t>{10}));   // no border there
  EXPECT_EQ(FactorsAt(digits, 10, 21), (std::vector<int64_t>{21}));  // nor here
  EXPECT_EQ(FactorsAt({}, 1, 6), (std::vector<int64_t>{6}));
}

}  // namespace
}  // namespace tritogen::teach
