#include "report/verdict_view.h"

#include <gtest/gtest.h>

#include "report/verdict_test_data.h"

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
  nlohmann::json verdict = PassedVerdict();
  verdict["outputs"][1]["error"] = verdict["max_error"] = nullptr;
  const nlohmann::json worst = WorstOutputIn(verdict);
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
  EXPECT_FALSE(SpeedupIn(TimedVerdict(), "eager tf32").has_value());
}

TEST(VerdictView, TheContractSaysWhatEagerIs) {
  nlohmann::json verdict = TimedVerdict();
  EXPECT_EQ(EagerIn(verdict), "eager fp32");
  EXPECT_EQ(EagerInWords(verdict), "eager PyTorch in fp32");
  verdict["fp32_precision"] = "tf32";
  EXPECT_EQ(EagerIn(verdict), "eager tf32");
  EXPECT_EQ(EagerInWords(verdict), "eager PyTorch in TF32");
  verdict["fp32_precision"] = "pytorch";
  EXPECT_EQ(EagerIn(verdict), "eager pytorch");
  EXPECT_EQ(EagerInWords(verdict), "eager PyTorch as it is by default");
}

TEST(VerdictView, FindsTheFastestVariant) {
  EXPECT_EQ(BestVariantIn(PassedVerdict()), 0);
  EXPECT_EQ(BestVariantIn(TimedVerdict()), 1);
}

TEST(VerdictView, ReadsWhatIsNoVerdict) {
  for (const char* text :
       {"null", "[]", "{}", "3", R"({"verdict": 3, "outputs": 7, "timing": [], "work_share": "x"})",
        R"({"outputs": [1, null], "timing": {"variants": [null, {}], "candidate": 3}})"}) {
    const nlohmann::json verdict = nlohmann::json::parse(text);
    EXPECT_EQ(TextIn(verdict, "verdict"), "") << text;
    EXPECT_EQ(NumberIn(verdict, "max_error"), "-") << text;
    EXPECT_EQ(WorkShareIn(verdict), 0) << text;
    EXPECT_NO_THROW(WorstOutputIn(verdict)) << text;
    EXPECT_FALSE(MedianMicrosecondsIn(verdict).has_value()) << text;
    EXPECT_EQ(BestVariantIn(verdict), 0) << text;
  }
}

}  // namespace
}  // namespace tritogen
