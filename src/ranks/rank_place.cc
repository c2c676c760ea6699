#include "ranks/rank_place.h"

#include <charconv>

#include "base/error.h"

namespace tritogen {
namespace {

using Variable = std::function<const char*(const char*)>;

std::string Text(const Variable& variable, const char* name) {
  const char* value = variable(name);
  return value == nullptr ? "" : value;
}

int64_t Number(const Variable& variable, const char* name, int64_t low, int64_t high) {
  const std::string text = Text(variable, name);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < low ||
      value > high) {
    throw UserError(
        fmt::format("environment variable {} must be a number from {} to {}, and is '{}': start the "
                    "ranks with torchrun or srun",
                    name, low, high, text));
  }
  return value;
}

constexpr int64_t kMostRanks = 1 << 16;
constexpr int64_t kPort = 29500;

}  // namespace

std::string FirstNode(const std::string& list) {
  const size_t end = list.find_first_of(",[");
  if (end == std::string::npos || list[end] == ',') return list.substr(0, end);
  const size_t past = list.find_first_of(",-]", end + 1);
  if (past == std::string::npos)
    throw UserError(fmt::format("Slurm's list of nodes '{}' does not close", list));
  return list.substr(0, end) + list.substr(end + 1, past - end - 1);
}

RankPlace FindRankPlace(const Variable& variable) {
  RankPlace place;
  const bool torchrun = variable("WORLD_SIZE") != nullptr;
  if (!torchrun && variable("SLURM_PROCID") == nullptr) return place;
  const auto [rank, size, local] = torchrun ? std::tuple("RANK", "WORLD_SIZE", "LOCAL_RANK")
                                            : std::tuple("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID");
  place.size = static_cast<int>(Number(variable, size, 1, kMostRanks));
  if (place.size == 1) return place;
  place.rank = static_cast<int>(Number(variable, rank, 0, place.size - 1));
  place.local = static_cast<int>(Number(variable, local, 0, place.size - 1));
  place.address = Text(variable, "MASTER_ADDR");
  if (place.address.empty() && !torchrun) place.address = FirstNode(Text(variable, "SLURM_JOB_NODELIST"));
  if (place.address.empty())
    throw UserError("environment variable MASTER_ADDR is missing: start the ranks with torchrun or srun");
  int64_t port = kPort;
  if (variable("MASTER_PORT") != nullptr)
    port = Number(variable, "MASTER_PORT", 1, 65535);
  else if (variable("SLURM_JOB_ID") != nullptr)  // jobs that share a machine
    port += Number(variable, "SLURM_JOB_ID", 0, INT64_MAX) % 10000;
  place.port = static_cast<uint16_t>(port);
  place.store_is_there = Text(variable, "TORCHELASTIC_USE_AGENT_STORE") == "True";
  place.run = "tritogen/" + Text(variable, "TORCHELASTIC_RESTART_COUNT");
  return place;
}

}  // namespace tritogen
