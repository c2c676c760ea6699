// Manifest: what a complete set is. It is written last, so a folder with a manifest has every shard.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/shard.h"

namespace tritogen::data {

inline constexpr std::string_view kFormat = "tritogen data 1";
inline constexpr const char* kManifestName = "manifest.json";

struct Manifest {
  nlohmann::ordered_json config;      // Identity of the options
  std::vector<std::string> versions;  // "torch 2.11.0": of the program that finished the set
  std::vector<ShardInfo> shards;      // all of them, in order
  Tally tally() const;                // the sum
};

// SHA-256 of what decides a set's contents.
std::string SetHash(const nlohmann::ordered_json& identity);

nlohmann::ordered_json ToJson(const Manifest& manifest);
// Throws FormatError for what is no manifest, or does not agree with itself.
Manifest ManifestFrom(std::string_view text);

// Of a finished set. Throws UserError: no such folder, not finished, broken.
Manifest ReadManifest(const std::filesystem::path& folder);

// The shards of a set that are there: all of a finished set, of another one those with an info file. Throws
// UserError: no such folder, no shard in it, a broken info.
std::vector<ShardInfo> FindShards(const std::filesystem::path& folder);

// Checks every file of a set against its manifest; one sentence for each that is not as it should be.
std::vector<std::string> VerifyFiles(const std::filesystem::path& folder, const Manifest& manifest);

}  // namespace tritogen::data
