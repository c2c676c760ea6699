// Supervised fine-tuning: from options to a model, in one go or in pieces. Free of torch.
#pragma once

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ranks/rank_place.h"
#include "train/options.h"

namespace tritogen::train {

// What became of held-out programs that a model was asked for: pass@1.
struct ExamScore {
  int64_t programs = 0, passed = 0;
  std::map<std::string, int64_t> outcomes;  // verdict → answers
};

struct SftProgress {
  int64_t step = 0, total = 0;  // total 0: not known yet
  double loss = 0, tokens_per_second = 0;
  double mfu = 0;  // 0: not known
};

// What a process is told beside the options.
struct SftRun {
  std::filesystem::path out;
  std::string device = "cpu";  // or "cuda": it is open (device/gpu.h)
  RankPlace place;
  std::vector<std::string> versions;
  double stop_after = 0;  // seconds from `start` on; 0: as long as it takes
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::function<bool()> interrupted = [] { return false; };
  // Asks and judges the model in this folder; on rank 0 only, between steps. Needed where eval.programs > 0.
  std::function<ExamScore(const std::filesystem::path& model, int64_t programs)> exam;
  // On rank 0 only.
  std::function<void(const SftProgress&)> on_progress = [](const SftProgress&) {};
  std::function<void(int64_t done, int64_t total)> on_reading = [](int64_t, int64_t) {};  // bytes of files
  std::function<void(const std::string&)> on_remark = [](const std::string&) {};
};

enum class SftEnd { kFinished, kStopped, kInterrupted };

struct SftSummary {
  SftEnd end = SftEnd::kFinished;
  int64_t step = 0, total = 0;
  int64_t tokens = 0;  // without padding
  double seconds = 0;  // of training, in all pieces; tests and checkpoints apart
  double tokens_per_second = 0, mfu = 0;
  double loss = 0;           // of the last step
  double held_out_loss = 0;  // at the end; NaN where nothing is held out
  double pass_at_1 = 0;      // likewise
  std::string model;         // folder of the weights: OUT/final, or the last checkpoint
};
nlohmann::ordered_json ToJson(const SftSummary& summary);

// Goes on from the latest checkpoint in run.out, or begins. Throws UserError: options that do not fit the
// data or the model, a checkpoint of another run or a damaged one, a full disk, a loss that is no number (the
// last checkpoint is of a step before); RankLost.
SftSummary RunSft(const SftOptions& options, const SftRun& run);

}  // namespace tritogen::train
