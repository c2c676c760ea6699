#include "cuda/timer.h"

#include <fmt/format.h>

#include <chrono>
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
      : driver(d), stream(d), start(d), end(d), flush(driver, info), clocks(info.pci_bus_id) {}

  double Sample(const Timed& program, const TimingOptions& options);

  const Driver& driver;
  const Stream stream;
  const Event start, end;
  const L2Flush flush;
  ClockSampler clocks;
  std::minstd_rand random{std::random_device{}()};
};

// Microseconds. The host has put everything on the stream before the flush ends, and keeps still while the
// program runs.
double Timer::Impl::Sample(const Timed& program, const TimingOptions& options) {
  if (options.cold_l2) flush.ResetPersisting();
  if (program.prepare) program.prepare(stream.get());
  if (options.cold_l2) flush.Run(stream.get());
  start.Record(stream.get());
  program.run(stream.get());
  end.Record(stream.get());
  if (!SynchronizeWithin(driver, end.get(), options.hang_seconds)) {
    throw Hang(fmt::format("{} did not end within {} s", program.name, options.hang_seconds));
  }
  float milliseconds = 0;
  Check(driver.cuEventElapsedTime(&milliseconds, start.get(), end.get()), "read the time");
  if (program.check && random() % kRunsPerCheck == 0) program.check();
  return 1e3 * milliseconds;
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
      programs.size(), options, [&](size_t i) { return impl_->Sample(programs[i], options); }, Now,
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
