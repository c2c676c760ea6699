#include "verify/timed_plan.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/stages.h"
#include "verify/verifier_order.h"
#include "verify/verifier_second_look.h"
#include "verify/verifier_trial_loan.h"

namespace tritogen {
namespace {

constexpr unsigned kRunsPerRefresh = 16;
constexpr double kMostChecking = 0.2;  // of the time of a measurement
constexpr size_t kPutAside = 2;        // answers that fill a third of a device each

void Expect(const std::optional<ReplayFailure>& failure, const std::string& what) {
  if (!failure) return;
  throw TimingObjection{
      {OutcomeOf(failure->kind), fmt::format("{} for timing: {}", what, failure->message), ""}};
}

}  // namespace

void CheckTimedAnswer(const Task::Impl& task, const TimedAnswer& answer) {
  TrialLoan loan(*answer.trial);
  TensorList outputs;
  for (const at::Tensor& output : answer.outputs) outputs.push_back(output.to(Gpu::Current()->device()));
  const std::vector<Comparison> comparisons = CompareAll(task, loan.Expected(), outputs);
  for (size_t i = 0; i < comparisons.size(); ++i) {
    const Comparison& comparison = comparisons[i];
    if (comparison.ok) continue;
    throw TimingObjection{
        {Outcome::kWrongValues,
         fmt::format("output {} of a timed call is wrong: error {:.2g} of its scale, allowed {:.2g}", i,
                     comparison.error, comparison.budget),
         ""}};
  }
}

TimedInputs::TimedInputs(const Task::Impl& task, const Setting& setting) {
  for (const Trial& trial : setting.trials) {
    if (trial.distribution == Distribution::kGenerated) trials_.push_back(&trial);
  }
  tensors_ = CloneAll(TrialLoan(*trials_[0]).trial().inputs);
}

void TimedInputs::Refresh() {
  shown_ = random_() % trials_.size();
  ++version_;
  const TrialLoan loan(shown());
  for (size_t i = 0; i < tensors_.size(); ++i) tensors_[i].copy_(loan.trial().inputs[i]);
}

TimedPlan::TimedPlan(std::string name, const Task::Impl& task, std::shared_ptr<TimedInputs> inputs,
                     const Plan& plan, const Bindings& bindings, const ReplayOptions& options)
    : name_(std::move(name)),
      task_(task),
      starts_anew_(task.mutates() || CarriesState(task)),
      inputs_(std::move(inputs)),
      replayer_(plan, options) {
  Expect(SetUp(task, plan, bindings, &replayer_), "set-up");
  Refresh();
  Call();  // before the capture: libraries choose algorithms, kernels load
  Gpu::Current()->Synchronize(options.deadline_seconds);
  Capture();
}

bool TimedPlan::SameKernels(const TimedPlan& other) const {
  return captured() && other.captured() && graph_->SameKernels(*other.graph_);
}

cuda::Timed TimedPlan::Timed(bool by_graph, bool check) {
  checking_seconds_ = 0;
  cuda::Timed timed;
  timed.name = name_;
  timed.run = [this, by_graph](CUstream stream) {
    if (by_graph) {
      graph_->Launch(stream);
      Answer(&captured_);
    } else {
      Call();
    }
  };
  timed.prepare = [this](CUstream) {
    if (random_() % kRunsPerRefresh == 0 || starts_anew_) Refresh();
  };
  if (check) timed.check = [this, since = Deadline(0)] { CheckNowAndThen(since); };
  return timed;
}

void TimedPlan::CheckAnswer() {
  if (task_.draws_random || !answered()) return;
  if (!task_.HasRoomForTrial()) return PutAside();
  CheckTimedAnswer(task_, {&inputs_->shown(), *answer_});
}

// Of all moments each is as likely to be among those that stay (Vitter 1985, algorithm R): nobody knows
// which.
void TimedPlan::PutAside() {
  const size_t place = moments_ < kPutAside ? moments_ : random_() % (moments_ + 1);
  ++moments_;
  if (place >= kPutAside) return;
  const Stage stage(kAnswersWait);
  TimedAnswer answer{&inputs_->shown(), {}};
  if (place < put_aside_.size()) put_aside_[place].outputs.clear();
  for (const at::Tensor& output : *answer_) answer.outputs.push_back(output.cpu());
  if (place == put_aside_.size()) put_aside_.emplace_back();
  put_aside_[place] = std::move(answer);
}

// Unless looking at answers has taken too much of the time since then.
void TimedPlan::CheckNowAndThen(const Deadline& since) {
  if (checking_seconds_ > kMostChecking * since.elapsed()) return;
  const Deadline watch(0);
  CheckAnswer();
  checking_seconds_ += watch.elapsed();
}

// Other values in the same places, and the state as set-up left it.
void TimedPlan::Refresh() {
  inputs_->Refresh();
  replayer_.RestoreState();
  answer_ = nullptr;
}

void TimedPlan::Call() {
  called_.clear();
  Expect(replayer_.Queue(inputs_->tensors(), &called_), "a call");
  Answer(&called_);
}

void TimedPlan::Answer(const TensorList* answer) {
  answer_ = answer;
  answers_ = inputs_->version();
}

void TimedPlan::Capture() {
  Gpu& gpu = *Gpu::Current();
  std::string why_not;  // some programs cannot be captured: they are replayed step by step
  memory_.Allocating(&gpu, [&] {
    graph_ = cuda::Graph::Capture(
        gpu.driver(), gpu.stream(),
        [&] {
          if (auto failure = replayer_.Queue(inputs_->tensors(), &captured_))
            throw std::runtime_error(failure->message);
        },
        &why_not);
  });
  if (captured()) called_.clear();
  answer_ = nullptr;
}

}  // namespace tritogen
