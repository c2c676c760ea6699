// What a jailed child costs: `record_bench [FILE CLASS]` prints start-up, latency and throughput of a program
// that does nothing, and of recording FILE when one is given. The interpreter comes from TRITOGEN_PYTHON.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/atomic_file.h"
#include "base/error.h"
#include "record/recorder.h"

namespace {

using namespace tritogen;
using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// CPU time of the zygote, the one child process here, and of all children it has waited for.
double WorkerCpuSeconds() {
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    int zygote = 0;
    if (!(std::ifstream(thread.path() / "children") >> zygote)) continue;
    std::ifstream stat(fmt::format("/proc/{}/stat", zygote));
    std::string field;
    double ticks = 0;
    for (int i = 1; stat >> field; ++i) {
      if (i >= 14 && i <= 17) ticks += std::stod(field);  // utime, stime, cutime, cstime
    }
    return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  return 0;
}

// Records `count` times on `threads` threads and prints the median latency and the rate.
void Measure(Recorder& recorder, const RecordRequest& request, int threads, int count) {
  std::vector<double> latencies(count);
  std::atomic<int> next = 0;
  auto work = [&] {
    for (int i = next++; i < count; i = next++) {
      const auto start = Clock::now();
      recorder.Record(request);
      latencies[i] = SecondsSince(start);
    }
  };
  const double cpu_before = WorkerCpuSeconds();
  const auto start = Clock::now();
  std::vector<std::thread> pool;
  for (int i = 0; i < threads; ++i) pool.emplace_back(work);
  for (std::thread& thread : pool) thread.join();
  const double seconds = SecondsSince(start);
  std::sort(latencies.begin(), latencies.end());
  fmt::print("  {} at once: median {:.1f} ms, fastest {:.1f} ms, {:.0f} a second, {:.1f} ms of CPU each\n",
             threads, 1e3 * latencies[count / 2], 1e3 * latencies[0], count / seconds,
             1e3 * (WorkerCpuSeconds() - cpu_before) / count);
}

void Run(const std::string& module, const RecordRequest& request, const std::string& title) {
  const char* python = std::getenv("TRITOGEN_PYTHON");
  RecorderOptions options;
  options.python = python != nullptr ? python : TRITOGEN_SOURCE_DIR "/.venv/bin/python";
  options.worker_folder = TRITOGEN_SOURCE_DIR "/worker";
  options.recorder_module = module;
  const auto start = Clock::now();
  Recorder recorder(options);
  fmt::print("{}\n  zygote warm after {:.2f} s\n", title, SecondsSince(start));
  auto first = recorder.Record(request);
  if (auto* failure = std::get_if<RecordFailure>(&first)) fmt::print("  answer: {}\n", failure->message);
  for (int threads : {1, 2, 4}) Measure(recorder, request, threads, 100);
}

}  // namespace

int main(int argc, char** argv) try {
  RecordRequest nothing;
  nothing.source = "result = 'nothing to do'";
  Run("tests.run_source", nothing, "a program that does nothing");
  if (argc < 3) return 0;
  RecordRequest file;
  file.role = Role::kReference;
  file.source = ReadFile(argv[1]);
  file.entry = argv[2];
  Run("record", file, argv[1]);
} catch (const tritogen::UserError& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
