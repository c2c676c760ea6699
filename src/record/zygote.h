// The C++ side of worker/zygote.py: keeps one warm zygote alive in the jail and runs programs in its
// children.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/held_locks.h"
#include "record/jail.h"
#include "record/seccomp.h"

namespace tritogen {

struct ChildLimits {
  double wall_seconds = 60;
  double cpu_seconds = 60;
  int64_t memory_bytes = int64_t{4} << 30;  // of address space beyond what the zygote itself takes
};

// How one child ended, as the zygote tells it: the child cannot forge this. Only `reply` and `output` are the
// child's own.
struct ChildEnd {
  enum class How {
    kEnded,        // by itself or by a signal: `status`
    kTimedOut,     // wall-clock limit
    kOverflowed,   // wrote more than any frame holds; it was killed
    kNotStarted,   // the kernel refused its sandbox: `problem`
    kZygoteEnded,  // the zygote died under it: `problem`
  } how = How::kEnded;
  int status = 0;  // as from waitpid
  double cpu_seconds = 0;
  std::string problem;
  std::string reply;   // everything written to the reply pipe
  std::string output;  // the last 16 KiB of stdout and stderr
};

class Zygote {
 public:
  // REQUIRES: spec starts worker/zygote.py; its fds are set here. Returns at once, while the zygote warms
  // up. One that dies later is started again by itself.
  explicit Zygote(JailSpec spec, SeccompProfile profile = SeccompProfile::kRecord);
  ~Zygote();  // kills the zygote and with it all children

  // Runs one child on a request (one frame) and waits for its end. Thread-safe. A process forked from the one
  // that made this shares the zygote as long as it lives.
  ChildEnd Run(std::string_view request, const ChildLimits& limits);

  // The zygote is gone, and with it what this process, forked from the one that made this, could run: only
  // the maker starts another, and only who is forked from it afterwards knows that one.
  bool Lost() const;
  // What of this process's descriptors one that is forked from it needs to run something. None while there is
  // no zygote. Until `held` is let go the zygote is no other, and whoever asks for it waits.
  std::vector<int> fds(HeldLocks* held = nullptr) const;
  // In the process that made this: waits until a zygote is there to be shared. False when none starts.
  bool Await();
  // Likewise; throws UserError when the jail is refused or the zygote cannot warm up (no torch).
  void Require();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tritogen
