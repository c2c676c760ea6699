// What the clock of src/cuda/timer.h rests on, measured on a real GPU; prints one JSON object.
//   clock_bench
//   flush    time of the two halves of the L2 flush, and of the host's call that resets persisting lines
//   residue  what a program finds in the L2 after each way to flush, whatever ran before: `ratio` is its time
//            over that after three flushes, 1 where nothing was left
//   hang     a program that does not end, after one that does: what the watchdog says, and after how
//   long
//   sampler  what the clocks' sampling costs who waits for it
//   brief    one of many measurements, as in a batch: how far apart the medians of the same program are after
//            so many samples, and what that costs
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/process.h"
#include "cuda/graph.h"
#include "cuda/l2_flush.h"
#include "cuda/timer.h"

namespace tritogen::cuda {
namespace {

using nlohmann::json;

// Loops over `count` × 16 bytes: reads them, reads them as Triton's eviction_policy="evict_last" does, or
// writes them.
constexpr char kLoop[] = R"ptx(
.visible .entry {name}(.param .u64 data, .param .u64 count)
{{
  .reg .pred %outside, %never;
  .reg .b32 %block, %threads, %thread, %blocks, %a, %b, %c, %d, %sum;
  .reg .b64 %address, %end, %index, %stride, %base, %policy;
  ld.param.u64 %address, [data];
  ld.param.u64 %end, [count];
  cvta.to.global.u64 %base, %address;
  createpolicy.fractional.L2::evict_last.b64 %policy, 1.0;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  mov.u32 %blocks, %nctaid.x;
  mov.u32 %a, 1;
  mov.u32 %b, 1;
  mov.u32 %c, 1;
  mov.u32 %d, 1;
  mov.u32 %sum, 0;
  cvt.u64.u32 %index, %thread;
  mad.wide.u32 %index, %block, %threads, %index;
  mul.wide.u32 %stride, %blocks, %threads;
again:
  setp.ge.u64 %outside, %index, %end;
  @%outside bra done;
  shl.b64 %address, %index, 4;
  add.s64 %address, %base, %address;
  {access}
  add.s64 %index, %index, %stride;
  bra again;
done:
  setp.eq.u32 %never, %sum, 305419896;
  @%never st.global.u32 [%base], %sum;
  ret;
}}
)ptx";

constexpr char kSpin[] = R"ptx(
.visible .entry spins(.param .u64 data, .param .u64 count)
{
  .reg .pred %again;
  .reg .b32 %value;
  .reg .b64 %address;
  ld.param.u64 %address, [data];
  cvta.to.global.u64 %address, %address;
again:
  ld.volatile.global.u32 %value, [%address];
  setp.ne.u32 %again, %value, 305419896;
  @%again bra again;
  ret;
}
)ptx";
constexpr int kThreads = 512, kBlocksPerSm = 4, kSamples = 21;

std::string Text() {
  std::string text = ".version 7.4\n.target sm_80\n.address_size 64\n";
  for (const auto& [name, access] : std::map<std::string, std::string>{
           {"reads", "ld.volatile.global.v4.u32 {%a, %b, %c, %d}, [%address];"},
           {"keeps",
            "ld.global.L2::cache_hint.v4.u32 {%a, %b, %c, %d}, [%address], %policy;\n"
            "  xor.b32 %a, %a, %b;\n  xor.b32 %c, %c, %d;\n  xor.b32 %a, %a, %c;\n  xor.b32 %sum, %sum, %a;"},
           {"writes", "st.global.v4.u32 [%address], {%a, %b, %c, %d};"}}) {
    text += fmt::format(fmt::runtime(kLoop), fmt::arg("name", name), fmt::arg("access", access));
  }
  return text + kSpin;
}

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Bench {
 public:
  Bench(const Driver& driver, const DeviceInfo& device)
      : driver_(driver), device_(device), stream_(driver), flush_(driver, device) {
    Check(driver.cuModuleLoadDataEx(&module_, Text().c_str(), 0, nullptr, nullptr), "load the kernels");
    Check(driver.cuEventCreate(&start_, CU_EVENT_DEFAULT), "make an event");
    Check(driver.cuEventCreate(&end_, CU_EVENT_DEFAULT), "make an event");
    for (int i = 0; i < 2; ++i) memory_.emplace_back(driver, size_t{1} << 30);
  }

  json Run() {
    return {{"device", device_.name},
            {"l2_bytes", device_.l2_bytes},
            {"max_persisting_l2_bytes", device_.max_persisting_l2_bytes},
            {"flush", Flush()},
            {"residue", Residue()},
            {"sampler", Sampler()},
            {"brief", Brief()}};
  }

  // Says what the clock says and ends the process: taking the clock apart would wait for the GPU.
  [[noreturn]] void Hang() {
    Timer timer(driver_, device_);
    TimingOptions options;
    options.hang_seconds = 1;
    try {
      timer.TimeInterleaved({{"writes", [&](CUstream stream) { Launch("writes", 0, 1 << 20, stream); }},
                             {"spins", [&](CUstream stream) { Launch("spins", 0, 16, stream); }}},
                            options);
    } catch (const cuda::Hang& hang) {
      std::cout << hang.what() << std::flush;
    }
    _exit(0);
  }

 private:
  void Launch(const char* name, int which, int64_t bytes, CUstream stream) {
    CUfunction function = nullptr;
    Check(driver_.cuModuleGetFunction(&function, module_, name), "find a kernel");
    CUdeviceptr data = memory_[which].address();
    uint64_t count = static_cast<uint64_t>(bytes) / 16;
    void* arguments[] = {&data, &count};
    CUlaunchConfig config{};
    config.gridDimX = static_cast<unsigned>(kBlocksPerSm * device_.sm_count);
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = kThreads;
    config.hStream = stream;
    Check(driver_.cuLaunchKernelEx(&config, function, arguments, nullptr), "launch");
  }

  void Wait() { Check(driver_.cuStreamSynchronize(stream_.get()), "wait"); }

  // Microseconds of `timed` on the GPU, median; `before` belongs to each sample and is not timed.
  double Time(const std::function<void()>& before, const std::function<void()>& timed) {
    std::vector<double> samples;
    for (int i = 0; i < kSamples; ++i) {
      before();
      Check(driver_.cuEventRecord(start_, stream_.get()), "record");
      timed();
      Check(driver_.cuEventRecord(end_, stream_.get()), "record");
      Wait();
      float milliseconds = 0;
      Check(driver_.cuEventElapsedTime(&milliseconds, start_, end_), "read the time");
      samples.push_back(1e3 * milliseconds);
    }
    return Median(samples);
  }

  json Flush() {
    const CUstream stream = stream_.get();
    auto dirty = [&] { Launch("writes", 0, 2 * device_.l2_bytes, stream); };
    std::vector<double> host;
    for (int i = 0; i < kSamples; ++i) {
      const double start = Now();
      flush_.ResetPersisting();
      host.push_back(1e6 * (Now() - start));
    }
    // While the GPU is busy: does the call wait for it?
    Launch("reads", 0, int64_t{1} << 30, stream);
    const double start = Now();
    flush_.ResetPersisting();
    const double busy = 1e6 * (Now() - start);
    Wait();
    return {{"write_us", Time(dirty, [&] { flush_.Write(stream); })},
            {"discard_us", Time([&] { flush_.Write(stream); }, [&] { flush_.Discard(stream); })},
            {"both_us", Time(dirty, [&] { flush_.Run(stream); })},
            {"nothing_us", Time([] {}, [] {})},
            {"reset_host_us", Median(host)},
            {"reset_host_us_while_busy", busy},
            {"busy_us", Time([] {}, [&] { Launch("reads", 0, int64_t{1} << 30, stream); })}};
  }

  json Residue() {
    const CUstream stream = stream_.get();
    const std::vector<std::pair<const char*, std::function<void()>>> ways = {
        {"three flushes",
         [&] {
           for (int i = 0; i < 2; ++i) flush_.Run(stream);
           Wait();
           flush_.ResetPersisting();
           flush_.Run(stream);
         }},
        {"none", [] {}},
        {"write", [&] { flush_.Write(stream); }},
        {"flush", [&] { flush_.Run(stream); }},
        {"reset, then flush", [&] {
           Wait();
           flush_.ResetPersisting();
           flush_.Run(stream);
         }}};
    json rows = json::array();
    for (const int64_t mib : {4, 16, 32, 48}) {
      for (const char* before : {"reads", "keeps", "writes"}) {
        for (const char* then : {"reads the same", "writes the same", "reads other"}) {
          const int which = std::string(then) == "reads other";
          const char* kernel = then[0] == 'r' ? "reads" : "writes";
          json row = {{"mib", mib}, {"before", before}, {"then", then}, {"us", json::object()}};
          double cold = 0;
          for (const auto& [way, flush] : ways) {
            const double us = Time(
                [&, &flush = flush] {
                  Launch(before, 0, mib << 20, stream);
                  flush();
                },
                [&] { Launch(kernel, which, mib << 20, stream); });
            if (cold == 0) cold = us;
            row["us"][way] = us;
            row["ratio"][way] = us / cold;
          }
          rows.push_back(std::move(row));
        }
      }
    }
    return rows;
  }

  json Sampler() {
    ClockSampler clocks(device_.pci_bus_id);
    std::vector<double> start, stop;
    std::string problem;  // then nothing was sampled
    for (int i = 0; i < kSamples; ++i) {
      const double begin = Now();
      clocks.Start();
      const double started = Now();
      problem = clocks.Stop().problem;
      start.push_back(1e6 * (started - begin));
      stop.push_back(1e6 * (Now() - started));
    }
    return {{"start_us", Median(start)}, {"stop_us", Median(stop)}, {"problem", problem}};
  }

  json Brief() {
    constexpr int kRepetitions = 60;
    Timer timer(driver_, device_);
    json rows = json::array();
    for (const int64_t mib : {8, 32, 64, 128}) {
      std::string why;
      const auto graph = Graph::Capture(
          driver_, timer.stream(), [&] { Launch("reads", 0, mib << 20, timer.stream()); }, &why);
      if (!graph) throw std::runtime_error(why);
      const Timed timed{"reads", [&](CUstream stream) { graph->Launch(stream); }};
      for (const size_t samples : {6, 10, 14, 20}) {
        TimingOptions options;
        options.min_samples = options.max_samples = samples;
        options.warmup_window = 2;
        options.max_warmup_samples = 6;
        std::vector<double> apart, wall, medians, warmups;
        for (int i = 0; i < kRepetitions; ++i) {
          const TimingReport report = timer.TimeInterleaved({timed, timed}, options);
          apart.push_back(std::abs(report.timings[0].summary.median / report.timings[1].summary.median - 1));
          medians.push_back(report.timings[0].summary.median);
          wall.push_back(1e6 * report.wall_seconds);
          warmups.push_back(static_cast<double>(report.timings[0].warmup_samples));
        }
        std::sort(apart.begin(), apart.end());
        rows.push_back({{"mib", mib},
                        {"samples", samples},
                        {"median_us", Median(medians)},
                        {"apart", Median(apart)},
                        {"apart_p90", apart[kRepetitions * 9 / 10]},
                        {"apart_most", apart.back()},
                        {"warmup_samples", Median(warmups)},
                        {"wall_us", Median(wall)}});
      }
    }
    return rows;
  }

  const Driver& driver_;
  const DeviceInfo device_;
  const Stream stream_;
  const L2Flush flush_;
  CUmodule module_ = nullptr;
  CUevent start_ = nullptr, end_ = nullptr;
  std::deque<DeviceMemory> memory_;
};

int Main(const std::string& self, bool hang) {
  json report;
  if (!hang) {  // in a process of its own
    const double start = Now();
    const ProcessResult ended = RunProcess({self, "--hang"});
    report["hang"] = {{"said", ended.output}, {"exit", ended.exit_code}, {"seconds", Now() - start}};
  }
  std::string why;
  const Driver* driver = Driver::Load(&why);
  if (driver == nullptr) throw std::runtime_error(why);
  const PrimaryContext context(*driver, 0);
  Bench bench(*driver, ReadDevice(*driver));
  if (hang) bench.Hang();
  report.update(bench.Run());
  std::cout << report.dump(1) << std::endl;
  return 0;
}

}  // namespace
}  // namespace tritogen::cuda

int main(int argc, char** argv) {
  try {
    return tritogen::cuda::Main(argv[0], argc > 1 && std::string(argv[1]) == "--hang");
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
