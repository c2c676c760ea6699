// Landlock: which files a process may open, whatever its user may. Nothing here needs a privilege.
#pragma once

#include <filesystem>
#include <vector>

namespace tritogen {

int LandlockVersion();  // of this kernel; 0: it has none

enum class FileAccess {
  kRead,   // files and folders below the path may be read
  kMake,   // … and files may be made, though not written to
  kWrite,  // … and what is there may be written to
  kEdit,   // … and files and folders made, renamed and removed
};

struct FileRule {
  std::filesystem::path path;  // left out where there is none
  FileAccess access;
};

// From now on the calling thread, and all that it starts, opens nothing but this, starts no program, and
// reaches neither abstract sockets nor other processes (signals, memory) where the kernel can forbid it.
// `reads_all`: only writing is restricted. False where there is no Landlock. REQUIRES: no new privileges.
bool RestrictFiles(const std::vector<FileRule>& rules, bool reads_all);

}  // namespace tritogen
