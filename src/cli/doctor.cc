// doctor: the part of ./tritogen doctor that needs the program: processor, GPU, driver, jail.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "base/thread_team.h"
#include "cli/command.h"
#include "cli/parse.h"
#include "cli/session.h"
#include "cli/version.h"
#include "cuda/device.h"
#include "cuda/driver.h"
#include "record/jail_probe.h"

namespace tritogen {
namespace {

std::string Gpu() {
  std::string why;
  const cuda::Driver* driver = cuda::Driver::Load(&why);
  if (driver == nullptr) return fmt::format("none: {}; candidates run on the CPU tile machine", why);
  try {
    const cuda::DeviceInfo gpu = cuda::ReadDevice(*driver);
    int devices = 0;
    cuda::Check(driver->cuDeviceGetCount(&devices), "count the GPUs");
    return fmt::format("{} x {}, compute capability {}.{}, {} SMs, {:.0f} GiB, driver for CUDA {}.{}",
                       devices, gpu.name, gpu.capability / 10, gpu.capability % 10, gpu.sm_count,
                       gpu.memory_bytes / 1073741824.0, gpu.driver_version / 1000,
                       gpu.driver_version % 1000 / 10);
  } catch (const cuda::Error& error) {
    return fmt::format("not usable: {}; candidates run on the CPU tile machine", error.what());
  }
}

std::string Processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

}  // namespace

int RunDoctor(int argc, char** argv, const Environment& environment) {
  CLI::App app("What was found on this machine, what is missing, how to get it.", "./tritogen doctor");
  if (auto code = Parse(&app, argc, argv)) return *code;
  fmt::print("tritogen         {}\n", kVersion);
  fmt::print("processor        {}, {} cores\n", Processor(), MachineThreads());
  fmt::print("GPU              {}\n", Gpu());
  fmt::print("jail\n");
  const std::vector<JailFeature> features = ProbeJail();
  size_t width = 0;
  for (const JailFeature& feature : features) width = std::max(width, feature.name.size());
  for (const JailFeature& feature : features) {
    fmt::print("  {:<{}}  {}{}\n", feature.name, width, feature.available ? "yes" : "NO",
               feature.detail.empty() ? "" : fmt::format(": {}", feature.detail));
  }
  return 0;
}

}  // namespace tritogen
