// sft: trains a language model on sets of verified answers.
#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/atomic_file.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/numbers.h"
#include "cli/parse.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/version.h"
#include "cuda/driver.h"
#include "eval/pass_at_one.h"
#include "runner/open_gpu.h"
#include "train/sft.h"

namespace tritogen {
namespace {

struct Options {
  std::string config, out, device = "auto";
  std::optional<double> minutes, lr;
  std::optional<int64_t> steps, epochs;
  double stop_after = 0, rank_timeout = 300;
  bool json = false;
};

void AddOptions(CLI::App* app, Options* o) {
  app->add_option("--config", o->config, "TOML file, such as configs/sft_embedded.toml; docs/training.md")
      ->required();
  app->add_option("--out", o->out, "folder of the run (default: out of the configuration)");
  app->add_option("--device", o->device, "where it trains")
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}))
      ->capture_default_str();
  app->add_option("--steps", o->steps, "instead of the configuration's length")->check(kPositive);
  app->add_option("--epochs", o->epochs, "likewise")->check(kPositive);
  app->add_option("--minutes", o->minutes, "likewise: of training, in all pieces of the run")
      ->check(kPositive);
  app->add_option("--lr", o->lr, "instead of train.lr")->check(kPositive);
  app->add_option(
         "--stop-after", o->stop_after,
         "seconds from the command's start: then it writes a checkpoint and ends with exit code 75;\n"
         "the same command goes on")
      ->check(kSeconds);
  app->add_option("--rank-timeout", o->rank_timeout, "seconds after which a rank that does not come is lost")
      ->check(kSeconds)
      ->capture_default_str();
  app->add_flag("--json", o->json, "print the summary as JSON");
}

train::SftOptions ReadOptions(const Options& o) {
  train::SftOptions options = train::ReadSftOptions(ReadFile(o.config, size_t{1} << 20), o.config);
  if (!o.out.empty()) options.out = o.out;
  if (options.out.empty())
    throw UserError("where to? Give out = \"FOLDER\" in the configuration, or --out FOLDER");
  if (o.lr) options.train.schedule.lr = *o.lr;
  if (o.steps.has_value() + o.epochs.has_value() + o.minutes.has_value() > 1)
    throw UserError("how long? Give one of --steps, --epochs and --minutes");
  if (o.steps || o.epochs || o.minutes) {
    options.train.steps = o.steps.value_or(0);
    options.train.epochs = o.epochs.value_or(0);
    options.train.minutes = o.minutes.value_or(0);
  }
  train::CheckOptions(options);
  return options;
}

// "cuda" with the GPU opened, or "cpu".
std::string OpenDevice(const std::string& device, int ordinal, const Environment& environment) {
  std::string why;
  if (device == "cpu" || (device == "auto" && cuda::Driver::Load(&why) == nullptr)) return "cpu";
  OpenGpu({.python = environment.python,
           .worker_folder = environment.root + "/worker",
           .cache_folder = CacheFolder() / "kernels"},
          ordinal);
  return "cuda";
}

void Print(const train::SftSummary& summary, bool json) {
  if (json) {
    fmt::print("{}\n", ToJson(summary).dump());
    return;
  }
  if (summary.model.empty()) {
    fmt::print("interrupted before the first step\n");
    return;
  }
  fmt::print("{} of {} steps, {} tokens in {:.0f} s ({:.0f}/s", summary.step, summary.total, summary.tokens,
             summary.seconds, summary.tokens_per_second);
  if (summary.mfu > 0) fmt::print(", MFU {:.1f}%", 100 * summary.mfu);
  fmt::print("), loss {:.4f}", summary.loss);
  if (summary.held_out_loss == summary.held_out_loss) fmt::print(", held out {:.4f}", summary.held_out_loss);
  if (summary.pass_at_1 == summary.pass_at_1) fmt::print(", pass@1 {:.3f}", summary.pass_at_1);
  fmt::print("\n{}\n", summary.end == train::SftEnd::kFinished
                           ? "finished: " + summary.model
                           : "not finished: the same command goes on from " + summary.model);
}

// The bar, made when the number of steps is known.
class SftBar {
 public:
  void Show(const train::SftProgress& p) {
    if (p.total > 0 && !bar_) bar_.emplace("steps", p.total, StandardError(), p.step);
    std::string remark = fmt::format("loss {:.4f}, {:.0f} tokens/s", p.loss, p.tokens_per_second);
    if (p.mfu > 0) remark += fmt::format(", MFU {:.1f}%", 100 * p.mfu);
    if (bar_)
      bar_->Set(p.step, remark);
    else
      fmt::print(stderr, "step {}: {}\n", p.step, remark);
  }
  void Read(int64_t done, int64_t total) {
    constexpr int64_t kMib = 1 << 20;
    if (!reading_) reading_.emplace("reading MiB", total / kMib + 1);
    reading_->Set(done / kMib);
    if (done == total) reading_.reset();
  }
  void Remark(const std::string& text) {
    if (bar_) bar_->Clear();
    if (reading_) reading_->Clear();
    fmt::print(stderr, "tritogen sft: {}\n", text);
  }

 private:
  std::optional<Progress> reading_, bar_;
};

int Train(const Options& o, const Environment& environment) {
  const auto start = std::chrono::steady_clock::now();
  const train::SftOptions options = ReadOptions(o);
  train::SftRun run{.out = options.out,
                    .place = FindRankPlace([](const char* name) { return std::getenv(name); }),
                    .versions = Versions(),
                    .stop_after = o.stop_after,
                    .start = start,
                    .interrupted = Interrupted};
  run.place.timeout_seconds = o.rank_timeout;
  CatchInterrupt();
  signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error like a full disk
  run.device = OpenDevice(o.device, run.place.local, environment);
  SftBar bar;
  if (run.place.rank == 0) {
    run.on_progress = [&](const train::SftProgress& progress) { bar.Show(progress); };
    run.on_reading = [&](int64_t done, int64_t total) { bar.Read(done, total); };
    run.on_remark = [&](const std::string& text) { bar.Remark(text); };
  }
  run.exam = [&](const std::filesystem::path& model, int64_t programs) {
    const eval::PassAtOneResult result =
        eval::PassAtOne(model, programs, {.config = options.eval.config, .device = run.device});
    return train::ExamScore{result.programs, result.passed, result.outcomes};
  };
  const train::SftSummary summary = train::RunSft(options, run);
  if (run.place.rank == 0) Print(summary, o.json);
  switch (summary.end) {
    case train::SftEnd::kFinished:
      return kDoneExit;
    case train::SftEnd::kStopped:
      return kNotFinishedExit;
    case train::SftEnd::kInterrupted:
      return kInterruptedExit;
  }
  return kFaultExit;
}

}  // namespace

int RunSft(int argc, char** argv, const Environment& environment) {
  CLI::App app(
      "Trains a language model on sets of verified answers: from nothing, or on from any checkpoint that the "
      "engine\n"
      "loads. Killed, stopped or interrupted, the same command goes on from its last checkpoint, "
      "bit-exactly. Several\n"
      "GPUs: torchrun --nproc-per-node N --no-python ./tritogen sft …, or srun. Exit code 0 finished, 75 "
      "stopped by\n"
      "--stop-after, 130 interrupted (both leave a checkpoint), 2 wrong use, 3 another rank is gone.",
      "./tritogen sft");
  Options options;
  AddOptions(&app, &options);
  if (auto code = Parse(&app, argc, argv)) return *code;
  try {
    return Train(options, environment);
  } catch (const RankLost& error) {
    // Not through the ends of libraries, which may wait for the others.
    fmt::print(stderr, "tritogen sft: {}; the last checkpoint is as it was\n", error.what());
    std::fflush(nullptr);
    std::_Exit(kFaultExit);
  }
}

}  // namespace tritogen
