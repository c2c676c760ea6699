#include "device/turn_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace tritogen {
namespace {

UniqueFd Open(const std::string& path) {
  // O_CREAT only where there is none: with it, a file of somebody else in /tmp cannot be opened
  // (fs.protected_regular).
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW;
  UniqueFd fd(open(path.c_str(), kFlags));
  if (!fd.valid() && errno == ENOENT) {
    fd = UniqueFd(open(path.c_str(), kFlags | O_CREAT, 0444));
    if (fd.valid()) fchmod(fd.get(), 0444);  // whatever the umask; fails where another made it just now
  }
  if (!fd.valid()) throw InternalError(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  return fd;
}

void Flock(const UniqueFd& fd, int operation) {
  while (flock(fd.get(), operation) != 0) {
    if (errno != EINTR) throw InternalError(fmt::format("cannot lock a file: {}", std::strerror(errno)));
  }
}

}  // namespace

UniqueFd LockFile(const std::string& path) {
  UniqueFd fd = Open(path);
  Flock(fd, LOCK_EX);
  return fd;
}

TurnLock::TurnLock(const std::string& path) : gate_(Open(path + ".gate")), lock_(Open(path + ".lock")) {}

// A process forked meanwhile may have the file open, too, and would hold the lock with it.
TurnLock::~TurnLock() {
  flock(lock_.get(), LOCK_UN);
}

void TurnLock::Take() {
  Flock(gate_, LOCK_EX);
  Flock(lock_, LOCK_EX);
  Flock(gate_, LOCK_UN);
}

// Who finds the gate locked in this moment waits at it, and finds it open again.
bool TurnLock::SomebodyWaits() const noexcept {
  if (flock(gate_.get(), LOCK_EX | LOCK_NB) != 0) return true;
  return flock(gate_.get(), LOCK_UN) != 0;
}

}  // namespace tritogen
