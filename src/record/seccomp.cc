#include "record/seccomp.h"

#include <asm/sockios.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.h"

namespace tritogen {
namespace {

// By name, not SCMP_SYS: the list serves every architecture, and one that lacks a call (open on arm64) skips
// it.
// clang-format off
constexpr const char* kAllowed[] = {
    // Reading files.
    "read", "readv", "pread64", "preadv", "write", "writev", "pwrite64", "pwritev", "lseek", "close", "close_range",
    "access", "faccessat", "faccessat2", "stat", "lstat", "fstat", "newfstatat", "statx", "statfs", "fstatfs",
    "readlink", "readlinkat", "getdents64", "getcwd", "fadvise64", "dup", "dup2", "dup3",
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

// Making files and writing to them; where they lie is judged by mounts and Landlock.
constexpr const char* kEditFiles[] = {
    "open", "openat", "openat2", "chdir", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat",
    "renameat2", "ftruncate", "fsync", "fdatasync", "umask",
};

// What it takes to start one program and wait for it, and what that program's own start takes.
constexpr const char* kStartProgram[] = {
    "vfork", "execve", "wait4", "waitid", "pipe2", "arch_prctl", "set_tid_address", "sched_get_priority_min",
    "sched_get_priority_max",
};
// Of a judge beside the above: what it sends to the workers and to its pool, what libtorch asks of the machine.
constexpr const char* kJudging[] = {
    "memfd_create", "pipe2", "sendmsg", "sendto", "shutdown", "eventfd2", "membarrier", "sysinfo", "arch_prctl",
    "get_mempolicy", "sched_getscheduler", "sched_getparam", "sched_get_priority_min", "sched_get_priority_max",
};

// What files that replace others need, and those whose last use counts.
constexpr const char* kKeepFiles[] = {"fchmod", "utimensat"};

// What a judge on a GPU does not need, whatever its driver does.
constexpr const char* kForbidden[] = {
    // Programs, other processes, their memory, their signals.
    "execve", "execveat", "fork", "vfork", "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise",
    "pidfd_open", "pidfd_getfd", "pidfd_send_signal", "kcmp", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "tkill",
    // The network.
    "socket", "connect", "bind", "listen", "accept", "accept4",
    // The view of the system, privileges.
    "mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount",
    "fspick", "mount_setattr", "unshare", "setns", "setuid", "setgid", "setreuid", "setregid", "setresuid",
    "setresgid", "setgroups", "setfsuid", "setfsgid", "capset", "personality", "keyctl", "add_key", "request_key",
    // What Landlock leaves alone about files.
    "chmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "setxattr", "lsetxattr", "fsetxattr",
    "setxattrat", "removexattr", "lremovexattr", "fremovexattr", "removexattrat", "open_by_handle_at", "mknod",
    "mknodat",
    // The kernel's dark corners, and the machine itself.
    "bpf", "perf_event_open", "io_uring_setup", "io_uring_enter", "io_uring_register", "userfaultfd",
    "fanotify_init", "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot",
    "swapon", "swapoff", "acct", "quotactl", "iopl", "ioperm", "sethostname", "setdomainname", "settimeofday",
    "clock_settime", "clock_adjtime", "adjtimex", "syslog", "vhangup",
};
// clang-format on

class Filter {
 public:
  // `otherwise`: what becomes of calls that no rule names.
  explicit Filter(uint32_t otherwise) : context_(seccomp_init(otherwise), seccomp_release) {
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

constexpr uint32_t kRefuse = SCMP_ACT_ERRNO(EPERM);

// glibc falls back from clone3, whose arguments no filter can see, to clone only when it is missing
// altogether.
void RefuseClone3(Filter* filter) {
  filter->Add(SCMP_ACT_ERRNO(ENOSYS), "clone3");
}

void AllowDescriptorFlags(Filter* filter) {
  for (uint64_t command : {F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD, F_DUPFD_CLOEXEC})
    filter->Allow("fcntl", SCMP_A1(SCMP_CMP_EQ, command));
}

UniqueFd FilterForChildren(bool may_start_a_program) {
  Filter filter(kRefuse);
  for (const char* name : kAllowed) filter.Allow(name);
  for (const char* name : kEditFiles) filter.Allow(name);
  if (may_start_a_program) {
    for (const char* name : kStartProgram) filter.Allow(name);
    // vfork where it has no call of its own: no threads, no namespaces.
    filter.Allow("clone", SCMP_A0(SCMP_CMP_EQ, CLONE_VM | CLONE_VFORK | SIGCHLD));
  }
  RefuseClone3(&filter);
  // Limits may be read, not set, and only one's own.
  filter.Allow("prlimit64", SCMP_A0(SCMP_CMP_EQ, 0), SCMP_A2(SCMP_CMP_EQ, 0));
  AllowDescriptorFlags(&filter);
  // What Python asks of a file that it opens: is it a terminal, how much is there.
  for (uint64_t request : {TCGETS, FIOCLEX, FIONREAD}) filter.Allow("ioctl", SCMP_A1(SCMP_CMP_EQ, request));
  filter.Allow("prctl", SCMP_A0(SCMP_CMP_EQ, PR_GET_NAME));
  return filter.Export();
}

UniqueFd FilterForJudge(bool edits_files) {
  constexpr uint64_t kWriting = O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY);
  Filter filter(kRefuse);
  for (const char* name : kAllowed) filter.Allow(name);
  for (const char* name : kJudging) filter.Allow(name);
  if (edits_files) {
    for (const char* name : kEditFiles) filter.Allow(name);
    for (const char* name : kKeepFiles) filter.Allow(name);
  } else {
    filter.Allow("open", SCMP_A1(SCMP_CMP_MASKED_EQ, kWriting, 0));
    filter.Allow("openat", SCMP_A2(SCMP_CMP_MASKED_EQ, kWriting, 0));
  }
  RefuseClone3(&filter);
  filter.Allow("clone", SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
  filter.Allow("sched_setaffinity", SCMP_A0(SCMP_CMP_EQ, 0));
  filter.Allow("tgkill", SCMP_A0(SCMP_CMP_EQ, static_cast<uint64_t>(getpid())));
  filter.Allow("prlimit64", SCMP_A0(SCMP_CMP_EQ, 0), SCMP_A2(SCMP_CMP_EQ, 0));
  AllowDescriptorFlags(&filter);
  for (uint64_t command : {F_ADD_SEALS, F_GET_SEALS}) filter.Allow("fcntl", SCMP_A1(SCMP_CMP_EQ, command));
  for (uint64_t request : {TCGETS, FIOCLEX, FIONREAD, FIONBIO})
    filter.Allow("ioctl", SCMP_A1(SCMP_CMP_EQ, request));
  for (uint64_t option : {PR_GET_NAME, PR_SET_NAME, PR_SET_VMA, PR_GET_DUMPABLE})
    filter.Allow("prctl", SCMP_A0(SCMP_CMP_EQ, option));
  return filter.Export();
}

UniqueFd FilterForGpuJudge() {
  Filter filter(SCMP_ACT_ALLOW);
  const auto me = static_cast<uint64_t>(getpid());
  for (const char* name : kForbidden) filter.Add(kRefuse, name);
  RefuseClone3(&filter);
  filter.Add(kRefuse, "clone", SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
  for (const char* name : {"kill", "tgkill"}) filter.Add(kRefuse, name, SCMP_A0(SCMP_CMP_NE, me));
  filter.Add(kRefuse, "prlimit64", SCMP_A0(SCMP_CMP_NE, 0));
  // Other ways to a signal, and to a terminal's input.
  for (uint64_t command : {F_SETOWN, F_SETOWN_EX, F_SETSIG})
    filter.Add(kRefuse, "fcntl", SCMP_A1(SCMP_CMP_EQ, command));
  for (uint64_t request : {FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCLINUX, TIOCSETD})
    filter.Add(kRefuse, "ioctl", SCMP_A1(SCMP_CMP_EQ, request));
  return filter.Export();
}

}  // namespace

UniqueFd MakeSeccompFilter(SeccompProfile profile) {
  switch (profile) {
    case SeccompProfile::kRecord:
    case SeccompProfile::kCompile:
      return FilterForChildren(profile == SeccompProfile::kCompile);
    case SeccompProfile::kJudge:
    case SeccompProfile::kJudgeWithCache:
      return FilterForJudge(profile == SeccompProfile::kJudgeWithCache);
    case SeccompProfile::kGpuJudge:
      return FilterForGpuJudge();
  }
  throw InternalError("there is no such filter");
}

bool EnforceSeccompFilter(const UniqueFd& filter) {
  struct stat info;
  if (fstat(filter.get(), &info) != 0) return false;
  std::vector<sock_filter> instructions(info.st_size / sizeof(sock_filter));
  if (pread(filter.get(), instructions.data(), info.st_size, 0) != info.st_size) return false;
  const sock_fprog program{static_cast<unsigned short>(instructions.size()), instructions.data()};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

}  // namespace tritogen
