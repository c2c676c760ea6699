#include "base/thread_team.h"

#include <sched.h>

#include <chrono>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/rounding.h"

namespace tritogen {
namespace {

constexpr uint64_t kOneLoop = uint64_t{1} << 32;
constexpr auto kSpinning = std::chrono::microseconds(50);  // then a helper sleeps

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

// Until `done`, or for kSpinning; with more threads than cores, others must get their turn.
template <typename F>
bool Spin(const F& done) {
  constexpr int kChecks = 100;
  const auto end = std::chrono::steady_clock::now() + kSpinning;
  do {
    for (int i = 0; i < kChecks; ++i) {
      if (done()) return true;
      Pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

}  // namespace

int MachineThreads() {
  static const int threads = [] {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  }();
  return threads;
}

ThreadTeam::ThreadTeam(int threads) {
  if (threads <= 0) threads = MachineThreads();
  try {
    for (int thread = 1; thread < threads; ++thread) helpers_.emplace_back([this, thread] { Help(thread); });
  } catch (const std::system_error&) {  // no more threads to be had: go on with those that came
  }
}

ThreadTeam::~ThreadTeam() {
  stop_ = true;
  parts_left_ += kOneLoop;
  parts_left_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void ThreadTeam::Help(int thread) {
  while (true) {
    while (TakePart(thread)) {
    }
    const uint64_t seen = parts_left_;
    const auto changed = [&] { return parts_left_.load(std::memory_order_relaxed) != seen; };
    if (stop_) return;
    if (seen % kOneLoop == 0 && !Spin(changed)) parts_left_.wait(seen);
  }
}

// False when there was none.
bool ThreadTeam::TakePart(int thread) {
  uint64_t left = parts_left_.load(std::memory_order_relaxed);
  do {
    if (left % kOneLoop == 0) return false;
  } while (!parts_left_.compare_exchange_weak(left, left - 1, std::memory_order_acquire));
  const int64_t begin = (parts_ - static_cast<int64_t>(left % kOneLoop)) * grain_;
  try {
    if (!failed_) (*work_)(thread, begin, std::min(count_, begin + grain_));
  } catch (...) {
    failed_ = true;
    const std::lock_guard lock(error_mutex_);
    if (!error_) error_ = std::current_exception();
  }
  undone_.fetch_sub(1, std::memory_order_release);
  return true;
}

void ThreadTeam::For(int64_t count, int64_t grain, const Work& work) {
  TRITOGEN_CHECK(grain > 0);
  if (count <= 0) return;
  if (count <= grain || helpers_.empty()) return work(0, 0, count);
  work_ = &work;
  count_ = count;
  grain_ = grain;
  parts_ = CeilDiv(count, grain);
  TRITOGEN_CHECK(static_cast<uint64_t>(parts_) < kOneLoop);
  undone_ = parts_;
  failed_ = false;
  parts_left_.store((parts_left_ / kOneLoop + 1) * kOneLoop + static_cast<uint64_t>(parts_),
                    std::memory_order_release);
  parts_left_.notify_all();
  while (TakePart(0)) {
  }
  while (!Spin([&] { return undone_.load(std::memory_order_acquire) == 0; })) std::this_thread::yield();
  if (failed_) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace tritogen
