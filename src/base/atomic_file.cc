#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/fd.h"

namespace tritogen {
namespace {

[[noreturn]] void Fail(const char* verb, const std::filesystem::path& path) {
  throw UserError(fmt::format("cannot {} {}: {}", verb, path.string(), std::strerror(errno)));
}

// A file that mkostemp made, removed again unless it was renamed.
struct TemporaryFile {
  std::string name;
  UniqueFd fd;
  bool keep = false;
  ~TemporaryFile() {
    if (!keep && fd.valid()) unlink(name.c_str());
  }
};

void WriteAll(int fd, std::string_view contents, const std::filesystem::path& path) {
  while (!contents.empty()) {
    ssize_t n = write(fd, contents.data(), contents.size());
    if (n < 0 && errno != EINTR) Fail("write", path);
    if (n > 0) contents.remove_prefix(n);
  }
}

// mkostemp makes files that only the owner reads; a new file gets what the umask allows, an old one keeps its
// mode.
mode_t ModeFor(const std::filesystem::path& path) {
  struct stat old;
  if (stat(path.c_str(), &old) == 0) return old.st_mode & 0777;
  mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

void WriteFileAtomic(const std::filesystem::path& path, std::string_view contents) {
  TemporaryFile temporary{path.string() + ".XXXXXX", UniqueFd(), false};
  temporary.fd.Reset(mkostemp(temporary.name.data(), O_CLOEXEC));
  if (!temporary.fd.valid()) Fail("write", path);
  WriteAll(temporary.fd.get(), contents, path);
  if (fchmod(temporary.fd.get(), ModeFor(path)) != 0 || fsync(temporary.fd.get()) != 0) Fail("write", path);
  if (rename(temporary.name.c_str(), path.c_str()) != 0) Fail("write", path);
  temporary.keep = true;
  // The rename itself reaches the disk with the folder; where folders cannot be synced the file is still
  // whole.
  std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  UniqueFd folder_fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder_fd.valid()) fsync(folder_fd.get());
}

std::string ReadFile(const std::filesystem::path& path, size_t max_bytes) {
  UniqueFd fd(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // non-blocking: a named pipe must not hang us
  struct stat info;
  if (!fd.valid() || fstat(fd.get(), &info) != 0) Fail("read", path);
  if (!S_ISREG(info.st_mode))
    throw UserError(fmt::format("cannot read {}: not a regular file", path.string()));
  std::string contents;
  while (contents.size() <= max_bytes) {
    errno = 0;
    if (ReadAvailable(fd.get(), &contents)) continue;
    if (errno != 0) Fail("read", path);
    return contents;
  }
  throw UserError(fmt::format("cannot read {}: longer than {} bytes", path.string(), max_bytes));
}

}  // namespace tritogen
