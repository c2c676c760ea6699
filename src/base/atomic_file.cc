#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "base/error.h"
#include "base/fd.h"

namespace tritogen {
namespace {

[[noreturn]] void Fail(const char* verb, const std::filesystem::path& path) {
  throw UserError(fmt::format("cannot {} {}: {}", verb, path.string(), std::strerror(errno)));
}

// A new file beside `path`, removed again unless it was renamed. Its mode is what the umask allows; mkstemp
// would make it the owner's alone.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& path) {
    do {
      name_ = fmt::format("{}.{:08x}", path.string(), std::random_device()());
      fd_.Reset(open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    } while (!fd_.valid() && errno == EEXIST);
  }
  ~TemporaryFile() {
    if (!renamed_ && fd_.valid()) unlink(name_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;

  int fd() const { return fd_.get(); }  // -1: it could not be made
  bool RenameTo(const std::filesystem::path& path) {
    return renamed_ = rename(name_.c_str(), path.c_str()) == 0;
  }

 private:
  std::string name_;
  UniqueFd fd_;
  bool renamed_ = false;
};

void WriteAll(int fd, std::string_view contents, const std::filesystem::path& path) {
  while (!contents.empty()) {
    ssize_t n = write(fd, contents.data(), contents.size());
    if (n < 0 && errno != EINTR) Fail("write", path);
    if (n > 0) contents.remove_prefix(n);
  }
}

}  // namespace

void WriteFileAtomic(const std::filesystem::path& path, std::string_view contents) {
  WriteFileAtomic(path, std::span(&contents, 1));
}

void WriteFileAtomic(const std::filesystem::path& path, std::span<const std::string_view> parts) {
  WriteFileAtomic(path, [&](const AppendPart& append) {
    for (const auto part : parts) append(part);
  });
}

void WriteFileAtomic(const std::filesystem::path& path, const std::function<void(const AppendPart&)>& write) {
  struct stat old;
  const bool replaces = stat(path.c_str(), &old) == 0;
  if (replaces && !S_ISREG(old.st_mode)) {  // a device or a pipe is written to, never replaced
    const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd.valid()) Fail("write", path);
    return write([&](std::string_view part) { WriteAll(fd.get(), part, path); });
  }
  TemporaryFile temporary(path);
  if (temporary.fd() < 0) Fail("write", path);
  if (replaces && fchmod(temporary.fd(), old.st_mode & 0777) != 0) Fail("write", path);
  write([&](std::string_view part) { WriteAll(temporary.fd(), part, path); });
  if (fsync(temporary.fd()) != 0 || !temporary.RenameTo(path)) Fail("write", path);
  // The rename itself reaches the disk with the folder; where folders cannot be synced the file is still
  // whole.
  std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  UniqueFd folder_fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder_fd.valid()) fsync(folder_fd.get());
}

bool Exists(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
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
