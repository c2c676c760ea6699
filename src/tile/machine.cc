#include "tile/machine.h"

#include <algorithm>
#include <bit>
#include <system_error>
#include <thread>

#include "base/thread_team.h"
#include "tile/arguments.h"
#include "tile/worker.h"

namespace tritogen::tile {
namespace {

constexpr size_t kMaxPrinted = 64 << 10;
constexpr size_t kMaxFaults = 8;
constexpr uint32_t kStampBlock = 16;  // so many at once, so that threads seldom touch one counter
// The largest GPU so far, of 148 multiprocessors, each with room for so many programs and so many warps.
constexpr uint64_t kMultiprocessors = 148, kPrograms = 32, kWarps = 64;
constexpr auto kThreadPays = std::chrono::microseconds(150);  // a launch this long is worth more threads

uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

uint64_t CountPrograms(const std::array<int64_t, 3>& grid) {
  uint64_t count = 1;
  for (int64_t size : grid) {
    if (size < 0) throw TtirError(0, "a grid cannot be negative");
    if (size == 0) return 0;
    if (static_cast<uint64_t>(size) >= kMaxSegments ||
        (count *= static_cast<uint64_t>(size)) >= kMaxSegments) {
      throw TtirError(0, "a grid of more than a thousand million programs is too large for the CPU", true);
    }
  }
  return count;
}

}  // namespace

LaunchState::LaunchState(const Executable& kernel, std::span<const Argument> arguments,
                         std::span<Buffer> buffers, const LaunchOptions& options)
    : kernel_(kernel), options_(options), programs_(CountPrograms(options.grid)) {
  if (buffers.size() > kMaxBuffers) throw TtirError(0, "too many buffers in one launch");
  image_ = BindArguments(kernel, arguments, buffers.size(), &buffer_of_parameter_);
  turn_bits_ = (static_cast<int>(std::bit_width(std::max<uint64_t>(programs_, 2) - 1)) + 1) / 2 * 2;
  const int threads = options.threads > 0 ? options.threads : MachineThreads();
  const size_t workers =
      std::clamp<uint64_t>(static_cast<uint64_t>(std::max(threads, 1)), 1, std::max<uint64_t>(programs_, 1));
  idle_at_ = std::vector<std::atomic<uint64_t>>(workers);
  for (auto& idle : idle_at_) idle = kGone;
  const std::vector<BufferUse> uses = FindUses(buffers.size());
  if (NeedsTracker(uses)) tracker_ = std::make_unique<SyncTracker>();
  asks_for_barriers_ = tracker_ != nullptr && options.warps > 1;
  const LaneChecks lanes = options.warps == 1    ? LaneChecks::kNone
                           : options.blame_lanes ? LaneChecks::kBlame
                                                 : LaneChecks::kGiveOld;
  memory_ =
      std::make_unique<LaunchMemory>(buffers, uses, options.check_memory, lanes, workers > 1, tracker_.get());
  const double seconds = std::clamp(options.deadline_seconds, 0.0, 1e6);
  deadline_ = std::chrono::steady_clock::now() +
              std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

std::vector<BufferUse> LaunchState::FindUses(size_t buffers) const {
  std::vector<BufferUse> uses(buffers);
  for (const auto& instruction : kernel_.code) {
    if (instruction->memory == MemoryUse::kNone) continue;
    auto add = [&](BufferUse& use) {
      const bool waited_for = instruction->sets_flag && kernel_.spins;
      use.read |= instruction->memory == MemoryUse::kRead;
      use.write |= instruction->memory == MemoryUse::kWrite && !waited_for;
      use.atomic |= instruction->memory == MemoryUse::kAtomic || waited_for;
      use.granule = std::min(use.granule, instruction->access_bytes);
      ++use.accesses;
    };
    if (instruction->any_buffer) {
      for (BufferUse& use : uses) add(use);
      continue;
    }
    for (int parameter : instruction->pointer_parameters) {
      if (buffer_of_parameter_[parameter] >= 0) add(uses[buffer_of_parameter_[parameter]]);
    }
  }
  return uses;
}

// Order matters only where one program may see what another one did.
bool LaunchState::NeedsTracker(const std::vector<BufferUse>& uses) const {
  if (!options_.check_memory || !kernel_.synchronises) return false;
  if (kernel_.spins) return true;
  return std::any_of(uses.begin(), uses.end(), [](const BufferUse& use) {
    return (use.read && (use.write || use.atomic)) || (use.write && use.atomic);
  });
}

std::array<int64_t, 3> LaunchState::ProgramId(uint64_t program) const {
  const auto [x, y, z] = options_.grid;
  const int64_t id = static_cast<int64_t>(program);
  return {id % x, id / x % y, id / x / y};
}

// A Feistel network over the next even power of two; numbers outside the grid walk on until they are in it.
uint64_t LaunchState::ProgramOfTurn(uint64_t turn) const {
  if (options_.like_a_gpu) return turn;
  const int half = turn_bits_ / 2;
  const uint64_t mask = (uint64_t{1} << half) - 1;
  do {
    uint64_t left = turn >> half, right = turn & mask;
    for (uint64_t round = 1; round <= 4; ++round) {
      const uint64_t next =
          left ^ (Mix(right + (round << 32) + options_.order_seed * 0x9E3779B97F4A7C15u) & mask);
      left = right;
      right = next;
    }
    turn = left << half | right;
  } while (turn >= programs_);
  return turn;
}

// Is it clear before the first program that threads pay?
bool LaunchState::IsHeavy() const {
  return programs_ * (kernel_.arena_bytes + 64 * kernel_.code.size()) > (size_t{4} << 20);
}

bool LaunchState::IsFull() const {
  if (!options_.like_a_gpu || next_turn_ >= programs_) return false;
  const uint64_t room = kWarps / static_cast<uint64_t>(std::max(options_.warps, 1));
  return resident_ >= kMultiprocessors * std::min(kPrograms, room);
}

LaunchReport LaunchState::Run() {
  std::vector<std::thread> helpers;
  auto call_helpers = [&] {
    try {
      for (size_t i = 1; i < idle_at_.size(); ++i) {
        idle_at_[i] = kNotIdle;
        helpers.emplace_back([this, i] { Worker(*this, i).Run([] {}); });
      }
    } catch (const std::system_error&) {  // no more threads to be had: go on with those that came
      for (size_t i = helpers.size() + 1; i < idle_at_.size(); ++i) idle_at_[i] = kGone;
    }
  };
  const auto start = std::chrono::steady_clock::now();
  bool alone = idle_at_.size() > 1;
  if (alone && IsHeavy()) {
    call_helpers();
    alone = false;
  }
  Worker(*this, 0).Run([&] {
    if (!alone || next_turn_ >= programs_ || std::chrono::steady_clock::now() - start < kThreadPays) return;
    call_helpers();
    alone = false;
  });
  for (std::thread& helper : helpers) helper.join();
  if (error_) std::rethrow_exception(error_);
  return std::move(report_);
}

void LaunchState::MeetLanes(Context& c) {
  c.segments.met = c.segments.tiles;
  if (++c.stamp % kStampBlock != 0) return;
  c.stamp = stamps_.fetch_add(1, std::memory_order_relaxed) * kStampBlock;
}

void LaunchState::AddFault(Fault fault) {
  std::lock_guard lock(report_mutex_);
  if (report_.faults.size() < kMaxFaults) report_.faults.push_back(std::move(fault));
  stop_ = true;
}

void LaunchState::Print(std::string_view text) {
  std::lock_guard lock(report_mutex_);
  report_.printed += text.substr(0, kMaxPrinted - std::min(kMaxPrinted, report_.printed.size()));
}

bool LaunchState::PrintsMore() {
  std::lock_guard lock(report_mutex_);
  return report_.printed.size() < kMaxPrinted;
}

void LaunchState::CheckDeadline(const Context& c, const Instruction& at) {
  if (stop_.load(std::memory_order_relaxed)) throw Stopped();
  if (std::chrono::steady_clock::now() < deadline_) return;
  Fail(c, at, FaultKind::kTimeout, "timeout",
       fmt::format("the launch ran longer than {} s", options_.deadline_seconds));
}

LaunchReport Launch(const Executable& kernel, std::span<const Argument> arguments, std::span<Buffer> buffers,
                    const LaunchOptions& options) {
  return LaunchState(kernel, arguments, buffers, options).Run();
}

}  // namespace tritogen::tile
