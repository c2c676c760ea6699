#include "cuda/kernel_cache.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/sha256.h"

namespace tritogen::cuda {
namespace {

namespace fs = std::filesystem;

// An entry: magic, SHA-256 of the payload in hexadecimal, newline, payload.
constexpr std::string_view kMagic = "tritogen kernel 1 ";
constexpr size_t kHeaderBytes = kMagic.size() + 64 + 1;
constexpr size_t kMaxEntryBytes = size_t{256} << 20;
// Temporary files that a killed writer left are as old as that.
constexpr std::chrono::hours kAbandoned{1};

struct Entry {
  fs::file_time_type used;
  int64_t bytes;
  fs::path path;
};

// Files of two levels of folders. Other processes remove and add files meanwhile: what is gone is skipped.
std::vector<Entry> ListEntries(const fs::path& folder) {
  std::vector<Entry> entries;
  std::error_code error;
  fs::recursive_directory_iterator end, at(folder, fs::directory_options::skip_permission_denied, error);
  while (!error && at != end) {
    std::error_code gone;
    const bool regular = at->is_regular_file(gone) && !at->is_symlink(gone);
    const auto bytes = regular ? static_cast<int64_t>(at->file_size(gone)) : 0;
    const auto used = regular ? at->last_write_time(gone) : fs::file_time_type();
    if (regular && !gone) entries.push_back({used, bytes, at->path()});
    at.increment(error);
  }
  return entries;
}

std::optional<std::string> ReadEntry(const fs::path& path) {
  std::string text;
  try {
    text = ReadFile(path, kMaxEntryBytes);
  } catch (const UserError&) {
    return std::nullopt;
  }
  if (text.size() < kHeaderBytes || !text.starts_with(kMagic) || text[kHeaderBytes - 1] != '\n')
    return std::nullopt;
  const std::string sum = text.substr(kMagic.size(), 64);
  text.erase(0, kHeaderBytes);
  if (Sha256Hex(text) != sum) return std::nullopt;
  return text;
}

}  // namespace

KernelCache::KernelCache(fs::path folder, int64_t max_bytes)
    : folder_(std::move(folder)), max_bytes_(max_bytes) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) {
    throw UserError(fmt::format("cannot make the kernel cache {}: {}", folder_.string(), error.message()));
  }
}

fs::path KernelCache::PathOf(std::string_view key) const {
  TRITOGEN_CHECK(key.size() > 2 && key.find_first_not_of("0123456789abcdef") == std::string_view::npos);
  return folder_ / key.substr(0, 2) / key.substr(2);
}

std::optional<std::string> KernelCache::Get(std::string_view key) {
  const fs::path path = PathOf(key);
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  std::optional<std::string> payload = ReadEntry(path);
  if (payload) {
    fs::last_write_time(path, fs::file_time_type::clock::now(), error);  // used now; a refusal does no harm
  } else {
    fs::remove_all(path, error);
  }
  return payload;
}

void KernelCache::Put(std::string_view key, std::string_view payload) {
  const fs::path path = PathOf(key);
  std::error_code error;
  fs::create_directories(path.parent_path(), error);  // WriteFileAtomic names the folder when this failed
  std::string text = fmt::format("{}{}\n", kMagic, Sha256Hex(payload));
  text += payload;
  try {
    WriteFileAtomic(path, text);
  } catch (const UserError&) {  // a full disk: who has compiled something has it all the same
    return;
  }
  std::lock_guard lock(mutex_);
  written_since_eviction_ += static_cast<int64_t>(text.size());
  if (written_since_eviction_ > max_bytes_ / 8) Evict();
}

// Down to what leaves room for an eighth more, so that the bound holds until the next time.
void KernelCache::Evict() {
  written_since_eviction_ = 0;
  std::vector<Entry> entries = ListEntries(folder_);
  int64_t total = 0;
  for (const Entry& entry : entries) total += entry.bytes;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    const bool temporary = entry.path.has_extension();  // of a writer at work, or one that was killed
    const bool abandoned = temporary && fs::file_time_type::clock::now() - entry.used > kAbandoned;
    if (!abandoned && (temporary || total <= max_bytes_ - max_bytes_ / 8)) continue;
    std::error_code error;
    fs::remove(entry.path, error);
    total -= entry.bytes;
  }
}

}  // namespace tritogen::cuda
