#include "train/sft_loop.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "train/flops.h"

namespace tritogen::train {
namespace {

constexpr size_t kNamedExamples = 20;  // in a message

double SecondsSince(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

BatchSize SizeOf(const StepBatches& batches) {
  return {.tokens = static_cast<double>(batches.tokens),
          .learned = static_cast<double>(batches.learned),
          .squared_lengths = batches.squared_lengths};
}

}  // namespace

SftLoop::SftLoop(const LoopParts& parts, RunPosition position)
    : options_(*parts.options),
      run_(*parts.run),
      ranks_(*parts.ranks),
      trainer_(*parts.trainer),
      parts_(parts),
      position_(std::move(position)),
      feed_(parts.packer, position_.next, options_.train.accumulation, ranks_.rank(), ranks_.size(),
            run_.device == "cuda"),
      meter_(parts.peak_flops),
      lag_(run_.device == "cuda" ? 1 : 0),
      launched_(position_.step),
      seconds_before_(position_.seconds) {
  summary_.held_out_loss = summary_.pass_at_1 = NAN;
  if (ranks_.rank() == 0) log_.emplace(run_.out, position_.step, options_.log.tensorboard);
  if (const auto latest = LatestCheckpoint(run_.out / "checkpoints")) {
    checkpoint_ = *latest;
    saved_ = position_.step;
  }
}

SftSummary SftLoop::Run() {
  meter_.Resume();
  while (!Done() && !stop_) {
    // One rank need not wait until all have heard of it.
    if (ranks_.size() == 1 && StopWanted()) break;
    Launch();
    if (pending_.size() > lag_) FinishOldest();
    const bool test = options_.eval.every > 0 && launched_ % options_.eval.every == 0;
    if (test || SaveDue()) {
      Drain();
      if (SaveDue()) Save();
      if (test && !Done()) Evaluate();
    }
  }
  Drain();
  if (saved_ != position_.step) Save();
  if (Done()) Evaluate();
  summary_.end = Done() ? SftEnd::kFinished : run_.interrupted() ? SftEnd::kInterrupted : SftEnd::kStopped;
  summary_.step = position_.step;
  summary_.total = position_.total;
  summary_.tokens = position_.tokens;
  summary_.seconds = position_.seconds;
  summary_.loss = position_.loss;
  if (position_.seconds > 0) {
    summary_.tokens_per_second = static_cast<double>(position_.tokens) / position_.seconds;
    if (parts_.peak_flops > 0) summary_.mfu = position_.flops / position_.seconds / parts_.peak_flops;
  }
  summary_.model = checkpoint_.string();
  return summary_;
}

bool SftLoop::StopWanted() const {
  return run_.interrupted() || (run_.stop_after > 0 && SecondsSince(run_.start) > run_.stop_after);
}

bool SftLoop::SaveDue() const {
  return save_ || (options_.save.every > 0 && launched_ % options_.save.every == 0);
}

StepWishes SftLoop::Wishes() {
  StepWishes wishes{.stop = StopWanted()};
  if (ranks_.rank() != 0) return wishes;
  const double minutes = options_.save.minutes;
  wishes.save = minutes > 0 && SecondsSince(saved_at_) > 60 * minutes;
  if (wishes.save) saved_at_ = std::chrono::steady_clock::now();  // wished once
  if (position_.total == 0) wishes.total = TotalByMinutes();
  return wishes;
}

// How many steps fit into the minutes, once the time of a step is known: after a tenth of the run, or a
// minute. The process's first step, which makes the device ready, is not counted.
int64_t SftLoop::TotalByMinutes() const {
  const double wanted = 60 * options_.train.minutes;
  const double measured = meter_.seconds() - first_seconds_;
  const int64_t steps = position_.step - first_step_;
  if (first_step_ < 0 || steps < 2 || measured < std::min(60.0, 0.1 * wanted)) return 0;
  const double left = (wanted - position_.seconds) * static_cast<double>(steps) / measured;
  return std::max(launched_ + 4, position_.step + static_cast<int64_t>(left));
}

void SftLoop::Launch() {
  const StepBatches batches = feed_.Next();
  const double lr = LearningRate(options_.train.schedule, launched_, position_.total);
  const StepWishes wishes = Wishes();
  ++launched_;
  pending_.push_back({.numbers = trainer_.Step(batches, lr, wishes),
                      .step = launched_,
                      .lr = lr,
                      .weight = batches.weight,
                      .tokens = batches.tokens,
                      .flops = TrainingFlops(trainer_.weights().config, SizeOf(batches)).model(),
                      .places = batches.places});
  position_.next = batches.next;  // behind the last step that was launched: read only when all are finished
}

void SftLoop::FinishOldest() {
  Pending step = std::move(pending_.front());
  pending_.pop_front();
  const StepNumbers numbers = trainer_.Wait(&step.numbers, static_cast<int64_t>(step.places.size()));
  double loss = 0;
  for (const float batch : numbers.losses) loss += batch;
  if (!std::isfinite(loss) || !std::isfinite(numbers.squared_norm)) FailNotFinite(step, numbers);
  loss_sum_ += loss;
  weight_sum_ += step.weight;
  position_.loss = step.weight > 0 ? loss / step.weight : 0;
  meter_.Add(step.tokens, step.flops);
  position_.step = step.step;
  position_.tokens += step.tokens;
  position_.flops += step.flops;
  position_.seconds = seconds_before_ + meter_.seconds();
  if (position_.total == 0) position_.total = numbers.wishes.total;
  stop_ |= numbers.wishes.stop;
  save_ |= numbers.wishes.save;
  if (first_step_ < 0) {
    first_step_ = step.step;
    first_seconds_ = meter_.seconds();
  }
  const bool line = step.step % options_.log.every == 0 || step.step == position_.total;
  if (line && ranks_.rank() == 0) Log(step, std::sqrt(numbers.squared_norm));
}

void SftLoop::Drain() {
  while (!pending_.empty()) FinishOldest();
}

void SftLoop::Log(const Pending& step, double norm) {
  const Meter::Rates rates = meter_.Take();
  const double loss = weight_sum_ > 0 ? loss_sum_ / weight_sum_ : 0;
  loss_sum_ = weight_sum_ = 0;
  nlohmann::ordered_json line = {{"loss", loss},
                                 {"norm", norm},
                                 {"lr", step.lr},
                                 {"epoch", step.places.front().epoch},
                                 {"tokens", position_.tokens},
                                 {"seconds", position_.seconds},
                                 {"tokens_per_second", rates.tokens_per_second}};
  if (rates.mfu > 0) line["mfu"] = rates.mfu;
  log_->Add(step.step, "train", line);
  run_.on_progress({.step = step.step,
                    .total = position_.total,
                    .loss = loss,
                    .tokens_per_second = rates.tokens_per_second,
                    .mfu = rates.mfu});
}

void SftLoop::FailNotFinite(const Pending& step, const StepNumbers& numbers) {
  feed_.Wait();
  std::vector<std::string> batches;
  for (size_t i = 0; i < step.places.size(); ++i) {
    // Where all losses are numbers the gradients were not, of whichever batch.
    const bool all_finite = std::all_of(numbers.losses.begin(), numbers.losses.end(),
                                        [](float loss) { return std::isfinite(loss); });
    if (!all_finite && std::isfinite(numbers.losses[i])) continue;
    const Place at = step.places[i];
    parts_.packer->BeginEpoch(at.epoch);
    std::vector<std::string> ids;
    for (const int64_t example : parts_.packer->examples(at.batch)) {
      if (ids.size() < kNamedExamples) ids.push_back(fmt::format("{}", example));
    }
    batches.push_back(fmt::format("batch {} of epoch {}, which begins with examples {}", at.batch, at.epoch,
                                  fmt::join(ids, ", ")));
  }
  throw UserError(
      fmt::format("the loss of step {} is no number any more (loss {}, norm of gradients {}, learning rate "
                  "{:.3g}): {}. Nothing of "
                  "it was kept: {}. A lower train.lr, a longer train.warmup or train.clip may help",
                  step.step, fmt::join(numbers.losses, ", "), std::sqrt(numbers.squared_norm), step.lr,
                  fmt::join(batches, "; "),
                  checkpoint_.empty() ? "there is no checkpoint yet"
                                      : fmt::format("the last checkpoint is {}", checkpoint_.string())));
}

void SftLoop::Evaluate() {
  if (evaluated_ == position_.step) return;
  evaluated_ = position_.step;
  meter_.Pause();
  nlohmann::ordered_json line;
  if (options_.eval.batches > 0) {
    summary_.held_out_loss = trainer_.Loss(parts_.held_out);
    line["held_out_loss"] = summary_.held_out_loss;
  }
  if (options_.eval.programs > 0) {
    if (saved_ != position_.step) Save();
    if (ranks_.rank() == 0) Examine(&line);
    ranks_.FollowFirst();
  }
  if (log_ && !line.empty()) {
    log_->Add(position_.step, "test", line);
    run_.on_remark(fmt::format("step {}: {}", position_.step, line.dump()));
  }
  meter_.Resume();
}

// What cannot be measured is no reason to end what can still be learned.
void SftLoop::Examine(nlohmann::ordered_json* line) {
  summary_.pass_at_1 = NAN;
  try {
    const ExamScore score = run_.exam(checkpoint_, options_.eval.programs);
    if (score.programs == 0) return;
    summary_.pass_at_1 = static_cast<double>(score.passed) / static_cast<double>(score.programs);
    (*line)["pass_at_1"] = summary_.pass_at_1;
    (*line)["programs"] = score.programs;
    (*line)["outcomes"] = score.outcomes;
  } catch (const UserError& error) {
    (*line)["pass_at_1_error"] = error.what();
  }
}

void SftLoop::Save() {
  meter_.Pause();
  TRITOGEN_CHECK(pending_.empty());
  if (saved_ != position_.step) {
    const std::optional<HostState> state = trainer_.Gather();
    if (state) {
      checkpoint_ = parts_.checkpoints->Save(position_, *state, trainer_.weights(), parts_.model_files);
    }
    ranks_.FollowFirst();
  }
  saved_ = position_.step;
  saved_at_ = std::chrono::steady_clock::now();
  save_ = false;
  meter_.Resume();
}

}  // namespace tritogen::train
