// Shards: records as JSON lines, compressed with zstd, each file complete or absent.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/record.h"
#include "data/tally.h"

namespace tritogen::data {

// One compressed file.
struct FileInfo {
  int64_t records = 0, bytes = 0;
  std::string sha256;  // of the file
  // Of the lines in it: equal on machines whose zstd compresses otherwise.
  std::string lines_sha256;
};

// Draws [first, first + draws) of a set and what became of them.
struct ShardInfo {
  int64_t index = 0, first = 0, draws = 0;
  FileInfo records, failures;  // answers that were judged and did not pass are kept, too, but apart
  Tally tally;
};

std::string ShardName(int64_t index);     // "shard-00012.jsonl.zst"
std::string FailuresName(int64_t index);  // "failures-00012.jsonl.zst"
std::string InfoName(int64_t index);      // "shard-00012.json": until the manifest has it

nlohmann::ordered_json ToJson(const ShardInfo& info);
ShardInfo ShardInfoFrom(const nlohmann::json& json);  // throws FormatError

// Lines, each with its line break. Throws UserError when the disk is full and the like.
FileInfo WriteLines(const std::filesystem::path& path, std::string_view lines);
// Throws UserError when the file is not what `info` says: missing, cut off, changed.
void CheckFile(const std::filesystem::path& path, const FileInfo& info);
// The lines of a file that CheckFile accepts.
std::string ReadLines(const std::filesystem::path& path, const FileInfo& info);
// The lines of a file whose info is not at hand: of a shard, where the name ends in .zst, else plain text.
std::string ReadLines(const std::filesystem::path& path);
// Calls with every record. Throws UserError naming file and line of what is no record.
std::vector<Record> ReadRecords(const std::filesystem::path& path, const FileInfo& info);

// zstd, with a checksum. The plain text of one frame, at most `max_bytes` long; throws FormatError for
// anything else.
std::string Compress(std::string_view plain);
std::string Decompress(std::string_view compressed, size_t max_bytes);

}  // namespace tritogen::data
