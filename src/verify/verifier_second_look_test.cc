#include "verify/verifier_second_look.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "plan/parse.h"
#include "verify/verifier_runs.h"

namespace tritogen {
namespace {

// A task that sums numbers, and a trial whose numbers sum up to nearly nothing: an honest sum's error is as
// large as the noise of its terms.
class SecondLooks : public testing::Test {
 protected:
  explicit SecondLooks(const std::string& name = "sum") {
    std::ifstream file(TRITOGEN_SOURCE_DIR "/tests/golden/verdicts/" + name + ".msgpack", std::ios::binary);
    const std::vector<uint8_t> bytes(std::istreambuf_iterator<char>(file), {});
    const nlohmann::json golden = nlohmann::json::from_msgpack(bytes);
    const VerifyOptions options{.seed = 7};
    task_.emplace(std::get<Task>(PrepareTask(ParsePlan(golden["reference"]), options)));
    plan_.emplace(ParsePlan(golden["candidates"][0]["plan"]));
    const Trial& made = task().bound.trials.front();
    trial_.emplace(made);
    trial_->distribution = Distribution::kGenerated;
    trial_->inputs = CloneAll(made.inputs);
    trial_->outputs.clear();
    trial_->second_look.reset();
    at::manual_seed(5);
    at::Tensor x = trial_->inputs[0];
    x.normal_();
    x.flatten()[0] += 1e-5 - x.sum();
    exact_ = x.to(at::kDouble).sum();
    noise_ = 3e-8 * x.to(at::kDouble).norm().item<double>();  // half a unit in the last place of each term
  }

  const Task::Impl& task() const { return task_->impl(); }

  // The eager program has errors of `eager` in each element.
  void Expect(double eager) {
    trial_->outputs.clear();
    trial_->outputs.push_back({Expectation(exact_, (exact_ + eager).to(at::kFloat), {}), std::nullopt});
    trial_->second_look =
        std::make_shared<SecondLook>(task(), std::make_shared<const Bindings>(task().bound.bindings));
  }

  bool IsRight(double error) {
    const Deadline deadline(60);
    TrialRuns runs(task(), *plan_, deadline, 60);
    const Trial* call = &*trial_;
    size_t wrong = 0;
    return !runs.CheckCalls({&call, 1}, {(exact_ + error).to(at::kFloat)}, &wrong);
  }

  // Without a second look.
  double OverBudget(double error) {
    const Comparison comparison = trial_->outputs[0].expected.Compare((exact_ + error).to(at::kFloat));
    return comparison.error / comparison.budget;
  }

  // Where the eager program was right by luck, an honest answer is over the budget, and right.
  void ExpectNoiseIsExcused() {
    Expect(noise_ / 200);
    EXPECT_GT(OverBudget(noise_), 5);
    EXPECT_LT(OverBudget(noise_), kLuck);
    EXPECT_TRUE(IsRight(noise_));
    EXPECT_TRUE(IsRight(-noise_));
  }

  std::optional<Task> task_;
  std::optional<Plan> plan_;
  std::optional<Trial> trial_;
  at::Tensor exact_;
  double noise_ = 0;  // of an honest sum
};

TEST_F(SecondLooks, ExcuseWhatTheReferencesNoiseExplains) {
  ExpectNoiseIsExcused();
}

// A task that adds 700.3 to numbers and takes it off again, and then their mean, which is next to nothing.
// What is lost so shows in no run in fp64.
class SecondLooksAtDifferences : public SecondLooks {
 protected:
  SecondLooksAtDifferences() : SecondLooks("shifted_mean") {
    at::Tensor x = trial_->inputs[0];
    x -= x.mean();
    exact_ = x.to(at::kDouble).mean();
    noise_ = std::ldexp(1, -14) / std::sqrt(12.0 * static_cast<double>(x.numel()));
  }
};

TEST_F(SecondLooksAtDifferences, ExcuseWhatTheEagerProgramLosesNearby) {
  ExpectNoiseIsExcused();
}

TEST_F(SecondLooksAtDifferences, ExcuseNothingElse) {
  Expect(noise_ * 3);
  EXPECT_GT(OverBudget(200 * noise_), 4);
  EXPECT_LT(OverBudget(200 * noise_), kLuck);
  EXPECT_FALSE(IsRight(200 * noise_));
}

TEST_F(SecondLooks, ExcuseNothingElse) {
  Expect(100 * noise_ / 200);
  EXPECT_GT(OverBudget(100 * noise_), 5);
  EXPECT_LT(OverBudget(100 * noise_), kLuck);
  EXPECT_FALSE(IsRight(100 * noise_));
}

TEST_F(SecondLooks, AreNotGivenToWhatIsFarOff) {
  Expect(noise_ / 2000);
  EXPECT_GT(OverBudget(noise_), kLuck);
  EXPECT_FALSE(IsRight(noise_));
}

TEST_F(SecondLooks, AreGivenWhereFewPlacesAreFarOff) {
  Expect(noise_);
  Comparison comparison{.ok = false, .error = 1, .budget = 1e-6, .allclose = 0.9995};
  EXPECT_TRUE(DeservesSecondLook(task(), *trial_, 0, comparison));
  comparison.allclose = 0.99;
  EXPECT_FALSE(DeservesSecondLook(task(), *trial_, 0, comparison));
  comparison.allclose = 1;  // so are all of a program in TF32, if what it gives is small
  EXPECT_FALSE(DeservesSecondLook(task(), *trial_, 0, comparison));
}

TEST_F(SecondLooks, AreTheSameWhoeverAsksFirst) {
  Expect(noise_ / 200);
  const std::vector<OutputCheck> first = *trial_->second_look->Checks(*trial_);
  Expect(noise_ / 200);
  EXPECT_FALSE(IsRight(100 * noise_));
  EXPECT_TRUE(IsRight(noise_));
  const std::vector<OutputCheck>& later = *trial_->second_look->Checks(*trial_);
  EXPECT_EQ(first[0].expected.AllowedAt(0), later[0].expected.AllowedAt(0));
}

TEST_F(SecondLooks, LeaveTheTrialAsItIs) {
  Expect(noise_ / 200);
  const double before = OverBudget(noise_);
  EXPECT_TRUE(IsRight(noise_));
  EXPECT_EQ(OverBudget(noise_), before);
}

}  // namespace
}  // namespace tritogen
