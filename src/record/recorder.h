// Records Python programs into Plans inside the jail. One Recorder owns one warm worker (the zygote) or
// several; Record forks a child there, waits for its Plan, and says how it ended when there is none.
// Thread-safe: several threads may record at once.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/held_locks.h"
#include "plan/plan.h"

namespace tritogen {

struct RecorderOptions {
  std::string python;         // interpreter with torch and triton
  std::string worker_folder;  // the folder worker/ of this project
  bool allow_weak_jail = false;
  int capability = 90;       // of the GPU that programs believe in, 10 × major + minor
  double wall_seconds = 60;  // per program
  double cpu_seconds = 60;
  int64_t memory_bytes = int64_t{4} << 30;
  // Warm workers. Each forks one child after the other, some 200 a second, and takes half a GiB.
  int workers = 1;
  bool waits = true;                       // the constructor, until they are warm
  std::string recorder_module = "record";  // of worker/; tests name others
};

struct RecordRequest {
  Role role = Role::kCandidate;
  std::string source;  // text of the Python file
  std::string entry;   // class or function name
  bool is_function = false;
  // Candidates only: the Plan of the reference, whose init_inputs and inputs (values and metas, nothing else)
  // are passed on.
  const Plan* reference = nullptr;
  // Puts the module into this mode before it is called; without it the mode stays what the file leaves.
  std::optional<bool> training;
  // ATen operators ("aten::nan_to_num") that the program's calls are to show as the operators they are made
  // of, where the worker knows those.
  std::vector<std::string> split;
  double wall_seconds = 0;  // 0: as in the options
};

// Why there is no Plan. The kinds are those of the Verdict with the same name.
struct RecordFailure {
  enum class Kind { kCompileError, kRuntimeError, kRejected, kTimeout, kKilled, kInfraError } kind;
  std::string rule;     // for kRejected
  std::string message;  // one sentence a person can act on
  int line = 0;         // in the program's file, 0 unknown
  std::string trace;    // Python traceback, file names shortened; may be empty
};

class Recorder {
 public:
  // Starts the workers. Throws UserError when the jail is refused by the kernel and allow_weak_jail is off,
  // and what Require throws, where the options have it wait.
  explicit Recorder(RecorderOptions options);
  ~Recorder();  // kills the workers and everything in its namespaces

  std::variant<Plan, RecordFailure> Record(const RecordRequest& request);

  // The same for candidates of one reference that need no wall between them, because one trusted author
  // wrote them: in one child, one after the other. The reference may come first, if that author wrote it,
  // too; candidates that name none then get its inputs. Nothing where that did not give a Plan, for whatever
  // reason: only Record says why.
  std::vector<std::optional<Plan>> RecordTogether(std::span<const RecordRequest> requests);

  // A worker is gone and this process, forked from the one that made this, cannot start another: what is
  // recorded there fails.
  bool Lost() const;
  // Waits until the workers are warm. Throws UserError when one does not get there: the interpreter has no
  // torch or triton.
  void Require();
  // In the process that made this, before it forks: waits until there are all workers again, should one have
  // ended.
  void Await();
  // Of this process's descriptors, those that one forked from it needs to record. `held`: Zygote::fds.
  std::vector<int> fds(HeldLocks* held = nullptr) const;

  // The jail features that the kernel refused, for verdicts; empty when the jail is whole. (doctor:
  // jail_probe.h)
  const std::vector<std::string>& missing_features() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tritogen
