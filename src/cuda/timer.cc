#include "cuda/timer.h"

#include <fmt/format.h>

#include <chrono>
#include <deque>
#include <random>

#include "base/error.h"
#include "cuda/l2_flush.h"

namespace tritogen::cuda {
namespace {

constexpr unsigned kRunsPerCheck = 16;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Event {
 public:
  explicit Event(const Driver& driver) : driver_(driver) {
    Check(driver.cuEventCreate(&event_, CU_EVENT_DEFAULT), "make an event");
  }
  ~Event() { driver_.cuEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void Record(CUstream stream) const { Check(driver_.cuEventRecord(event_, stream), "record an event"); }
  CUevent get() const { return event_; }

 private:
  const Driver& driver_;
  CUevent event_ = nullptr;
};

}  // namespace

struct Timer::Impl {
  Impl(const Driver& d, const DeviceInfo& info)
      : driver(d), stream(d), flush(driver, info), clocks(info.pci_bus_id) {}

  std::vector<double> Samples(const std::vector<Timed>& programs, std::span<const size_t> order,
                              const TimingOptions& options);
  void Queue(const Timed& program, const TimingOptions& options, size_t sample);
  double Wait(const Timed& program, const TimingOptions& options, size_t sample) const;

  const Driver& driver;
  const Stream stream;
  std::deque<Event> starts, ends;  // of the samples that are queued
  const L2Flush flush;
  ClockSampler clocks;
  std::minstd_rand random{std::random_device{}()};
};

void Timer::Impl::Queue(const Timed& program, const TimingOptions& options, size_t sample) {
  for (std::deque<Event>* events : {&starts, &ends}) {
    if (events->size() == sample) events->emplace_back(driver);
  }
  if (program.prepare) program.prepare(stream.get());
  if (options.cold_l2) flush.Run(stream.get());
  starts[sample].Record(stream.get());
  program.run(stream.get());
  ends[sample].Record(stream.get());
}

// Microseconds of one run.
double Timer::Impl::Wait(const Timed& program, const TimingOptions& options, size_t sample) const {
  if (!SynchronizeWithin(driver, ends[sample].get(), options.hang_seconds)) {
    throw Hang(fmt::format("{} did not end within {} s", program.name, options.hang_seconds));
  }
  float milliseconds = 0;
  Check(driver.cuEventElapsedTime(&milliseconds, starts[sample].get(), ends[sample].get()), "read the time");
  return 1e3 * milliseconds;
}

std::vector<double> Timer::Impl::Samples(const std::vector<Timed>& programs, std::span<const size_t> order,
                                         const TimingOptions& options) {
  std::vector<double> samples;
  size_t queued = 0;
  auto wait = [&] {
    const size_t first = samples.size();
    for (size_t k = 0; k < queued; ++k) samples.push_back(Wait(programs[order[first + k]], options, k));
    queued = 0;
  };
  if (options.cold_l2) flush.ResetPersisting();
  for (const size_t i : order) {
    Queue(programs[i], options, queued++);
    const bool check = programs[i].check && random() % kRunsPerCheck == 0;
    if (check || options.queue_seconds <= 0) wait();
    if (check) programs[i].check();
  }
  wait();
  return samples;
}

Timer::Timer(const Driver& driver, const DeviceInfo& device)
    : impl_(std::make_unique<Impl>(driver, device)) {}

Timer::~Timer() = default;

CUstream Timer::stream() const {
  return impl_->stream.get();
}

TimingReport Timer::TimeInterleaved(const std::vector<Timed>& programs, const TimingOptions& options) {
  const double start = Now();
  Interleaved measured = MeasureInterleaved(
      programs.size(), options,
      [&](std::span<const size_t> order) { return impl_->Samples(programs, order, options); }, Now,
      [&] { impl_->clocks.Start(); });
  TimingReport report;
  report.clocks = impl_->clocks.Stop();
  report.timings = std::move(measured.timings);
  report.reached_target = measured.reached_target;
  report.wall_seconds = Now() - start;
  for (size_t i = 0; i < programs.size(); ++i) report.timings[i].name = programs[i].name;
  return report;
}

}  // namespace tritogen::cuda
