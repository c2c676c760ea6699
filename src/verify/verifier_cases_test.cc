// Honest and dishonest candidates, recorded by tests/golden/verdicts/record_cases.py, and the verdicts they
// must get.
#include <ATen/ATen.h>
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

// With a task made ready as a whole, or one whose rest is made on demand.
class VerifierCases : public testing::TestWithParam<std::tuple<std::string, bool>> {};

TEST_P(VerifierCases, GivesTheVerdictsThatTheCasesDeserve) {
  const nlohmann::json golden = ReadCase(std::get<0>(GetParam()));
  VerifyOptions options;
  options.rest_on_demand = std::get<1>(GetParam());
  const char* seed = std::getenv("TRITOGEN_SEED");
  options.seed = seed != nullptr ? std::strtoull(seed, nullptr, 10) : 20240607;
  auto prepared = PrepareTask(ParsePlan(golden["reference"]), options);
  if (auto* failure = std::get_if<TaskFailure>(&prepared)) FAIL() << failure->reason;
  const Task& task = std::get<Task>(prepared);
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
  ASSERT_TRUE(task.Complete());
  const std::vector<std::string>& notes = task.impl().bound.notes;
  for (const std::string want : golden["notes"]) {
    const bool found = std::any_of(notes.begin(), notes.end(), [&](const std::string& note) {
      return note.find(want) != std::string::npos;
    });
    EXPECT_TRUE(found) << "no note says '" << want << "': " << nlohmann::json(notes).dump(1);
  }
}

// What a case's candidates get of a task: those that must pass, or the others.
std::vector<Verdict> VerdictsOf(const nlohmann::json& golden, const Task& task, VerifyOptions options,
                                bool passing) {
  std::vector<Verdict> verdicts;
  for (const nlohmann::json& candidate : golden["candidates"]) {
    if ((candidate["verdict"] == "passed") != passing) continue;
    options.mode = candidate["strict"] ? Mode::kStrict : Mode::kHybrid;
    verdicts.push_back(VerifyWithWaivers(task, ParsePlan(candidate["plan"]), options,
                                         Waivers{.no_triton = candidate["waive"].get<bool>()}));
  }
  return verdicts;
}

TEST(TaskOnDemand, IsCompletedByTheFirstCandidateThatPassesTheFirstTrial) {
  const nlohmann::json golden = ReadCase("softmax");
  const VerifyOptions options{.seed = 7, .rest_on_demand = true};
  const Task task = std::get<Task>(PrepareTask(ParsePlan(golden["reference"]), options));
  EXPECT_TRUE(task.impl().unfinished);
  for (const Verdict& verdict : VerdictsOf(golden, task, options, false)) {
    EXPECT_EQ(verdict.outcome, Outcome::kWrongValues) << verdict.reason;
  }
  EXPECT_TRUE(task.impl().unfinished);  // they failed before
  EXPECT_EQ(task.impl().bound.trials.size(), 2);
  for (const Verdict& verdict : VerdictsOf(golden, task, options, true)) {
    EXPECT_EQ(verdict.outcome, Outcome::kPassed) << verdict.reason;
    EXPECT_FALSE(task.impl().unfinished);
  }
  EXPECT_GT(task.impl().bound.trials.size(), 8);
}

TEST(TaskOnDemand, IsSpoiledByAWriteToWhatTheReferenceIsReplayedWith) {
  const nlohmann::json golden = ReadCase("softmax");
  const VerifyOptions options{.seed = 7, .rest_on_demand = true};
  const Task task = std::get<Task>(PrepareTask(ParsePlan(golden["reference"]), options));
  at::Tensor(task.impl().bound.trials.back().inputs[0]).mul_(0.5);  // as a stray write might
  const std::vector<Verdict> verdicts = VerdictsOf(golden, task, options, true);
  ASSERT_FALSE(verdicts.empty());
  EXPECT_EQ(verdicts[0].outcome, Outcome::kNondeterministic) << verdicts[0].reason;
  EXPECT_TRUE(task.spoiled());
  EXPECT_FALSE(task.Complete());
}

TEST(TaskOnDemand, IsSpoiledByAWriteToWeights) {
  const nlohmann::json golden = ReadCase("mlp");
  const VerifyOptions options{.seed = 7, .rest_on_demand = true};
  const Task task = std::get<Task>(PrepareTask(ParsePlan(golden["reference"]), options));
  ASSERT_FALSE(task.impl().bound.bindings.empty());
  for (const auto& [name, weights] : task.impl().bound.bindings) at::Tensor(weights).mul_(0.5);
  EXPECT_FALSE(task.Complete());
  EXPECT_TRUE(task.spoiled());
}

TEST(Task, ThatSparesMemorySaysSoAndStillTells) {
  const nlohmann::json golden = ReadCase("softmax");
  const VerifyOptions options{.seed = 7, .spare_memory = true, .rest_on_demand = true};
  const Task task = std::get<Task>(PrepareTask(ParsePlan(golden["reference"]), options));
  for (const bool right : {true, false}) {
    const std::vector<Verdict> verdicts = VerdictsOf(golden, task, options, right);
    ASSERT_FALSE(verdicts.empty());
    for (const Verdict& verdict : verdicts) {
      EXPECT_EQ(verdict.outcome, right ? Outcome::kPassed : Outcome::kWrongValues) << verdict.reason;
      const auto says = [](const std::string& note) { return note.starts_with("memory is short"); };
      EXPECT_TRUE(std::any_of(verdict.notes.begin(), verdict.notes.end(), says));
    }
  }
}

TEST(Task, SaysHowMuchOfTheBudgetEachKindOfInputsUsed) {
  const nlohmann::json golden = ReadCase("softmax");
  const VerifyOptions options{.seed = 7};
  const Task task = std::get<Task>(PrepareTask(ParsePlan(golden["reference"]), options));
  std::set<std::string> kinds;
  for (const Trial& trial : task.impl().bound.trials) kinds.insert(trial.name());
  for (const Verdict& verdict : VerdictsOf(golden, task, options, /*right=*/true)) {
    const OutputError& error = verdict.errors.at(0);
    std::set<std::string> told;
    for (const auto& [inputs, used] : error.used) {
      told.insert(inputs);
      EXPECT_LE(used, error.used.at(error.trial)) << inputs;
    }
    EXPECT_EQ(told, kinds);
    EXPECT_DOUBLE_EQ(error.used.at(error.trial), error.candidate / error.budget);
  }
  for (const Verdict& verdict : VerdictsOf(golden, task, options, /*right=*/false)) {
    if (verdict.outcome != Outcome::kWrongValues) continue;
    const OutputError& error = verdict.errors.at(0);
    EXPECT_GT(error.used.at(error.trial), 1);
  }
}

// It has no second look, which knows what may lie beside a flat row.
TEST(Task, ThatSparesMemoryJudgesFlatRowsByTheWholeOutput) {
  const nlohmann::json golden = ReadCase("relu_rows");
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    const VerifyOptions options{.seed = seed, .spare_memory = true};
    const Task task = std::get<Task>(PrepareTask(ParsePlan(golden["reference"]), options));
    for (const bool right : {true, false}) {
      for (const Verdict& verdict : VerdictsOf(golden, task, options, right))
        EXPECT_EQ(verdict.outcome, right ? Outcome::kPassed : Outcome::kWrongValues)
            << seed << ": " << verdict.reason;
    }
  }
}

TEST(Task, ThatKeepsNoTrialsTellsWhatOneThatDoesTells) {
  for (const std::string name : {"softmax", "mlp", "topk_gather", "batch_norm", "two_outputs"}) {
    const nlohmann::json golden = ReadCase(name);
    const VerifyOptions keeping{.seed = 7, .spare_memory = true};
    VerifyOptions sparing = keeping;
    sparing.keep_no_trials = true;
    const Task kept = std::get<Task>(PrepareTask(ParsePlan(golden["reference"]), keeping));
    const Task remade = std::get<Task>(PrepareTask(ParsePlan(golden["reference"]), sparing));
    for (const Trial& trial : remade.impl().bound.trials)
      EXPECT_TRUE(trial.inputs.empty() && trial.outputs.empty()) << name;
    for (const bool right : {true, false}) {
      const std::vector<Verdict> one = VerdictsOf(golden, kept, keeping, right);
      const std::vector<Verdict> other = VerdictsOf(golden, remade, sparing, right);
      ASSERT_EQ(one.size(), other.size());
      for (size_t i = 0; i < one.size(); ++i)
        EXPECT_EQ(one[i].outcome, other[i].outcome)
            << name << ": " << one[i].reason << "; " << other[i].reason;
    }
  }
}

// Displaced ones would outlive what makes their trials again.
TEST(Task, ThatKeepsNoTrialsHasNoDisplacedSettings) {
  const nlohmann::json golden = ReadCase("mlp");
  for (const bool keeps : {true, false}) {
    const VerifyOptions options{.seed = 7, .keep_no_trials = !keeps};
    const Task task = std::get<Task>(PrepareTask(ParsePlan(golden["reference"]), options));
    EXPECT_EQ(task.impl().Displaced().empty(), !keeps);
    for (const Verdict& verdict : VerdictsOf(golden, task, options, /*passing=*/true))
      EXPECT_EQ(verdict.outcome, Outcome::kPassed) << verdict.reason;
  }
}

// Under a TF32 contract: what computes in TF32 passes, what is less exact or has less range does not, and all
// else is as it was.
TEST(Tf32, IsAllowedByItsContractAlone) {
  for (const std::string name : {"matmul", "mlp", "softmax", "comparison"}) {
    const nlohmann::json golden = ReadCase(name);
    const VerifyOptions options{.fp32_precision = Fp32Precision::kTf32, .seed = 7};
    const Task task = std::get<Task>(PrepareTask(ParsePlan(golden["reference"]), options));
    EXPECT_EQ(task.impl().cuts_factors, name != "softmax");
    for (const nlohmann::json& candidate : golden["candidates"]) {
      SCOPED_TRACE(candidate["name"].get<std::string>());
      VerifyOptions own = options;
      own.mode = candidate["strict"] ? Mode::kStrict : Mode::kHybrid;
      const Verdict verdict = VerifyWithWaivers(task, ParsePlan(candidate["plan"]), own,
                                                Waivers{.no_triton = candidate["waive"].get<bool>()});
      // An approximation off by 3e-4 is lost in what TF32 leaves open.
      const bool allowed = candidate["rule"] == "tf32" || candidate["name"] == "tanh_gelu";
      EXPECT_EQ(OutcomeName(verdict.outcome), allowed ? "passed" : candidate["verdict"].get<std::string>())
          << verdict.ToJson().dump(1);
      const bool overflows = candidate["rule"] == "half" && !std::isfinite(verdict.max_error());
      EXPECT_EQ(verdict.rule, allowed || overflows ? "" : candidate["rule"].get<std::string>())
          << verdict.ToJson().dump(1);
    }
  }
}

// Matrix products are not among what PyTorch computes in TF32 by itself.
TEST(Tf32, IsNotAllowedToMatrixProductsByPytorchsDefaults) {
  const nlohmann::json golden = ReadCase("matmul");
  const VerifyOptions options{.fp32_precision = Fp32Precision::kPytorch, .seed = 7};
  const Task task = std::get<Task>(PrepareTask(ParsePlan(golden["reference"]), options));
  EXPECT_FALSE(task.impl().cuts_factors);
  for (const nlohmann::json& candidate : golden["candidates"]) {
    VerifyOptions own = options;
    own.mode = candidate["strict"] ? Mode::kStrict : Mode::kHybrid;
    const Verdict verdict = VerifyWithWaivers(task, ParsePlan(candidate["plan"]), own,
                                              Waivers{.no_triton = candidate["waive"].get<bool>()});
    EXPECT_EQ(OutcomeName(verdict.outcome), candidate["verdict"].get<std::string>()) << candidate["name"];
    EXPECT_EQ(verdict.rule, candidate["rule"].get<std::string>()) << candidate["name"];
  }
}

TEST(Task, SaysWhenACandidateHasMadeItGrow) {
  const nlohmann::json golden = ReadCase("mlp");
  const VerifyOptions options{.seed = 7, .rest_on_demand = true};
  const Task task = std::get<Task>(PrepareTask(ParsePlan(golden["reference"]), options));
  ASSERT_TRUE(task.Complete());
  const int64_t bytes = task.bytes();
  EXPECT_FALSE(task.grown());
  nlohmann::json renamed = golden["reference"];
  for (nlohmann::json& entry : renamed["state"]) entry[0] = "other." + entry[0].get<std::string>();
  const Verdict verdict =
      VerifyWithWaivers(task, ParsePlan(renamed), options, Waivers{.no_triton = true});  // weights by seed
  EXPECT_EQ(verdict.outcome, Outcome::kPassed) << verdict.reason;
  EXPECT_TRUE(task.grown());
  EXPECT_GT(task.bytes(), bytes + bytes / 2);
}

INSTANTIATE_TEST_SUITE_P(Golden, VerifierCases,
                         testing::Combine(testing::ValuesIn(CaseNames()), testing::Bool()),
                         [](const auto& info) {
                           return std::get<0>(info.param) + (std::get<1>(info.param) ? "_on_demand" : "");
                         });

}  // namespace
}  // namespace tritogen
