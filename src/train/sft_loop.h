// The loop of a run over what was made ready: steps, their numbers a step later, tests, checkpoints.
#pragma once

#include <cmath>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/batch_feed.h"
#include "train/checkpoint.h"
#include "train/meter.h"
#include "train/run_log.h"
#include "train/sft.h"
#include "train/trainer.h"

namespace tritogen::train {

struct LoopParts {
  const SftOptions* options = nullptr;
  const SftRun* run = nullptr;
  Ranks* ranks = nullptr;
  Trainer* trainer = nullptr;
  Packer* packer = nullptr;
  std::vector<DeviceBatch> held_out;   // this rank's
  Checkpoints* checkpoints = nullptr;  // rank 0's; null on others
  std::filesystem::path model_files;
  double peak_flops = 0;  // of all ranks' devices; 0: not known
};

class SftLoop {
 public:
  // From `position` on.
  SftLoop(const LoopParts& parts, RunPosition position);

  // Trains to the end or until the run is stopped; writes a checkpoint then. The summary lacks the model.
  SftSummary Run();

 private:
  // A step that was put on the device.
  struct Pending {
    LateNumbers numbers;
    int64_t step;  // from 1
    double lr, weight;
    int64_t tokens;
    double flops;
    std::vector<Place> places;
  };

  bool Done() const { return position_.total > 0 && launched_ >= position_.total; }
  bool StopWanted() const;
  bool SaveDue() const;
  StepWishes Wishes();
  void Launch();
  void FinishOldest();
  void Drain();
  void Log(const Pending& step, double norm);
  [[noreturn]] void FailNotFinite(const Pending& step, const StepNumbers& numbers);
  void Evaluate();
  void Examine(nlohmann::ordered_json* line);
  void Save();
  int64_t TotalByMinutes() const;

  const SftOptions& options_;
  const SftRun& run_;
  Ranks& ranks_;
  Trainer& trainer_;
  LoopParts parts_;
  RunPosition position_;  // behind the last step whose numbers are known
  BatchFeed feed_;
  std::optional<RunLog> log_;  // rank 0's
  Meter meter_;

  size_t lag_;        // steps on the device while the host reads an older one's numbers
  int64_t launched_;  // steps
  std::deque<Pending> pending_;
  bool stop_ = false, save_ = false;     // what ranks wished
  int64_t saved_ = -1, evaluated_ = -1;  // at these steps
  std::filesystem::path checkpoint_;     // the last one
  std::chrono::steady_clock::time_point saved_at_ = std::chrono::steady_clock::now();
  double seconds_before_;  // of earlier pieces
  int64_t first_step_ = -1;
  double first_seconds_ = 0;              // when this process had done its first step
  double loss_sum_ = 0, weight_sum_ = 0;  // since the last line of the log
  SftSummary summary_;
};

}  // namespace tritogen::train
