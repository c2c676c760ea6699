#include "data/manifest.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/json_cursor.h"
#include "base/json_text.h"
#include "base/sha256.h"

namespace tritogen::data {
namespace {

constexpr size_t kMostShards = 1'000'000, kMostManifest = size_t{1} << 30;

}  // namespace

Tally Manifest::tally() const {
  Tally sum;
  for (const ShardInfo& shard : shards) sum.Add(shard.tally);
  return sum;
}

std::string SetHash(const nlohmann::ordered_json& identity) {
  return Sha256Hex(identity.dump());
}

nlohmann::ordered_json ToJson(const Manifest& manifest) {
  nlohmann::ordered_json shards = nlohmann::ordered_json::array();
  for (const ShardInfo& shard : manifest.shards) shards.push_back(ToJson(shard));
  return {
      {"format", kFormat},         {"set", SetHash(manifest.config)}, {"records", manifest.tally().records},
      {"config", manifest.config}, {"versions", manifest.versions},   {"shards", shards}};
}

Manifest ManifestFrom(std::string_view text) {
  const nlohmann::ordered_json ordered = nlohmann::ordered_json::parse(text, nullptr, false);
  if (ordered.is_discarded()) throw FormatError("no JSON");
  const nlohmann::json json = nlohmann::json::parse(text);
  const JsonCursor at(json);
  at.ExpectKeys({"format", "set", "records", "config", "versions", "shards"});
  if (at["format"].String(100) != kFormat) at["format"].Fail(fmt::format("is not '{}'", kFormat));
  at["config"].ExpectObject();
  Manifest manifest{.config = ordered.at("config")};
  if (at["set"].String(64) != SetHash(manifest.config)) at["set"].Fail("is not the hash of config");
  const size_t versions = at["versions"].Size(100);
  for (size_t i = 0; i < versions; ++i) manifest.versions.push_back(at["versions"][i].String(200));
  const size_t shards = at["shards"].Size(kMostShards);
  int64_t next = 0;
  for (size_t i = 0; i < shards; ++i) {
    manifest.shards.push_back(ShardInfoFrom(at["shards"][i].json()));
    const ShardInfo& shard = manifest.shards.back();
    if (shard.index != static_cast<int64_t>(i) || shard.first != next)
      at["shards"][i].Fail(fmt::format("is not the shard of draws from {} on", next));
    if (shard.records.records != shard.tally.records) at["shards"][i].Fail("its numbers of records differ");
    next += shard.draws;
  }
  if (at["records"].Int(0, int64_t{1} << 53) != manifest.tally().records)
    at["records"].Fail("is not the sum over the shards");
  return manifest;
}

Manifest ReadManifest(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kManifestName;
  if (!std::filesystem::is_directory(folder))
    throw UserError(fmt::format("there is no data set '{}'", folder.string()));
  if (!std::filesystem::exists(path))
    throw UserError(
        fmt::format("'{}' has no {}: it is no data set, or not finished; data build goes on with it",
                    folder.string(), kManifestName));
  try {
    return ManifestFrom(ReadFile(path, kMostManifest));
  } catch (const FormatError& error) {
    throw UserError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

std::vector<ShardInfo> FindShards(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder) || std::filesystem::exists(folder / kManifestName))
    return ReadManifest(folder).shards;
  std::vector<ShardInfo> shards;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("shard-") || !name.ends_with(".json")) continue;
    try {
      shards.push_back(ShardInfoFrom(ParseJson(ReadFile(entry.path()))));
      if (InfoName(shards.back().index) != name) throw FormatError("it is of another shard");
    } catch (const FormatError& error) {
      throw UserError(fmt::format("{}: {}", entry.path().string(), error.what()));
    }
  }
  if (shards.empty())
    throw UserError(fmt::format("'{}' has neither {} nor shards with their infos: it is no data set",
                                folder.string(), kManifestName));
  std::sort(shards.begin(), shards.end(),
            [](const ShardInfo& a, const ShardInfo& b) { return a.index < b.index; });
  return shards;
}

std::vector<std::string> VerifyFiles(const std::filesystem::path& folder, const Manifest& manifest) {
  std::vector<std::string> faults;
  auto check = [&](const std::string& name, const FileInfo& info) {
    try {
      CheckFile(folder / name, info);
    } catch (const UserError& error) {
      faults.push_back(error.what());
    }
  };
  for (const ShardInfo& shard : manifest.shards) {
    check(ShardName(shard.index), shard.records);
    check(FailuresName(shard.index), shard.failures);
  }
  return faults;
}

}  // namespace tritogen::data
