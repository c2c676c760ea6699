#include "base/temp_dir.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "base/error.h"

namespace tritogen {

TempDir::TempDir() {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  std::string name = (folder / "tritogen-XXXXXX").string();
  if (error || mkdtemp(name.data()) == nullptr) {
    throw UserError(
        fmt::format("cannot make a temporary folder {}: {}; set TMPDIR to a folder that can be written", name,
                    std::strerror(errno)));
  }
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;  // a destructor has nobody to tell
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace tritogen
