// Proves src/cuda on a real GPU and prints one JSON object with what was found and measured.
//   cuda_check CASES PYTHON WORKER CACHE [--weak]
// CASES: what bench/cuda_cases.py wrote; PYTHON: an interpreter with torch, triton and msgpack; WORKER: the
// folder worker/; CACHE: a folder for compiled kernels. Exit status 0 when everything is as it should be.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <iostream>
#include <thread>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/frame.h"
#include "base/process.h"
#include "cuda/graph.h"
#include "cuda/roofline.h"
#include "cuda/timer.h"
#include "cuda_check_cases.h"

namespace tritogen::cuda {
namespace {

using nlohmann::json;

constexpr int64_t kBlock = 1024;
constexpr int kExitHang = 3, kExitFault = 4;

// z = x + y + constant, a block a program; other constants are other kernels.
std::string AddText(int constant) {
  return fmt::format(R"(
module {{
  tt.func public @add(%x: !tt.ptr<f32> {{tt.divisibility = 16 : i32}}, %y: !tt.ptr<f32> {{tt.divisibility = 16 : i32}},
                      %z: !tt.ptr<f32> {{tt.divisibility = 16 : i32}}, %n: i32 {{tt.divisibility = 16 : i32}}) {{
    %size = arith.constant 1024 : i32
    %c = arith.constant dense<{}.0> : tensor<1024xf32>
    %p = tt.get_program_id x : i32
    %start = arith.muli %p, %size : i32
    %range = tt.make_range {{end = 1024 : i32, start = 0 : i32}} : tensor<1024xi32>
    %b = tt.splat %start : i32 -> tensor<1024xi32>
    %o = arith.addi %b, %range : tensor<1024xi32>
    %limit = tt.splat %n : i32 -> tensor<1024xi32>
    %m = arith.cmpi slt, %o, %limit : tensor<1024xi32>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %xp = tt.addptr %xs, %o : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
    %xv = tt.load %xp, %m : tensor<1024x!tt.ptr<f32>>
    %ys = tt.splat %y : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %yp = tt.addptr %ys, %o : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
    %yv = tt.load %yp, %m : tensor<1024x!tt.ptr<f32>>
    %s = arith.addf %xv, %yv : tensor<1024xf32>
    %t = arith.addf %s, %c : tensor<1024xf32>
    %zs = tt.splat %z : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %zp = tt.addptr %zs, %o : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
    tt.store %zp, %t, %m : tensor<1024x!tt.ptr<f32>>
    tt.return
  }}
}}
)",
                     constant);
}

constexpr char kWildStore[] = R"(
module { tt.func public @wild(%p: !tt.ptr<f32>, %far: i64) {
  %v = arith.constant 1.0 : f32
  %q = tt.addptr %p, %far : !tt.ptr<f32>, i64
  tt.store %q, %v : !tt.ptr<f32>
  tt.return } }
)";
constexpr char kAssert[] = R"(
module { tt.func public @asserts(%p: !tt.ptr<f32>, %far: i64) {
  %no = arith.constant dense<false> : tensor<32xi1>
  tt.assert %no, "never" : tensor<32xi1>
  tt.return } }
)";
constexpr char kSpin[] = R"(
module { tt.func public @spins(%p: !tt.ptr<f32>, %far: i64) {
  %zero = arith.constant 0.0 : f32
  scf.while : () -> () {
    %v = tt.load %p {isVolatile = true} : !tt.ptr<f32>
    %again = arith.cmpf oeq, %v, %zero : f32
    scf.condition(%again)
  } do {
    scf.yield
  }
  tt.return } }
)";

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Three arrays of n floats and the add kernel on them.
class Add {
 public:
  Add(const Gpu& gpu, int64_t n)
      : gpu_(gpu), n_(n), kernel_(gpu.driver, gpu.device, MustCompile(gpu, AddText(0))) {
    for (int i = 0; i < 3; ++i) memory_.emplace_back(gpu.driver, 4 * n);
    for (int i = 0; i < 2; ++i)
      Check(gpu.driver.cuMemsetD32Async(memory_[i].address(), 0x3f800000, n, gpu.stream), "fill");
    variant_.grid = {(n + kBlock - 1) / kBlock, 1, 1};
    variant_.args = {PointerArg{0}, PointerArg{1}, PointerArg{2}, n};
    Check(gpu.driver.cuStreamSynchronize(gpu.stream), "fill");
  }

  void Run(CUstream stream, int64_t programs = 0) const {
    LaunchVariant variant = variant_;
    if (programs > 0) variant.grid[0] = programs;
    LaunchKernel(kernel_, variant, [this](TensorId id) { return memory_[id].address(); }, stream, {});
  }
  void Clear() const {
    Check(gpu_.driver.cuMemsetD32Async(memory_[2].address(), 0, n_, gpu_.stream), "clear");
  }
  float Last() const {
    float value = 0;
    Check(gpu_.driver.cuMemcpyDtoHAsync(&value, memory_[2].address() + 4 * (n_ - 1), 4, gpu_.stream), "copy");
    Check(gpu_.driver.cuStreamSynchronize(gpu_.stream), "copy");
    return value;
  }
  int64_t programs() const { return variant_.grid[0]; }
  double bytes() const { return 12.0 * n_; }

 private:
  const Gpu& gpu_;
  int64_t n_;
  LoadedKernel kernel_;
  std::deque<DeviceMemory> memory_;
  LaunchVariant variant_;
};

json DeviceJson(const DeviceInfo& d) {
  return {{"ok", true},
          {"name", d.name},
          {"uuid", d.uuid},
          {"pci", d.pci_bus_id},
          {"capability", d.capability},
          {"sm_count", d.sm_count},
          {"l2_bytes", d.l2_bytes},
          {"max_persisting_l2_bytes", d.max_persisting_l2_bytes},
          {"shared_per_block", d.shared_per_block_optin},
          {"memory_bytes", d.memory_bytes},
          {"sm_clock_hz", d.sm_clock_hz},
          {"memory_clock_hz", d.memory_clock_hz},
          {"bus_bits", d.memory_bus_bits},
          {"bandwidth", d.memory_bandwidth},
          {"driver_version", d.driver_version}};
}

json CheckThroughput(const Gpu& gpu) {
  std::vector<Kernel> kernels;
  const int salt = static_cast<int>(getpid() % 10000) * 1000;
  for (int i = 0; i < 256; ++i) kernels.push_back({"add", AddText(salt + i), "", "", {}});
  json result = {{"ok", true}, {"kernels", kernels.size()}};
  for (const char* pass : {"cold", "warm"}) {
    const double start = Now();
    for (const CompileResult& made : gpu.compiler.Compile(kernels, gpu.device.target())) {
      if (const auto* failure = std::get_if<CompileFailure>(&made)) {
        result["ok"] = false;
        result["failure"] = failure->detail;
      }
    }
    result[std::string(pass) + "_kernels_per_second"] = kernels.size() / (Now() - start);
  }
  return result;
}

json CheckGraph(const Gpu& gpu) {
  const Add add(gpu, 1 << 20);
  std::string why;
  auto graph = Graph::Capture(
      gpu.driver, gpu.stream,
      [&] {
        for (int i = 0; i < 3; ++i) add.Run(gpu.stream);
      },
      &why);
  if (!graph) return {{"ok", false}, {"problem", why}};
  add.Clear();
  const float before = add.Last();
  graph->Launch(gpu.stream);
  const float after = add.Last();
  std::string refusal, thrown;
  const bool refused = !Graph::Capture(
      gpu.driver, gpu.stream, [&] { Check(gpu.driver.cuStreamSynchronize(gpu.stream), "wait"); }, &refusal);
  const bool passed_on = !Graph::Capture(
      gpu.driver, gpu.stream, [] { throw std::runtime_error("mine"); }, &thrown);
  add.Clear();
  add.Run(gpu.stream);  // the stream is as good as before
  const float again = add.Last();
  const bool ok = graph->nodes() == 3 && before == 0 && after == 2 && refused && passed_on &&
                  thrown == "mine" && again == 2;
  return {{"ok", ok},       {"nodes", graph->nodes()}, {"before", before},
          {"after", after}, {"refusal", refusal},      {"again", again}};
}

json TimingJson(const Timing& t) {
  return {{"name", t.name},
          {"median_us", t.summary.median},
          {"q1_us", t.summary.lower_quartile},
          {"q3_us", t.summary.upper_quartile},
          {"min_us", t.summary.minimum},
          {"max_us", t.summary.maximum},
          {"standard_error_us", t.summary.standard_error},
          {"samples", t.summary.count},
          {"warmup_samples", t.warmup_samples},
          {"stable", t.stable}};
}

json ReportJson(const TimingReport& report) {
  json timings = json::array();
  for (const Timing& timing : report.timings) timings.push_back(TimingJson(timing));
  const ClockReport& c = report.clocks;
  return {{"timings", timings},
          {"reached_target", report.reached_target},
          {"wall_seconds", report.wall_seconds},
          {"clocks",
           {{"available", c.available},
            {"problem", c.problem},
            {"samples", c.samples},
            {"sm_mhz", {c.sm_mhz_minimum, c.sm_mhz_median, c.sm_mhz_maximum}},
            {"memory_mhz", c.memory_mhz_median},
            {"throttled", ThrottleNames(c.throttle_reasons)},
            {"celsius", c.temperature_celsius},
            {"watts", c.power_watts}}}};
}

// The same kernel twice, one with 5% more work, as a graph, with a warm L2; at several sizes.
json CheckTimer(const Gpu& gpu) {
  Timer timer(gpu.driver, gpu.device);
  json result = {{"ok", true}, {"sizes", json::array()}};
  for (int64_t n : {int64_t{1} << 18, int64_t{1} << 20, int64_t{1} << 24, int64_t{1} << 26}) {
    const Add add(gpu, n);
    std::string why;
    const auto graph = Graph::Capture(
        gpu.driver, timer.stream(), [&] { add.Run(timer.stream()); }, &why);
    const auto run = [&](CUstream stream) { add.Run(stream); };
    // 5% more programs than there is data for would end at once; 5% fewer do 5% less.
    const auto less = [&](CUstream stream) { add.Run(stream, add.programs() * 100 / 105); };
    const TimingReport cold =
        timer.TimeInterleaved({{"a", run},
                               {"a again", run},
                               {"graph", [&](CUstream stream) { graph->Launch(stream); }},
                               {"less by 5%", less}},
                              {});
    TimingOptions warm_options;
    warm_options.cold_l2 = false;
    const TimingReport warm = timer.TimeInterleaved({{"warm", run}}, warm_options);
    const double a = cold.timings[0].summary.median, b = cold.timings[1].summary.median;
    const double floor = 1e6 * RooflineFloor(n, add.bytes(), Dtype::kFloat32, gpu.device);
    const bool ok = (a < 20 || std::abs(a / b - 1) < 0.01) && a > floor;
    result["ok"] = result["ok"].get<bool>() && ok;
    result["sizes"].push_back({{"n", n},
                               {"ok", ok},
                               {"a_over_a", a / b},
                               {"a_over_less", a / cold.timings[3].summary.median},
                               {"bytes_per_second", add.bytes() / a * 1e6},
                               {"floor_us", floor},
                               {"cold", ReportJson(cold)},
                               {"warm", ReportJson(warm)}});
  }
  return result;
}

// --- faults, each in a process of its own ---

// Launches a kernel that misbehaves and ends as the replayer would.
int RunFault(const Gpu& gpu, const std::string& kind) {
  const char* text = kind == "illegal_address" ? kWildStore : kind == "assert" ? kAssert : kSpin;
  const LoadedKernel kernel(gpu.driver, gpu.device, MustCompile(gpu, text));
  const DeviceMemory memory(gpu.driver, 4096);
  Check(gpu.driver.cuMemsetD8Async(memory.address(), 0, memory.bytes(), gpu.stream), "clear");
  LaunchVariant variant;
  variant.args = {PointerArg{0}, int64_t{1} << 40};
  try {
    LaunchKernel(kernel, variant, [&](TensorId) { return memory.address(); }, gpu.stream, {});
    if (!SynchronizeWithin(gpu.driver, gpu.stream, 2)) _exit(kExitHang);
  } catch (const Error& error) {
    const CUresult next = gpu.driver.cuCtxSynchronize();
    std::cout << json{{"error", error.what()}, {"sticky", error.sticky()}, {"next_call", ResultName(next)}}
              << std::endl;
    _exit(error.sticky() ? kExitFault : 1);
  }
  _exit(0);
}

json CheckFaults(std::vector<std::string> command) {
  json result = {{"ok", true}};
  const std::pair<const char*, int> expected[] = {
      {"illegal_address", kExitFault}, {"assert", kExitFault}, {"hang", kExitHang}};
  for (const auto& [kind, status] : expected) {
    std::vector<std::string> argv = command;
    argv.insert(argv.end(), {"--fault", kind});
    const double start = Now();
    const ProcessResult ended = RunProcess(argv);
    const json said = json::parse(ended.output, nullptr, false);
    result[kind] = {{"exit", ended.exit_code},
                    {"said", said.is_discarded() ? json(ended.error) : said},
                    {"seconds", Now() - start}};
    if (ended.exit_code != status) result["ok"] = false;
  }
  return result;
}

// A check that throws is one that failed.
json Guard(const std::function<json()>& check) {
  const double start = Now();
  json result;
  try {
    result = check();
  } catch (const std::exception& error) {
    result = {{"ok", false}, {"problem", error.what()}};
  }
  result["wall_seconds"] = Now() - start;
  return result;
}

int Main(const std::vector<std::string>& args) {
  std::string why;
  const Driver* driver = Driver::Load(&why);
  if (driver == nullptr) {
    std::cout << json{{"ok", false}, {"problem", why}} << "\n";
    return 1;
  }
  const DeviceInfo device = ReadDevice(*driver);
  const PrimaryContext context(*driver, 0);
  const Stream stream(*driver);
  CompilerOptions options;
  options.python = args[2];
  options.worker_folder = args[3];
  options.cache_folder = args[4];
  bool weak = false;
  for (size_t i = 5; i < args.size(); ++i) weak = weak || args[i] == "--weak";
  options.allow_weak_jail = weak;
  KernelCompiler compiler(options);
  const Gpu gpu{*driver, device, compiler, stream.get()};
  if (args.size() >= 7 && args[args.size() - 2] == "--fault") return RunFault(gpu, args.back());

  const json cases = DecodeMessagePack(ReadFile(args[1]));
  json report;
  report["device"] = DeviceJson(device);
  report["throughput"] = Guard([&] { return CheckThroughput(gpu); });
  report["scalars"] = Guard([&] { return CheckScalars(gpu); });
  report["cases"] = Guard([&] { return CheckCases(gpu, cases); });
  report["launch_kinds"] = Guard([&] { return CheckLaunchKinds(gpu, cases); });
  report["graph"] = Guard([&] { return CheckGraph(gpu); });
  report["timer"] = Guard([&] { return CheckTimer(gpu); });
  report["faults"] = Guard([&] { return CheckFaults(args); });
  bool ok = true;
  for (const json& part : report) ok = ok && part["ok"].get<bool>();
  report["ok"] = ok;
  std::cout << report.dump(1) << "\n";
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace tritogen::cuda

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv, argv + argc);
  if (argc < 5) {
    std::cerr << "usage: cuda_check CASES PYTHON WORKER CACHE [--weak]\n";
    return 2;
  }
  try {
    return tritogen::cuda::Main(args);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
