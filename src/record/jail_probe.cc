#include "record/jail_probe.h"

#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "record/jail.h"
#include "record/landlock.h"

namespace tritogen {
namespace {

bool SysctlIs(const char* path, const char* expected) {
  std::string value;
  std::ifstream(path) >> value;
  return value == expected;
}

// The usual reasons why an ordinary user, or a container, may not make namespaces.
std::string Remedy() {
  if (SysctlIs("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") && geteuid() != 0)
    return "; allow it with: sysctl kernel.apparmor_restrict_unprivileged_userns=0";
  if (SysctlIs("/proc/sys/kernel/unprivileged_userns_clone", "0") && geteuid() != 0)
    return "; allow it with: sysctl kernel.unprivileged_userns_clone=1";
  if (SysctlIs("/proc/sys/user/max_user_namespaces", "0"))
    return "; allow it with: sysctl user.max_user_namespaces=10000";
  return "; in a container, start it with --security-opt seccomp=unconfined --security-opt "
         "systempaths=unconfined";
}

JailFeature ProbeSeccomp() {
  const uint32_t action = SECCOMP_RET_ERRNO;
  const bool available = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
  return {"seccomp", available, true, available ? "filters" : std::strerror(errno)};
}

// Mounts already show nothing that could be harmed, so Landlock is a second fence and its lack does not make
// a jail weak.
JailFeature ProbeLandlock() {
  const int version = LandlockVersion();
  if (version > 0) return {"landlock", true, false, fmt::format("version {}", version)};
  return {"landlock", false, false,
          fmt::format("{}; the kernel needs lsm=landlock, without it judges can read what the user can",
                      std::strerror(errno))};
}

}  // namespace

std::vector<JailFeature> ProbeJail() {
  std::vector<JailFeature> features;
  const std::optional<JailRefusal> refusal = TryJail();
  bool reached = true;
  for (const std::string& step : JailSteps()) {
    const bool refused = refusal && refusal->step == step;
    if (refused) {
      features.push_back({step, false, true, std::strerror(refusal->error) + Remedy()});
      reached = false;
    } else {
      features.push_back({step, reached, true, reached ? "" : "needs the step before it"});
    }
  }
  features.push_back(ProbeSeccomp());
  features.push_back(ProbeLandlock());
  return features;
}

}  // namespace tritogen
