// Threads that share loops of some microseconds: they wait for the next loop spinning, for a while.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/rounding.h"

namespace tritogen {

// Threads that this machine runs at once for this process, at least 1. Asked once.
int MachineThreads();

// One thread at a time may call For.
class ThreadTeam {
 public:
  explicit ThreadTeam(int threads);  // at least 1, the caller's own included; 0: one per core
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return static_cast<int>(helpers_.size()) + 1; }

  // Calls work(thread, begin, end) for parts of [0, count) of `grain` numbers each (the last may be shorter);
  // who comes first takes the next. Returns when all is done; throws the first exception of `work`, whose
  // other parts may have been left out.
  using Work = std::function<void(int thread, int64_t begin, int64_t end)>;
  void For(int64_t count, int64_t grain, const Work& work);

  // A grain of which each thread gets some, as a multiple of `unit`; at least `least`, for what is not worth
  // waking anybody.
  int64_t Grain(int64_t count, int64_t unit, int64_t least = 1) const {
    constexpr int64_t kPartsOfThread = 4;
    const int64_t parts = kPartsOfThread * size();
    return RoundUp(std::max(least, CeilDiv(count, parts)), unit);
  }

 private:
  void Help(int thread);
  bool TakePart(int thread);

  // Who takes a part counts the low half down; the high half is the loop's number, so that nobody takes a
  // part of another loop than he saw. What belongs to a loop stays until all its parts are done.
  std::atomic<uint64_t> parts_left_ = 0;
  std::atomic<int64_t> undone_ = 0;  // parts, taken or not
  const Work* work_ = nullptr;
  int64_t count_ = 0, grain_ = 1, parts_ = 0;
  std::atomic<bool> failed_ = false, stop_ = false;
  std::mutex error_mutex_;
  std::exception_ptr error_;
  std::vector<std::thread> helpers_;
};

}  // namespace tritogen
