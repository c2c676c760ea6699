// One launch: the state that its programs share, and the workers that run them.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tile/fault.h"
#include "tile/memory.h"
#include "tile/program.h"
#include "tile/sync.h"
#include "tile/tile.h"

namespace tritogen::tile {

class LaunchState {
 public:
  // Throws TtirError when the arguments do not fit the kernel.
  LaunchState(const Executable& kernel, std::span<const Argument> arguments, std::span<Buffer> buffers,
              const LaunchOptions& options);

  // Runs the whole grid, once.
  LaunchReport Run();

  // --- for instructions ---
  const Executable& kernel() const { return kernel_; }
  const LaunchOptions& options() const { return options_; }
  LaunchMemory& memory() { return *memory_; }
  SyncTracker* tracker() { return tracker_.get(); }  // null: nothing orders the programs of this launch
  std::array<int64_t, 3> ProgramId(uint64_t program) const;
  // A value in memory changed: programs that wait may go on.
  void NoteChange() { changes_.fetch_add(1, std::memory_order_release); }
  // The threads of a program meet: what its lanes did before is ordered before what they do next.
  void MeetLanes(Context& c);
  // What the checker calls what the instruction does.
  uint32_t SegmentOf(Context& c, const Instruction& at) {
    if (!asks_for_barriers_ || IsOneThread(at.first_lane)) return c.segments.first;
    if (c.segments.tiles == c.segments.met) c.segments.tiles = tracker_->NewSegment(c.program, Threads::kAll);
    return c.segments.tiles;
  }
  void Print(std::string_view text);
  bool PrintsMore();
  // Fails with kTimeout past the deadline; leaves the program quietly when the launch is over.
  void CheckDeadline(const Context& c, const Instruction& at);

 private:
  friend class Worker;
  struct Stopped {};

  std::vector<BufferUse> FindUses(size_t buffers) const;
  bool NeedsTracker(const std::vector<BufferUse>& uses) const;
  bool IsHeavy() const;
  // The next program starts, as on a GPU, when one of those under way has ended.
  bool IsFull() const;
  void AddFault(Fault fault);
  // The program that runs as number `turn`: a permutation of the grid drawn from the seed.
  uint64_t ProgramOfTurn(uint64_t turn) const;

  const Executable& kernel_;
  const LaunchOptions options_;
  uint64_t programs_ = 0;
  int turn_bits_ = 0;
  std::vector<std::byte> image_;          // of every arena, with the arguments in it
  std::vector<int> buffer_of_parameter_;  // -1: not a pointer
  std::unique_ptr<SyncTracker> tracker_;
  bool asks_for_barriers_ = false;  // a release is one warp's of several
  std::unique_ptr<LaunchMemory> memory_;
  std::chrono::steady_clock::time_point deadline_;

  std::atomic<uint64_t> next_turn_{0};
  std::atomic<uint64_t> resident_{0};  // programs of a kernel that spins, from start to end
  std::atomic<uint64_t> changes_{0};
  std::atomic<uint32_t> stamps_{1};  // blocks of them that programs have taken
  std::atomic<bool> stop_{false};
  std::vector<std::atomic<uint64_t>>
      idle_at_;  // per worker: the count of changes at which all its programs wait
  std::mutex report_mutex_;
  LaunchReport report_;
  std::exception_ptr error_;  // not a fault: out of memory
};

}  // namespace tritogen::tile
