// What a step costs the host, with a device that takes no time: planning, and handing out what was sampled.
// Counters: ns and instructions (where the kernel counts them) for each row of a step.
//   ninja -C build/release engine_host_bench && build/release/bench/engine_host_bench
#include <benchmark/benchmark.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "base/fd.h"
#include "engine/engine.h"
#include "engine/make_group.h"
#include "engine/scheduler.h"

namespace tritogen {
namespace {

constexpr int32_t kPrompt = 512, kGenerated = 512;

RunnerLimits Limits(int32_t slots) {
  return {.block_tokens = 16,
          .blocks = slots * (kPrompt + kGenerated) / 16 + 8,
          .slots = slots,
          .prefill_tokens = 8192,
          .decode_rows = slots,
          .context = 2048,
          .vocabulary = 50000};
}

std::vector<TokenId> Prompt(int32_t number) {
  std::vector<TokenId> prompt;
  for (int32_t i = 0; i < kPrompt; ++i) prompt.push_back((number * 7919 + i * 31) % 50000);
  return prompt;
}

int64_t CpuNanoseconds(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

// Instructions of this thread in user space; 0 where they are not counted.
class Instructions {
 public:
  Instructions() {
    perf_event_attr attr = {};
    attr.type = PERF_TYPE_HARDWARE;
    attr.size = sizeof(attr);
    attr.config = PERF_COUNT_HW_INSTRUCTIONS;
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    counter_.Reset(static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0)));
  }
  int64_t Now() const {
    int64_t count = 0;
    return counter_.valid() && read(counter_.get(), &count, sizeof(count)) == sizeof(count) ? count : 0;
  }

 private:
  UniqueFd counter_;
};

// The scheduler and the sequences' output without threads: steady decoding.
void BM_Step(benchmark::State& state) {
  const auto slots = static_cast<int32_t>(state.range(0));
  const RunnerLimits limits = Limits(slots);
  const Instructions instructions;
  int64_t rows = 0, counted = 0, nanoseconds = 0;
  for (auto _ : state) {
    state.PauseTiming();
    Scheduler scheduler(limits, {});
    PlannedStep planned;
    for (int32_t i = 0; i < slots; ++i)
      scheduler.Add(MakeGroup(
          static_cast<RequestId>(i), {.prompt = Prompt(i), .options = {.max_tokens = kGenerated}},
          [](Chunk) {}, limits, nullptr));
    auto step = [&] {
      if (!scheduler.Plan(&planned)) return false;
      for (Sequence* sequence : planned.sampled) {
        const TokenId token = sequence->drawn % 50000;
        scheduler.Drawn(sequence, token);
        if (sequence->output.Add({.chosen = {token, -1}})) scheduler.End(sequence);
      }
      scheduler.StepDone();
      return true;
    };
    while (step() && planned.sampled.size() < static_cast<size_t>(slots)) {
    }
    const int64_t before = instructions.Now(), then = CpuNanoseconds(CLOCK_THREAD_CPUTIME_ID);
    state.ResumeTiming();
    for (int i = 0; i < kGenerated / 2; ++i) {
      step();
      rows += static_cast<int64_t>(planned.sampled.size());
    }
    nanoseconds += CpuNanoseconds(CLOCK_THREAD_CPUTIME_ID) - then;
    counted += instructions.Now() - before;
  }
  state.counters["ns/row"] = static_cast<double>(nanoseconds) / static_cast<double>(rows);
  state.counters["instructions/row"] = static_cast<double>(counted) / static_cast<double>(rows);
}
BENCHMARK(BM_Step)->Arg(16)->Arg(512)->Unit(benchmark::kMillisecond);

class InstantRunner : public Runner {
 public:
  explicit InstantRunner(int32_t slots) : limits_(Limits(slots)) {}
  const RunnerLimits& limits() const override { return limits_; }
  void Submit(const Step& step) override {
    size_t& samples = samples_[submitted_++ % kStepsInFlight];
    samples = 0;
    for (const DecodeRow& row : step.decode) samples += row.draw >= 0;
  }
  std::vector<Sample> Wait() override {
    return std::vector<Sample>(samples_[waited_++ % kStepsInFlight], Sample{.chosen = {17, -1}});
  }
  void WeightsChanged() override {}

 private:
  RunnerLimits limits_;
  size_t samples_[kStepsInFlight] = {};
  int64_t submitted_ = 0, waited_ = 0;
};

// All of the engine, prefill and the ends of sequences included: CPU time of all threads.
void BM_Engine(benchmark::State& state) {
  const auto slots = static_cast<int32_t>(state.range(0));
  const bool stream = state.range(1) != 0;
  Engine engine(std::make_unique<InstantRunner>(slots), nullptr, {.prefix_cache = false});
  const int64_t then = CpuNanoseconds(CLOCK_PROCESS_CPUTIME_ID);
  for (auto _ : state) {
    std::atomic<int32_t> left = slots;
    for (int32_t i = 0; i < slots; ++i)
      engine.Submit({.prompt = Prompt(i), .options = {.max_tokens = kGenerated}, .stream = stream},
                    [&](Chunk chunk) {
                      if (chunk.finish && --left == 0) left.notify_one();
                    });
    for (int32_t now = left; now != 0; now = left) left.wait(now);
  }
  state.counters["ns/row"] = static_cast<double>(CpuNanoseconds(CLOCK_PROCESS_CPUTIME_ID) - then) /
                             static_cast<double>(engine.Stats().generated_tokens);
}
BENCHMARK(BM_Engine)
    ->ArgNames({"sequences", "stream"})
    ->ArgsProduct({{16, 512}, {0, 1}})
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tritogen

BENCHMARK_MAIN();
