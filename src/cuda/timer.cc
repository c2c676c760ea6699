#include "cuda/timer.h"

#include <fmt/format.h>

#include <chrono>

#include "base/error.h"

namespace tritogen::cuda {
namespace {

// Reads `count` × 16 bytes and keeps nothing: what was in the L2 is written back and gives way to clean
// lines, so that no timed program pays for writing back those of another. The driver translates it.
constexpr char kReadKernel[] = R"ptx(
.version 7.0
.target sm_80
.address_size 64
.visible .entry read_all(.param .u64 data, .param .u64 count)
{
  .reg .pred %outside, %never;
  .reg .b32 %block, %threads, %thread, %blocks, %a, %b, %c, %d;
  .reg .b64 %address, %end, %index, %stride, %base;
  ld.param.u64 %address, [data];
  ld.param.u64 %end, [count];
  cvta.to.global.u64 %base, %address;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  mov.u32 %blocks, %nctaid.x;
  cvt.u64.u32 %index, %thread;
  mad.wide.u32 %index, %block, %threads, %index;
  mul.wide.u32 %stride, %blocks, %threads;
again:
  setp.ge.u64 %outside, %index, %end;
  @%outside bra done;
  shl.b64 %address, %index, 4;
  add.s64 %address, %base, %address;
  ld.volatile.global.v4.u32 {%a, %b, %c, %d}, [%address];
  add.s64 %index, %index, %stride;
  bra again;
done:
  ret;
}
)ptx";
constexpr int kReadThreads = 512, kReadBlocksPerSm = 4;

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

// Fills the L2 with clean lines that nobody wants.
class L2Flush {
 public:
  L2Flush(const Driver& driver, const DeviceInfo& device)
      : driver_(driver), device_(device), buffer_(driver, 2 * static_cast<size_t>(device.l2_bytes)) {
    Check(driver.cuModuleLoadDataEx(&module_, kReadKernel, 0, nullptr, nullptr), "load the L2 flush");
    Check(driver.cuModuleGetFunction(&read_, module_, "read_all"), "find the L2 flush");
    if (device.max_persisting_l2_bytes > 0) {
      const CUresult result = driver.cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0);
      // Where the limit is not ours to set (a MIG slice), it is zero.
      if (result != CUDA_ERROR_UNSUPPORTED_LIMIT) Check(result, "forbid persisting L2 lines");
    }
  }
  ~L2Flush() { driver_.cuModuleUnload(module_); }
  L2Flush(const L2Flush&) = delete;
  L2Flush& operator=(const L2Flush&) = delete;

  void Run(CUstream stream) const {
    if (device_.max_persisting_l2_bytes > 0) {
      Check(driver_.cuCtxResetPersistingL2Cache(), "reset persisting L2 lines");
    }
    Check(driver_.cuMemsetD8Async(buffer_.address(), 0, buffer_.bytes(), stream), "write the L2 flush");
    CUdeviceptr data = buffer_.address();
    uint64_t count = buffer_.bytes() / 16;
    void* arguments[] = {&data, &count};
    CUlaunchConfig config{};
    config.gridDimX = static_cast<unsigned>(kReadBlocksPerSm * device_.sm_count);
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = kReadThreads;
    config.hStream = stream;
    Check(driver_.cuLaunchKernelEx(&config, read_, arguments, nullptr), "read the L2 flush");
  }

 private:
  const Driver& driver_;
  const DeviceInfo& device_;
  const DeviceMemory buffer_;
  CUmodule module_ = nullptr;
  CUfunction read_ = nullptr;
};

}  // namespace

struct Timer::Impl {
  Impl(const Driver& d, const DeviceInfo& info)
      : driver(d),
        device(info),
        stream(d),
        start(d),
        end(d),
        flush(driver, device),
        clocks(info.pci_bus_id) {}

  double Sample(const Timed& program, const TimingOptions& options) const;

  const Driver& driver;
  const DeviceInfo device;
  const Stream stream;
  const Event start, end;
  const L2Flush flush;
  ClockSampler clocks;
};

// Microseconds of one run.
double Timer::Impl::Sample(const Timed& program, const TimingOptions& options) const {
  if (program.prepare) program.prepare(stream.get());
  if (options.cold_l2) flush.Run(stream.get());
  start.Record(stream.get());
  program.run(stream.get());
  end.Record(stream.get());
  if (!SynchronizeWithin(driver, stream.get(), options.hang_seconds)) {
    throw Hang(fmt::format("{} did not end within {} s", program.name, options.hang_seconds));
  }
  float milliseconds = 0;
  Check(driver.cuEventElapsedTime(&milliseconds, start.get(), end.get()), "read the time");
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
