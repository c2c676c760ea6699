// TTIR text → cubin. Triton's own back end runs in jailed processes that see nothing but the TTIR of one
// kernel (worker/compile.py; docs/threat_model.md), and what it yields is kept on disk (kernel_cache.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/held_locks.h"
#include "cuda/compiled_kernel.h"
#include "cuda/target.h"
#include "plan/plan.h"

namespace tritogen::cuda {

struct CompilerOptions {
  std::string python;                  // interpreter with torch and triton
  std::string worker_folder;           // the folder worker/ of this project
  std::filesystem::path cache_folder;  // made when missing; may be shared by any number of processes
  int64_t cache_bytes = int64_t{2} << 30;
  bool allow_weak_jail = false;
  double wall_seconds = 120;  // per kernel
  int64_t memory_bytes = int64_t{8} << 30;
  int processes = 0;  // kernels compiled at once; 0: one per core
};

using CompileResult = std::variant<std::shared_ptr<const CompiledKernel>, CompileFailure>;

class KernelCompiler {
 public:
  // Finds the interpreter and opens the cache; the compiler processes start with the first kernel that is not
  // in the cache. Throws UserError when the interpreter has no Triton or the folder cannot be written.
  explicit KernelCompiler(CompilerOptions options);
  ~KernelCompiler();  // kills the compiler processes

  // Starts the compiler processes now, for processes forked from this one to share, should there be none any
  // more. Throws UserError when a jail is needed and refused.
  void Start();
  // They are gone and this process, forked from the one that made this, cannot start others.
  bool Lost() const;

  // What a process forked from this one needs to compile: descriptors, and the folder that it writes to.
  // `held`: Zygote::fds.
  std::vector<int> fds(HeldLocks* held = nullptr) const;
  const std::filesystem::path& folder() const;

  // Of the kernels that are in no cache: how many are done. Called before the first one and behind each, from
  // any thread, one call at a time; never when all are there.
  using OnCompiled = std::function<void(int64_t done, int64_t total)>;

  // One result per kernel, in order; equal kernels (locations aside) are compiled once, also across
  // concurrent calls. Thread-safe; blocks. Throws UserError when a jail is needed and refused.
  std::vector<CompileResult> Compile(std::span<const Kernel> kernels, const Target& target,
                                     const OnCompiled& on_compiled = {});

  // PTX of one kernel, for people to read. Not cached.
  CompileResult CompileWithPtx(const Kernel& kernel, const Target& target);

  struct Counts {
    int64_t hits = 0, compiled = 0, failed = 0;
  };
  Counts counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tritogen::cuda
