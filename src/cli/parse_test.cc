#include "cli/parse.h"
#include "cli/numbers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tritogen {
namespace {

struct Outcome {
  std::optional<int> code;
  std::string said;  // on stderr
};

// With a required --model, --seed, and --prompt in a group.
Outcome ParseThese(std::vector<const char*> arguments) {
  CLI::App app("test");
  std::string model, prompt;
  uint64_t seed = 0;
  app.add_option("--model", model)->required();
  app.add_option("--seed", seed)->check(kSeed);
  app.add_option_group("Texts")->add_option("--prompt", prompt);
  arguments.insert(arguments.begin(), "program");
  testing::internal::CaptureStderr();
  const auto code = Parse(&app, static_cast<int>(arguments.size()), arguments.data());
  const std::string said = testing::internal::GetCapturedStderr();
  return {code, said.substr(0, said.find('\n'))};
}

TEST(Parse, GoesOnWhenAllIsRight) {
  EXPECT_EQ(ParseThese({"--model", "m", "--prompt", "p", "--seed", "3"}).code, std::nullopt);
}

TEST(Parse, NamesAMisspeltOptionAndTheOneThatIsNear) {
  const Outcome seed = ParseThese({"--model", "m", "--sede", "3"});
  EXPECT_EQ(seed.code, 2);
  EXPECT_EQ(seed.said, "there is no option --sede; did you mean '--seed'?");
  EXPECT_EQ(ParseThese({"--model", "m", "--promt=p"}).said,
            "there is no option --promt; did you mean '--prompt'?");
  EXPECT_EQ(ParseThese({"--model", "m", "--quiet"}).said, "there is no option --quiet");
}

TEST(Parse, AMisspeltOptionIsNotOneThatIsMissing) {
  EXPECT_EQ(ParseThese({"--modle", "m"}).said, "there is no option --modle; did you mean '--model'?");
  EXPECT_EQ(ParseThese({"--seed", "3"}).said, "--model is required");
}

TEST(Parse, NamesWhatIsTooMuchInItsOrder) {
  EXPECT_EQ(ParseThese({"--model", "m", "a", "b"}).said, "not expected: a b");
}

TEST(Parse, AValueThatIsWrongStaysTheFault) {
  const Outcome outcome = ParseThese({"--model", "m", "--seed", "x"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.said.find("--seed"), std::string::npos) << outcome.said;
}

TEST(Parse, ASeedIsWhatWasWritten) {
  for (const char* seed : {"0", "18446744073709551615"})
    EXPECT_EQ(ParseThese({"--model", "m", "--seed", seed}).code, std::nullopt) << seed;
  for (const char* seed : {"-1", "18446744073709551616", "1.5", "0x10", "1 ", "+1"}) {
    const Outcome outcome = ParseThese({"--model", "m", "--seed", seed});
    EXPECT_EQ(outcome.code, 2) << seed;
    EXPECT_NE(outcome.said.find("is no integer from 0 to 18446744073709551615"), std::string::npos)
        << outcome.said;
  }
}

std::string Refused(const CLI::Validator& validator, std::string text) {
  return validator(text);
}

TEST(Numbers, AreNeitherInfiniteNorNone) {
  for (const auto& validator : {kPositive, kNonNegative, kSeconds, NumberIn(0, 10)}) {
    for (const char* text : {"inf", "-inf", "nan", "-1", "x", ""})
      EXPECT_NE(Refused(validator, text), "") << text;
    for (const char* text : {"1", "0.5", "1e-3"}) EXPECT_EQ(Refused(validator, text), "") << text;
  }
  EXPECT_EQ(Refused(NumberIn(0, 10), "11"), "'11' is not in range 0 - 10");
  EXPECT_NE(Refused(kSeconds, "1e10"), "") << "more than clocks count";
}

}  // namespace
}  // namespace tritogen
