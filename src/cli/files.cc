#include "cli/files.h"

#include <fmt/format.h>

#include <random>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/utf8.h"

namespace tritogen {

std::string ReadSource(const std::string& path) {
  std::string text = ReadFile(path, /*max_bytes=*/4 << 20);
  if (text.empty()) throw UserError(fmt::format("'{}' is empty", path));
  if (!IsUtf8(text)) throw UserError(fmt::format("'{}' is not UTF-8 text", path));
  return text;
}

uint64_t SecretSeed() {
  std::random_device device;
  return (uint64_t{device()} << 21) ^ device();  // fits a JSON number exactly
}

}  // namespace tritogen
