// A file as memory, read-only.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace tritogen {

// Pages come from the disk when they are touched, and are shared with other processes. The file must not be
// truncated while it is mapped: what is then behind its end can only be answered by SIGBUS.
class MappedFile {
 public:
  // Throws UserError when the file is missing, no regular file, or cannot be mapped.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  std::string_view bytes() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tritogen
