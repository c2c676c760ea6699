// The jail: namespaces, a private root of read-only mounts, and no privileges beyond them.
// docs/threat_model.md lists the steps in order and what they are good for. What one child may do is narrowed
// further by worker/sandbox.py.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tritogen {

struct JailMount {
  std::string source;  // file or folder outside
  std::string target;  // absolute path inside
};

struct JailSpec {
  std::vector<JailMount> mounts;  // read-only, submounts included; sources that do not exist are left out
  std::vector<std::string> argv;  // argv[0] is a path inside the jail
  std::vector<std::string> environment;   // NAME=value, nothing else is passed on
  std::vector<int> fds;                   // become 0, 1, 2, …; all others are closed
  int64_t tmp_bytes = int64_t{64} << 20;  // size of the private /tmp
  bool weak = false;                      // no namespaces and no private root: paths inside are paths outside
};

// The step that the kernel refused.
struct JailRefusal {
  std::string step;
  int error = 0;  // errno
  std::string Message() const;
};

// Starts the program as process 1 of its own pid namespace (a plain child when weak). It dies, with
// everything in the jail, when it is killed or when the calling thread ends. `pid` is to be waited for by the
// caller. Thread-safe.
std::optional<JailRefusal> StartJailed(const JailSpec& spec, pid_t* pid);

// Goes through all steps but the last, starting nothing: the names of the steps, and the first refused one,
// if any.
std::optional<JailRefusal> TryJail();
std::vector<std::string> JailSteps();

}  // namespace tritogen
