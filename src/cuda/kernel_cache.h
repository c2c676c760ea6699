// A folder of content-addressed entries, one file each: written atomically, checked by a checksum when read,
// bounded in size, the least recently used ones dropped first. Any number of processes may share the folder:
// what is in it is never trusted, only verified.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace tritogen::cuda {

class KernelCache {
 public:
  // Makes the folder. With n writing processes it holds at most max_bytes × (1 + n/8). Throws UserError when
  // it cannot be made.
  KernelCache(std::filesystem::path folder, int64_t max_bytes);

  // REQUIRES: `key` is lower-case hexadecimal. An entry that is damaged in any way is removed, and is none.
  // Both are thread-safe. Put keeps nothing where the folder cannot be written.
  std::optional<std::string> Get(std::string_view key);
  void Put(std::string_view key, std::string_view payload);

 private:
  std::filesystem::path PathOf(std::string_view key) const;
  void Evict();

  const std::filesystem::path folder_;
  const int64_t max_bytes_;
  std::mutex mutex_;
  int64_t written_since_eviction_ = 0;
};

}  // namespace tritogen::cuda
