#include "record/landlock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "base/fd.h"

namespace tritogen {
namespace {

// The same numbers on every architecture. Headers are older than kernels; worker/sandbox.py has them, too.
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr int kPathBeneath = 1;
constexpr uint64_t kExecute = 1 << 0, kWriteFile = 1 << 1, kReadFile = 1 << 2, kReadFolder = 1 << 3,
                   kMakeFile = 1 << 8, kTruncate = 1 << 14, kControlDevices = 1 << 15;
constexpr uint64_t kAllOf[] = {0, (1 << 13) - 1, (1 << 14) - 1, (1 << 15) - 1};  // by version
constexpr uint64_t kTcp = 3, kScopes = 3;  // bind, connect; abstract sockets, signals
constexpr uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate;

struct Ruleset {
  uint64_t files, tcp, scopes;
};

struct [[gnu::packed]] PathBeneath {
  uint64_t rights;
  int32_t folder;
};

// Devices stay controllable: which ones can be opened is what counts.
uint64_t Handled(int version, bool reads_all) {
  const uint64_t all = kAllOf[std::min(version, 3)];
  return all & ~(reads_all ? kReadFile | kReadFolder : 0) & ~kControlDevices;
}

uint64_t RightsOf(FileAccess access, uint64_t handled) {
  uint64_t rights = kReadFile | kReadFolder;
  if (access == FileAccess::kMake) rights |= kMakeFile;
  if (access == FileAccess::kWrite) rights |= kWriteFile | kTruncate;
  if (access == FileAccess::kEdit) rights = ~kExecute;
  return rights & handled;
}

}  // namespace

int LandlockVersion() {
  constexpr long kAskVersion = 1;
  return static_cast<int>(std::max(0L, syscall(kCreateRuleset, nullptr, 0, kAskVersion)));
}

bool RestrictFiles(const std::vector<FileRule>& rules, bool reads_all) {
  const int version = LandlockVersion();
  if (version == 0) return false;
  const Ruleset ruleset{Handled(version, reads_all), version >= 4 ? kTcp : 0, version >= 6 ? kScopes : 0};
  const size_t size = sizeof(uint64_t) * (version < 4 ? 1 : version < 6 ? 2 : 3);
  const UniqueFd fd(static_cast<int>(syscall(kCreateRuleset, &ruleset, size, 0)));
  for (const FileRule& rule : rules) {
    const UniqueFd path(open(rule.path.c_str(), O_PATH | O_CLOEXEC));
    struct stat info;
    if (!path.valid() || fstat(path.get(), &info) != 0) continue;
    uint64_t rights = RightsOf(rule.access, ruleset.files);
    if (!S_ISDIR(info.st_mode)) rights &= kOfFiles;
    const PathBeneath beneath{rights, path.get()};
    if (rights != 0 && syscall(kAddRule, fd.get(), kPathBeneath, &beneath, 0) != 0) return false;
  }
  return syscall(kRestrictSelf, fd.get(), 0) == 0;
}

}  // namespace tritogen
