#include "data/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/json_cursor.h"
#include "base/sha256.h"

namespace tritogen::data {
namespace {

constexpr int64_t kMost = int64_t{1} << 53;
constexpr size_t kMostFile = size_t{1} << 30, kMostPlain = size_t{4} << 30;

nlohmann::ordered_json ToJson(const FileInfo& info) {
  return {{"records", info.records},
          {"bytes", info.bytes},
          {"sha256", info.sha256},
          {"lines_sha256", info.lines_sha256}};
}

FileInfo FileInfoFrom(const JsonCursor& at) {
  at.ExpectKeys({"records", "bytes", "sha256", "lines_sha256"});
  return {at["records"].Int(0, kMost), at["bytes"].Int(0, kMost), at["sha256"].String(64),
          at["lines_sha256"].String(64)};
}

std::string ReadChecked(const std::filesystem::path& path, const FileInfo& info) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) throw UserError(fmt::format("{} is missing", path.string()));
  if (size != static_cast<uintmax_t>(info.bytes))
    throw UserError(fmt::format("{} has {} bytes where it should have {}: it was {}", path.string(), size,
                                info.bytes,
                                size < static_cast<uintmax_t>(info.bytes) ? "cut off" : "changed"));
  std::string bytes = ReadFile(path, kMostFile);
  if (Sha256Hex(bytes) != info.sha256)
    throw UserError(
        fmt::format("{} is damaged: its SHA-256 is not the one it was written with", path.string()));
  return bytes;
}

}  // namespace

std::string ShardName(int64_t index) {
  return fmt::format("shard-{:05}.jsonl.zst", index);
}
std::string FailuresName(int64_t index) {
  return fmt::format("failures-{:05}.jsonl.zst", index);
}
std::string InfoName(int64_t index) {
  return fmt::format("shard-{:05}.json", index);
}

nlohmann::ordered_json ToJson(const ShardInfo& info) {
  return {{"index", info.index},
          {"first", info.first},
          {"draws", info.draws},
          {"records", ToJson(info.records)},
          {"failures", ToJson(info.failures)},
          {"tally", ToJson(info.tally)}};
}

ShardInfo ShardInfoFrom(const nlohmann::json& json) {
  const JsonCursor at(json);
  at.ExpectKeys({"index", "first", "draws", "records", "failures", "tally"});
  return {at["index"].Int(0, kMost),   at["first"].Int(0, kMost),    at["draws"].Int(1, kMost),
          FileInfoFrom(at["records"]), FileInfoFrom(at["failures"]), TallyFrom(at["tally"].json())};
}

FileInfo WriteLines(const std::filesystem::path& path, std::string_view lines) {
  const std::string compressed = Compress(lines);
  WriteFileAtomic(path, compressed);
  return {std::count(lines.begin(), lines.end(), '\n'), static_cast<int64_t>(compressed.size()),
          Sha256Hex(compressed), Sha256Hex(lines)};
}

void CheckFile(const std::filesystem::path& path, const FileInfo& info) {
  ReadChecked(path, info);
}

std::string ReadLines(const std::filesystem::path& path, const FileInfo& info) {
  try {
    return Decompress(ReadChecked(path, info), kMostPlain);
  } catch (const FormatError& error) {
    throw UserError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

std::string ReadLines(const std::filesystem::path& path) {
  std::string bytes = ReadFile(path, path.extension() == ".zst" ? kMostFile : kMostPlain);
  if (path.extension() != ".zst") return bytes;
  try {
    return Decompress(bytes, kMostPlain);
  } catch (const FormatError& error) {
    throw UserError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

std::vector<Record> ReadRecords(const std::filesystem::path& path, const FileInfo& info) {
  const std::string lines = ReadLines(path, info);
  std::vector<Record> records;
  for (std::string_view rest = lines; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    try {
      records.push_back(FromLine(rest.substr(0, end)));
    } catch (const FormatError& error) {
      throw UserError(fmt::format("{}, line {}: {}", path.string(), records.size() + 1, error.what()));
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return records;
}

}  // namespace tritogen::data
