#include "judge/options_json.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tritogen {
namespace {

TEST(OptionsJson, APrecisionThatIsNoneIsAFormatError) {
  nlohmann::json json = ToJson(VerifyOptions{.fp32_precision = Fp32Precision::kTf32});
  EXPECT_EQ(OptionsFromJson(json).fp32_precision, Fp32Precision::kTf32);
  json["fp32_precision"] = "fp8";
  EXPECT_THROW(OptionsFromJson(json), FormatError);
}

}  // namespace
}  // namespace tritogen
