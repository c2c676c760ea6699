#include "base/available_memory.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

namespace tritogen {
namespace {

std::optional<int64_t> OfMachine() {
  std::ifstream meminfo("/proc/meminfo");
  std::string key, unit;
  int64_t kib = 0;
  while (meminfo >> key >> kib) {
    if (key == "MemAvailable:") return kib * 1024;
    std::getline(meminfo, unit);
  }
  return std::nullopt;
}

// Of the second version's groups, as a container sees its own. "max" is no number.
std::optional<int64_t> OfControlGroup() {
  std::ifstream limit_file("/sys/fs/cgroup/memory.max"), used_file("/sys/fs/cgroup/memory.current");
  int64_t limit = 0, used = 0;
  if (!(limit_file >> limit) || !(used_file >> used)) return std::nullopt;
  return std::max<int64_t>(0, limit - used);
}

}  // namespace

int64_t AvailableMemory() {
  const int64_t machine = OfMachine().value_or(int64_t{4} << 30);
  return std::min(machine, OfControlGroup().value_or(machine));
}

}  // namespace tritogen
