#include "cli/verdict_view.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cli/verdict_test_data.h"

namespace tritogen {
namespace {

TEST(VerdictView, ReadsAVerdictThatPassed) {
  const nlohmann::json verdict = PassedVerdict();
  EXPECT_EQ(TextIn(verdict, "verdict"), "passed");
  EXPECT_EQ(TextIn(verdict, "rule"), "") << "null";
  EXPECT_EQ(TextIn(verdict, "no such field"), "");
  EXPECT_DOUBLE_EQ(WorkShareIn(verdict), 0.75);
  const nlohmann::json worst = WorstOutputIn(verdict);
  EXPECT_EQ(worst.at("output"), 1) << "the one closest to its budget";
  EXPECT_EQ(NumberIn(worst, "error"), "2.50e-04");
}

TEST(VerdictView, ReadsAVerdictOfSomethingThatNeverRan) {
  const nlohmann::json verdict = FailedVerdict();
  EXPECT_TRUE(WorstOutputIn(verdict).empty());
  EXPECT_EQ(NumberIn(verdict, "max_error"), "-");
  EXPECT_DOUBLE_EQ(WorkShareIn(verdict), 0);
}

TEST(VerdictView, FindsTheOutputWhoseErrorIsNotANumber) {
  Verdict verdict{.outcome = Outcome::kWrongValues};
  verdict.errors = {{.output = 0, .candidate = 1e-7, .budget = 1e-5},
                    {.output = 1, .candidate = NAN, .budget = 1e-5}};
  const nlohmann::json worst = WorstOutputIn(verdict.ToJson());
  EXPECT_EQ(worst.at("output"), 1);
  EXPECT_EQ(NumberIn(worst, "error"), "-");
}

TEST(VerdictView, HasTimesOnlyWhereAGpuTookThem) {
  EXPECT_FALSE(MedianMicrosecondsIn(PassedVerdict()).has_value());
  EXPECT_FALSE(SpeedupIn(PassedVerdict(), "eager fp32").has_value());
  nlohmann::json none = PassedVerdict();
  none["timing"] = nullptr;
  EXPECT_FALSE(MedianMicrosecondsIn(none).has_value());
  EXPECT_DOUBLE_EQ(MedianMicrosecondsIn(TimedVerdict()).value(), 12.34);
  EXPECT_DOUBLE_EQ(SpeedupIn(TimedVerdict(), "eager fp32").value(), 1.805);
  EXPECT_FALSE(SpeedupIn(TimedVerdict(), "torch.compile").has_value());
}

TEST(VerdictView, FindsTheFastestVariant) {
  nlohmann::json verdict = TimedVerdict();
  EXPECT_EQ(BestVariantIn(PassedVerdict()), 0);
  EXPECT_EQ(BestVariantIn(verdict), 0);
  verdict["timing"]["variants"] = {{{"variant", 0}, {"median_us", 5.0}},
                                   {{"variant", 1}, {"median_us", 3.5}},
                                   {{"variant", 2}, {"median_us", 4.0}}};
  EXPECT_EQ(BestVariantIn(verdict), 1);
}

}  // namespace
}  // namespace tritogen
