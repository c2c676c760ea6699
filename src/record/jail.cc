#include "record/jail.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/fd.h"

namespace tritogen {
namespace {

constexpr int kNamespaces =
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
constexpr char kOldRoot[] = "/old";

// Everything the child needs, made before it exists: the parent may have threads, so after clone only system
// calls are safe, no allocation.
struct Jail {
  const JailSpec& spec;
  bool dry_run;  // stop before the last step
  std::string uid_map, gid_map, tmp_options;
  std::vector<JailMount> mounts;  // sources as seen after pivot_root
  std::vector<char*> argv, environment;
  int report = -1;  // where a refused step is told
};

bool WriteText(const char* path, const char* text) {
  UniqueFd fd(open(path, O_WRONLY | O_CLOEXEC));
  const ssize_t size = strlen(text);
  return fd.valid() && write(fd.get(), text, size) == size;
}

// Makes the folders above `path`, and `path` itself as a folder or an empty file.
bool MakeMountPoint(const char* path, bool folder) {
  char prefix[PATH_MAX];
  for (size_t i = 1; path[i] != '\0' && i < sizeof prefix; ++i) {
    if (path[i] != '/') continue;
    memcpy(prefix, path, i);
    prefix[i] = '\0';
    if (mkdir(prefix, 0755) != 0 && errno != EEXIST) return false;
  }
  if (folder) return mkdir(path, 0755) == 0 || errno == EEXIST;
  return mknod(path, S_IFREG | 0444, 0) == 0 || errno == EEXIST;
}

bool BindMount(const char* source, const char* target, uint64_t attributes) {
  struct stat info;
  if (stat(source, &info) != 0) return errno == ENOENT;
  if (!MakeMountPoint(target, S_ISDIR(info.st_mode))) return false;
  if (mount(source, target, nullptr, MS_BIND | MS_REC, nullptr) != 0) return false;
  mount_attr attr{};
  attr.attr_set = attributes;
  return syscall(SYS_mount_setattr, AT_FDCWD, target, AT_RECURSIVE, &attr, sizeof attr) == 0;
}

// --- the steps, in order; each gives false and errno when the kernel refuses ---

bool DieWithParent(const Jail&) {
  return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
}

// One id: root inside, the caller outside. setgroups is denied, as the kernel demands of ordinary users.
bool MapIdentity(const Jail& jail) {
  return WriteText("/proc/self/setgroups", "deny") && WriteText("/proc/self/uid_map", jail.uid_map.c_str()) &&
         WriteText("/proc/self/gid_map", jail.gid_map.c_str());
}

bool DetachMounts(const Jail&) {
  return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

bool EnterEmptyRoot(const Jail&) {
  if (mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=1m") != 0) return false;
  if (chdir("/tmp") != 0 || mkdir("old", 0700) != 0) return false;
  return syscall(SYS_pivot_root, ".", "old") == 0 && chdir("/") == 0;
}

bool MountReadOnly(const Jail& jail) {
  for (const JailMount& m : jail.mounts) {
    if (!BindMount(m.source.c_str(), m.target.c_str(),
                   MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV))
      return false;
  }
  return true;
}

bool MountDevices(const Jail&) {
  return BindMount("/old/dev/null", "/dev/null", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC) &&
         BindMount("/old/dev/zero", "/dev/zero", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC) &&
         BindMount("/old/dev/urandom", "/dev/urandom", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
}

bool MountTmp(const Jail& jail) {
  return mkdir("/tmp", 0755) == 0 &&
         mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, jail.tmp_options.c_str()) == 0;
}

bool LeaveOldRoot(const Jail&) {
  if (umount2(kOldRoot, MNT_DETACH) != 0 || rmdir(kOldRoot) != 0) return false;
  return mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr) == 0;
}

bool NameHost(const Jail&) {
  return sethostname("jail", 4) == 0 && setdomainname("", 0) == 0;
}

bool LimitCore(const Jail&) {
  const rlimit none{0, 0};
  return setrlimit(RLIMIT_CORE, &none) == 0;
}

// CAP_SYS_ADMIN stays (it counts in the jail's own namespaces only): the program jails its children once
// more.
bool DropCapabilities(const Jail&) {
  for (int capability = 0; capability <= 63; ++capability) {
    if (capability == CAP_SYS_ADMIN || prctl(PR_CAPBSET_DROP, capability) == 0) continue;
    return errno == EINVAL;  // one past the last that this kernel knows
  }
  return true;
}

bool NoNewPrivileges(const Jail&) {
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

bool Execute(const Jail& jail) {
  const std::vector<int>& fds = jail.spec.fds;
  const int count = static_cast<int>(fds.size());
  // High copies first, so that no descriptor is overwritten before it is copied.
  const int report = fcntl(jail.report, F_DUPFD_CLOEXEC, 256);
  int high[16];
  for (int i = 0; i < count; ++i) {
    if ((high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 256)) < 0) return false;
  }
  for (int i = 0; i < count; ++i) {
    if (dup2(high[i], i) < 0) return false;
  }
  if (dup3(report, count, O_CLOEXEC) < 0) return false;
  if (syscall(SYS_close_range, count + 1, ~0U, 0) != 0) return false;
  const_cast<Jail&>(jail).report = count;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGINT, SIG_IGN);  // Ctrl-C is for the caller, who ends it
  execve(jail.argv[0], jail.argv.data(), jail.environment.data());
  return false;
}

struct Step {
  const char* name;
  bool (*run)(const Jail&);
  bool in_weak_jail;
};

constexpr Step kSteps[] = {
    {"die with the parent", DieWithParent, true},
    {"identity map", MapIdentity, false},
    {"private mounts", DetachMounts, false},
    {"empty root", EnterEmptyRoot, false},
    {"read-only mounts", MountReadOnly, false},
    {"devices", MountDevices, false},
    {"private /tmp", MountTmp, false},
    {"leave the old root", LeaveOldRoot, false},
    {"host name", NameHost, false},
    {"no core files", LimitCore, true},
    {"drop capabilities", DropCapabilities, false},
    {"no new privileges", NoNewPrivileges, true},
    {"start the program", Execute, true},
};
constexpr char kCloneStep[] = "namespaces (user, mount, pid, net, ipc, uts, cgroup)";

struct Refused {
  int step, error;
};

[[noreturn]] void ChildMain(Jail& jail) {
  for (const Step& step : kSteps) {
    if (jail.dry_run && step.run == Execute) _exit(0);
    if (jail.spec.weak && !step.in_weak_jail) continue;
    if (step.run(jail)) continue;
    const Refused refused{static_cast<int>(&step - kSteps), errno};
    [[maybe_unused]] ssize_t told = write(jail.report, &refused, sizeof refused);
    _exit(126);
  }
  _exit(126);
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& s : strings) pointers.push_back(const_cast<char*>(s.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::optional<JailRefusal> Start(const JailSpec& spec, bool dry_run, pid_t* pid) {
  TRITOGEN_CHECK(spec.fds.size() <= 16);
  Jail jail{spec, dry_run, {}, {}, {}, spec.mounts, Pointers(spec.argv), Pointers(spec.environment)};
  jail.uid_map = fmt::format("0 {} 1\n", geteuid());
  jail.gid_map = fmt::format("0 {} 1\n", getegid());
  jail.tmp_options = fmt::format("mode=755,size={},nr_inodes=4096", spec.tmp_bytes);
  for (JailMount& m : jail.mounts) m.source = kOldRoot + m.source;
  Pipe report = MakePipe();
  jail.report = report.write.get();
  // Not fork(): its handlers would take locks that other threads may hold, and it cannot make namespaces.
  *pid = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD | (spec.weak ? 0 : kNamespaces), 0, 0, 0, 0));
  if (*pid == 0) ChildMain(jail);
  if (*pid < 0) return JailRefusal{kCloneStep, errno};
  report.write.Reset();
  Refused refused;
  if (read(report.read.get(), &refused, sizeof refused) != sizeof refused) return std::nullopt;
  waitpid(*pid, nullptr, 0);
  *pid = -1;
  return JailRefusal{kSteps[refused.step].name, refused.error};
}

}  // namespace

std::string JailRefusal::Message() const {
  return fmt::format("{}: {}", step, std::strerror(error));
}

std::optional<JailRefusal> StartJailed(const JailSpec& spec, pid_t* pid) {
  TRITOGEN_CHECK(!spec.argv.empty());
  return Start(spec, false, pid);
}

std::optional<JailRefusal> TryJail() {
  JailSpec spec;
  spec.mounts = {{"/usr/lib", "/usr/lib"}};
  pid_t pid = -1;
  std::optional<JailRefusal> refusal = Start(spec, true, &pid);
  if (!refusal) waitpid(pid, nullptr, 0);
  return refusal;
}

std::vector<std::string> JailSteps() {
  std::vector<std::string> names{kCloneStep};
  for (const Step& step : kSteps) {
    if (!step.in_weak_jail) names.push_back(step.name);
  }
  return names;
}

}  // namespace tritogen
