// A folder that is gone, with all it holds, when its owner is.
#pragma once

#include <filesystem>

namespace tritogen {

class TempDir {
 public:
  TempDir();  // under TMPDIR or /tmp. Throws UserError when none can be made.
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace tritogen
