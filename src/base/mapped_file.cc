#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/fd.h"

namespace tritogen {

MappedFile::MappedFile(const std::filesystem::path& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info;
  if (!fd.valid() || fstat(fd.get(), &info) != 0) {
    throw UserError(fmt::format("cannot read {}: {}", path.string(), std::strerror(errno)));
  }
  if (!S_ISREG(info.st_mode))
    throw UserError(fmt::format("cannot read {}: not a regular file", path.string()));
  size_ = static_cast<size_t>(info.st_size);
  if (size_ == 0) return;
  void* data = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (data == MAP_FAILED) {
    throw UserError(fmt::format("cannot map {} ({} bytes): {}", path.string(), size_, std::strerror(errno)));
  }
  data_ = static_cast<const char*>(data);
}

MappedFile::~MappedFile() {
  if (data_) munmap(const_cast<char*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

}  // namespace tritogen
