// File descriptors with an owner. Every descriptor made here is close-on-exec.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace tritogen {

// Owns one descriptor, or none (-1).
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    Reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void Reset(int fd = -1);

 private:
  int fd_ = -1;
};

struct Pipe {
  UniqueFd read, write;
};

// All throw std::system_error when the system has no descriptor or memory to give.
Pipe MakePipe();
UniqueFd MakeMemoryFile(std::string_view contents);  // read offset 0; sealed: nobody can change it any more
UniqueFd OpenNull();
void SetNonBlocking(int fd);

// Appends what can be read now. False at end of file or error; true when more may come. REQUIRES: fd is
// non-blocking.
bool ReadAvailable(int fd, std::string* out);

}  // namespace tritogen
