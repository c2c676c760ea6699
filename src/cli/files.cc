#include "cli/files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <string_view>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/utf8.h"

namespace tritogen {

std::string ReadSource(const std::string& path) {
  std::string text = ReadFile(path, /*max_bytes=*/4 << 20);
  if (text.empty()) throw UserError(fmt::format("'{}' is empty", path));
  if (!IsUtf8(text)) throw UserError(fmt::format("'{}' is not UTF-8 text", path));
  if (text.starts_with("\xef\xbb\xbf"))
    text.erase(0, 3);  // a byte order mark, as some editors write and Python skips
  return text;
}

void RequireUnlike(const std::string& path, const std::vector<std::string>& others) {
  for (const std::string& other : others) {
    std::error_code ignored;  // of one that does not exist
    if (path == other || std::filesystem::equivalent(path, other, ignored))
      throw UserError(
          fmt::format("{}: this command reads or writes that file already; name another file", path));
  }
}

void RequireWritable(const std::string& path, const std::vector<std::string>& others) {
  if (path.empty()) return;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const std::string where = folder.empty() ? "." : folder.string();
  if (access((where + "/").c_str(), W_OK | X_OK) != 0) {  // the slash: it must be a folder
    throw UserError(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  }
  if (std::filesystem::is_directory(path)) throw UserError(fmt::format("{} is a folder; name a file", path));
  RequireUnlike(path, others);
}

uint64_t SecretSeed() {
  std::random_device device;
  return (uint64_t{device()} << 21) ^ device();  // fits a JSON number exactly
}

}  // namespace tritogen
