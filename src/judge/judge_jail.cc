#include "judge/judge_jail.h"

#include <link.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>
#include <system_error>

#include "base/fd.h"
#include "record/landlock.h"
#include "record/seccomp.h"

namespace tritogen {
namespace {

namespace fs = std::filesystem;

// Where the libraries lie that are loaded: others, which they load when they need them, lie beside them.
std::set<fs::path> FoldersOfLibraries() {
  std::set<fs::path> folders;
  dl_iterate_phdr(
      [](dl_phdr_info* library, size_t, void* found) {
        std::error_code gone;
        const fs::path file = fs::canonical(library->dlpi_name, gone);
        if (!gone) static_cast<std::set<fs::path>*>(found)->insert(file.parent_path());
        return 0;
      },
      &folders);
  return folders;
}

// A disk's name begins with nv, too.
bool IsOfGpu(std::string_view name) {
  constexpr std::string_view kNames[] = {"nvidia", "nvhost", "nvmap", "nvgpu", "nvsciipc", "dri", "dxg"};
  return std::ranges::any_of(kNames, [&](std::string_view known) { return name.starts_with(known); });
}

void AddFilesOfGpu(std::vector<FileRule>* rules) {
  std::error_code gone;
  for (const fs::directory_entry& entry : fs::directory_iterator("/dev", gone)) {
    if (IsOfGpu(entry.path().filename().string())) rules->push_back({entry.path(), FileAccess::kWrite});
  }
  rules->push_back({"/tmp", FileAccess::kMake});  // locks of turns
  rules->push_back({"/dev/shm", FileAccess::kEdit});
  rules->push_back({"/proc/self", FileAccess::kWrite});  // names of threads
  // Where a daemon shares the GPU out.
  const char* pipes = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  rules->push_back({pipes != nullptr ? pipes : "/tmp/nvidia-mps", FileAccess::kEdit});
}

void DropCapabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  syscall(SYS_capset, &header, none);
}

}  // namespace

void CloseOthers(const JudgeNeeds& needs, int channel) {
  const UniqueFd null = OpenNull();
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO}) dup2(null.get(), standard);
  std::set<int> kept(needs.fds.begin(), needs.fds.end());
  kept.insert({STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, channel});
  unsigned next = 0;
  for (const int fd : kept) {
    const auto open = static_cast<unsigned>(fd);
    if (next < open) syscall(SYS_close_range, next, open - 1, 0);
    next = std::max(next, open + 1);
  }
  syscall(SYS_close_range, next, ~0U, 0);
}

void RestrictJudgesFiles(const JudgeNeeds& needs, bool on_gpu) {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  std::vector<FileRule> rules = {{"/dev/null", FileAccess::kWrite}};
  for (const fs::path& folder : needs.folders) rules.push_back({folder, FileAccess::kEdit});
  if (on_gpu) {
    AddFilesOfGpu(&rules);
  } else {
    for (const char* system : {"/usr", "/lib", "/lib64", "/etc", "/dev", "/proc", "/sys"})
      rules.push_back({system, FileAccess::kRead});
    for (const fs::path& folder : FoldersOfLibraries()) rules.push_back({folder, FileAccess::kRead});
  }
  RestrictFiles(rules, /*reads_all=*/on_gpu);
}

// A GPU's driver asks time and again what its caller may do, so a judge there keeps its capabilities.
void RestrictJudgesCalls(const JudgeNeeds& needs, bool on_gpu) {
  if (!on_gpu) DropCapabilities();
  const SeccompProfile profile = on_gpu                  ? SeccompProfile::kGpuJudge
                                 : needs.folders.empty() ? SeccompProfile::kJudge
                                                         : SeccompProfile::kJudgeWithCache;
  EnforceSeccompFilter(MakeSeccompFilter(profile));
}

}  // namespace tritogen
