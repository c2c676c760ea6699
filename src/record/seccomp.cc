#include "record/seccomp.h"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <type_traits>

#include "base/error.h"

namespace tritogen {
namespace {

// By name, not SCMP_SYS: the list serves every architecture, and one that lacks a call (open on arm64) skips
// it.
// clang-format off
constexpr const char* kAllowed[] = {
    // Reading files, and writing the ones in /tmp; where they lie is judged by mounts and Landlock.
    "read", "readv", "pread64", "preadv", "write", "writev", "pwrite64", "pwritev", "lseek", "close", "close_range",
    "open", "openat", "openat2", "access", "faccessat", "faccessat2", "stat", "lstat", "fstat", "newfstatat", "statx",
    "statfs", "fstatfs", "readlink", "readlinkat", "getdents64", "getcwd", "chdir", "mkdir", "mkdirat", "rmdir",
    "unlink", "unlinkat", "rename", "renameat", "renameat2", "ftruncate", "fsync", "fdatasync", "fadvise64", "umask",
    "dup", "dup2", "dup3",
    // Memory; RLIMIT_AS bounds it.
    "mmap", "munmap", "mprotect", "mremap", "madvise", "mincore", "brk",
    // Waiting and time.
    "poll", "ppoll", "select", "pselect6", "nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres",
    "gettimeofday", "time", "sched_yield", "restart_syscall",
    // The one thread's own state.
    "futex", "set_robust_list", "rseq", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "getrandom",
    "sched_getaffinity", "getcpu", "exit", "exit_group",
    // Harmless questions; their answers are about the jail.
    "getpid", "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "getpgrp", "getsid", "getrlimit",
    "getrusage", "times", "uname",
};

// What it takes to start one program and wait for it, and what that program's own start takes.
constexpr const char* kStartProgram[] = {
    "vfork", "execve", "wait4", "waitid", "pipe2", "arch_prctl", "set_tid_address", "sched_get_priority_min",
    "sched_get_priority_max",
};
// clang-format on

class Filter {
 public:
  Filter() : context_(seccomp_init(SCMP_ACT_ERRNO(EPERM)), seccomp_release) {
    TRITOGEN_CHECK(context_ != nullptr);
  }

  // Allows the call when all conditions on its arguments hold. Calls that this architecture lacks are left
  // out.
  template <typename... Conditions>
  void Allow(const char* name, Conditions... conditions) {
    Add(SCMP_ACT_ALLOW, name, conditions...);
  }

  template <typename... Conditions>
  void Add(uint32_t action, const char* name, Conditions... conditions) {
    const int number = seccomp_syscall_resolve_name(name);
    if (number < 0) return;
    TRITOGEN_CHECK(seccomp_rule_add(context_.get(), action, number, sizeof...(conditions), conditions...) ==
                   0);
  }

  UniqueFd Export() const {
    UniqueFd fd(memfd_create("", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    TRITOGEN_CHECK(fd.valid() && seccomp_export_bpf(context_.get(), fd.get()) == 0);
    TRITOGEN_CHECK(fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) ==
                   0);
    lseek(fd.get(), 0, SEEK_SET);
    return fd;
  }

 private:
  std::unique_ptr<std::remove_pointer_t<scmp_filter_ctx>, void (*)(scmp_filter_ctx)> context_;
};

}  // namespace

UniqueFd MakeSeccompFilter(SeccompProfile profile) {
  Filter filter;
  for (const char* name : kAllowed) filter.Allow(name);
  if (profile == SeccompProfile::kCompile) {
    for (const char* name : kStartProgram) filter.Allow(name);
    // vfork where it has no call of its own: no threads, no namespaces.
    filter.Allow("clone", SCMP_A0(SCMP_CMP_EQ, CLONE_VM | CLONE_VFORK | SIGCHLD));
  }
  // glibc falls back from clone3, whose arguments no filter can see, to clone only when it is missing
  // altogether.
  filter.Add(SCMP_ACT_ERRNO(ENOSYS), "clone3");
  // Limits may be read, not set, and only one's own.
  filter.Allow("prlimit64", SCMP_A0(SCMP_CMP_EQ, 0), SCMP_A2(SCMP_CMP_EQ, 0));
  for (uint64_t command : {F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD, F_DUPFD_CLOEXEC})
    filter.Allow("fcntl", SCMP_A1(SCMP_CMP_EQ, command));
  // What Python asks of a file that it opens: is it a terminal, how much is there.
  for (uint64_t request : {TCGETS, FIOCLEX, FIONREAD}) filter.Allow("ioctl", SCMP_A1(SCMP_CMP_EQ, request));
  filter.Allow("prctl", SCMP_A0(SCMP_CMP_EQ, PR_GET_NAME));
  return filter.Export();
}

}  // namespace tritogen
