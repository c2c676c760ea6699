#include "base/fd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace tritogen {
namespace {

int Checked(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

}  // namespace

void UniqueFd::Reset(int fd) {
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
}

Pipe MakePipe() {
  int ends[2];
  Checked(pipe2(ends, O_CLOEXEC), "pipe2");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

UniqueFd MakeMemoryFile(std::string_view contents) {
  UniqueFd fd(Checked(memfd_create("", MFD_CLOEXEC | MFD_ALLOW_SEALING), "memfd_create"));
  for (size_t done = 0; done < contents.size();) {
    ssize_t n = Checked(pwrite(fd.get(), contents.data() + done, contents.size() - done, done), "pwrite");
    done += n;
  }
  Checked(fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL),
          "F_ADD_SEALS");
  return fd;
}

UniqueFd OpenNull() {
  return UniqueFd(Checked(open("/dev/null", O_RDWR | O_CLOEXEC), "open /dev/null"));
}

void SetNonBlocking(int fd) {
  int flags = Checked(fcntl(fd, F_GETFL), "F_GETFL");
  Checked(fcntl(fd, F_SETFL, flags | O_NONBLOCK), "F_SETFL");
}

bool ReadAvailable(int fd, std::string* out) {
  char buffer[65536];
  ssize_t n = read(fd, buffer, sizeof buffer);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  out->append(buffer, n);
  return n > 0;
}

}  // namespace tritogen
