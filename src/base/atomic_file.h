// Files that are complete or absent.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace tritogen {

// Writes to a temporary file beside `path`, syncs it and renames it over `path`: a reader, or a crash at any
// moment, sees the old contents or the new, never a part. What is there and no regular file (a device, a
// pipe) is written to as it is. Throws UserError naming the path when that, or the folder, cannot be written.
void WriteFileAtomic(const std::filesystem::path& path, std::string_view contents);
// The parts one after another.
void WriteFileAtomic(const std::filesystem::path& path, std::span<const std::string_view> parts);
// What `write` appends, for what no memory should hold at once. When it throws nothing is written.
using AppendPart = std::function<void(std::string_view)>;
void WriteFileAtomic(const std::filesystem::path& path, const std::function<void(const AppendPart&)>& write);

// False also where nobody may look.
bool Exists(const std::filesystem::path& path);

// The whole file. Throws UserError when it is missing, no regular file, unreadable, or longer than max_bytes.
std::string ReadFile(const std::filesystem::path& path, size_t max_bytes = size_t{256} << 20);

}  // namespace tritogen
