// One thread of a launch. It runs programs one after another; a program that waits for another one in a spin
// loop is set aside and taken up again after memory has changed.
#pragma once

#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>

#include "tile/machine.h"

namespace tritogen::tile {

inline constexpr uint64_t kNotIdle = ~uint64_t{0};
inline constexpr uint64_t kGone = kNotIdle - 1;  // a worker that has left, or never came

class Worker {
 public:
  Worker(LaunchState& launch, size_t index) : launch_(launch), index_(index) {}

  // Until nothing is left to do. `between` is called after each program. Faults go to the launch.
  template <class Between>
  void Run(Between&& between) {
    launch_.idle_at_[index_] = kNotIdle;
    try {
      while (!launch_.stop_ && Step()) between();
    } catch (FaultError& error) {
      launch_.AddFault(std::move(error.fault));
    } catch (LaunchState::Stopped&) {
    } catch (...) {
      std::lock_guard lock(launch_.report_mutex_);
      launch_.error_ = std::current_exception();
      launch_.stop_ = true;
    }
    launch_.idle_at_[index_] = kGone;
  }

 private:
  struct FreeArena {
    void operator()(std::byte* arena) const { std::free(arena); }
  };
  using Arena = std::unique_ptr<std::byte, FreeArena>;
  struct Waiting {
    Context context;
    Arena arena;
    uint64_t changes = kNotIdle;  // of memory, when it was set aside
    uint64_t state = 0;           // hash of it then, when memory had not changed since the time before
    bool stuck = false;           // it came back to the same state in the same memory
  };

  // Starts or resumes one program; false when there is none.
  bool Step();
  std::optional<Waiting> StartNext();
  void Resume(Waiting program);
  // Waits until memory changes; reports a deadlock when nobody is left to change it.
  void Idle(uint64_t changes);
  Arena NewArena();
  uint64_t HashState(const Context& c) const;

  LaunchState& launch_;
  size_t index_;
  std::deque<Waiting> waiting_;
  Arena spare_;
};

}  // namespace tritogen::tile
