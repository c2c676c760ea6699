// doctor: the part of ./tritogen doctor that needs the program: processor, GPU, driver, jail.
#include <dlfcn.h>
#include <fmt/format.h>

#include <fstream>

#include "cli/command.h"
#include "cli/session.h"
#include "cli/version.h"
#include "record/jail_probe.h"

namespace tritogen {
namespace {

std::string Gpu() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return "none: no NVIDIA driver (libcuda.so.1) here; candidates run on the CPU tile machine";
  auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit"));
  auto version = reinterpret_cast<int (*)(int*)>(dlsym(library, "cuDriverGetVersion"));
  auto count = reinterpret_cast<int (*)(int*)>(dlsym(library, "cuDeviceGetCount"));
  auto name = reinterpret_cast<int (*)(char*, int, int)>(dlsym(library, "cuDeviceGetName"));
  int devices = 0, driver = 0;
  if (!init || !version || !count || !name || init(0) != 0 || count(&devices) != 0 || devices == 0) {
    return "none: the NVIDIA driver is there but shows no device; candidates run on the CPU tile machine";
  }
  version(&driver);
  char text[128] = "";
  name(text, sizeof(text), 0);
  return fmt::format("{} x {}, driver for CUDA {}.{} (this version does not use it yet)", devices, text,
                     driver / 1000, driver % 1000 / 10);
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
  fmt::print("processor        {}, {} cores\n", Processor(), Cores());
  fmt::print("GPU              {}\n", Gpu());
  fmt::print("jail\n");
  for (const JailFeature& feature : ProbeJail()) {
    fmt::print("  {:<14} {}{}\n", feature.name, feature.available ? "yes" : "NO",
               feature.detail.empty() ? "" : fmt::format(": {}", feature.detail));
  }
  return 0;
}

}  // namespace tritogen
