// Honest and dishonest candidates, recorded by tests/golden/verdicts/record_cases.py, and the verdicts they
// must get.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "plan/parse.h"
#include "verify/verifier_task.h"
#include "verify/verifier_waivers.h"

namespace tritogen {
namespace {

namespace fs = std::filesystem;

fs::path Folder() {
  return fs::path(TRITOGEN_SOURCE_DIR) / "tests/golden/verdicts";
}

std::vector<std::string> CaseNames() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(Folder())) {
    if (entry.path().extension() == ".msgpack") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

nlohmann::json ReadCase(const std::string& name) {
  std::ifstream file(Folder() / (name + ".msgpack"), std::ios::binary);
  const std::vector<uint8_t> bytes(std::istreambuf_iterator<char>(file), {});
  return nlohmann::json::from_msgpack(bytes);
}

class VerifierCases : public testing::TestWithParam<std::string> {};

TEST_P(VerifierCases, GivesTheVerdictsThatTheCasesDeserve) {
  const nlohmann::json golden = ReadCase(GetParam());
  VerifyOptions options;
  const char* seed = std::getenv("TRITOGEN_SEED");
  options.seed = seed != nullptr ? std::strtoull(seed, nullptr, 10) : 20240607;
  auto prepared = PrepareTask(ParsePlan(golden["reference"]), options);
  if (auto* failure = std::get_if<TaskFailure>(&prepared)) FAIL() << failure->reason;
  const Task& task = std::get<Task>(prepared);
  const std::vector<std::string>& notes = task.impl().bound.notes;
  for (const std::string want : golden["notes"]) {
    const bool found = std::any_of(notes.begin(), notes.end(), [&](const std::string& note) {
      return note.find(want) != std::string::npos;
    });
    EXPECT_TRUE(found) << "no note says '" << want << "': " << nlohmann::json(notes).dump(1);
  }
  for (const nlohmann::json& candidate : golden["candidates"]) {
    SCOPED_TRACE(candidate["name"].get<std::string>());
    options.mode = candidate["strict"] ? Mode::kStrict : Mode::kHybrid;
    const Plan plan = ParsePlan(candidate["plan"]);
    const Verdict verdict =
        VerifyWithWaivers(task, plan, options, Waivers{.no_triton = candidate["waive"].get<bool>()});
    if (std::getenv("TRITOGEN_SHOW_VERDICTS") != nullptr) {
      std::printf("%-28s %s %.4f s\n", candidate["name"].get<std::string>().c_str(),
                  verdict.ToJson().dump().c_str(), verdict.seconds);
    }
    EXPECT_EQ(OutcomeName(verdict.outcome), candidate["verdict"].get<std::string>())
        << verdict.ToJson().dump(1);
    EXPECT_EQ(verdict.rule, candidate["rule"].get<std::string>()) << verdict.ToJson().dump(1);
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, VerifierCases, testing::ValuesIn(CaseNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tritogen
