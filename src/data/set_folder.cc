#include "data/set_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/atomic_file.h"
#include "base/error.h"

namespace tritogen::data {
namespace {

constexpr const char* kSetName = "set.json";  // whose folder this is, from the first moment on

// The first key whose value differs, as a path: "programs.sizes".
std::string Difference(const nlohmann::ordered_json& a, const nlohmann::ordered_json& b) {
  const auto patch = nlohmann::ordered_json::diff(a, b);
  if (patch.empty()) return "";
  std::string path = patch.at(0).at("path");
  std::replace(path.begin(), path.end(), '/', '.');
  return path.substr(std::min<size_t>(1, path.size()));
}

// A file that was being written when its program was killed: "shard-00001.jsonl.zst.1a2b3c4d".
bool IsRemains(const std::string& name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos || name.size() - dot != 9) return false;
  if (name.find_first_not_of("0123456789abcdef", dot + 1) != std::string::npos) return false;
  return name.starts_with("shard-") || name.starts_with("failures-") || name.starts_with(kManifestName) ||
         name.starts_with(kSetName);
}

}  // namespace

SetFolder::SetFolder(std::filesystem::path path, nlohmann::ordered_json identity, int64_t shards)
    : path_(std::move(path)), identity_(std::move(identity)), shards_(shards) {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error) throw UserError(fmt::format("cannot make {}: {}", path_.string(), error.message()));
  Lock();
  CompareIdentity();
  RemoveRemains();
  FindShards();
}

void SetFolder::Lock() {
  const std::string name = (path_ / ".lock").string();
  lock_.Reset(open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!lock_.valid()) throw UserError(fmt::format("cannot write {}: {}", name, std::strerror(errno)));
  // A lock of this process alone: judges, forked from it, would keep a flock for a moment after it was
  // killed.
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (fcntl(lock_.get(), F_SETLK, &whole) != 0)
    throw UserError(fmt::format("another build works in {}; wait for it, or build other shards elsewhere",
                                path_.string()));
}

void SetFolder::CompareIdentity() {
  const std::filesystem::path file = path_ / kSetName;
  if (!std::filesystem::exists(file)) {
    WriteFileAtomic(file, identity_.dump(1) + "\n");
    return;
  }
  const auto there = nlohmann::ordered_json::parse(ReadFile(file), nullptr, false);
  if (SetHash(there) == SetHash(identity_)) return;
  throw UserError(
      fmt::format("{} holds another set ({} differs); choose another folder with --out, or remove it",
                  path_.string(), there.is_discarded() ? kSetName : Difference(there, identity_)));
}

void SetFolder::RemoveRemains() {
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    std::error_code ignored;
    if (IsRemains(entry.path().filename().string())) std::filesystem::remove(entry.path(), ignored);
  }
}

void SetFolder::FindShards() {
  if (std::filesystem::exists(path_ / kManifestName)) {
    try {
      const Manifest manifest = ReadManifest(path_);
      for (const ShardInfo& info : manifest.shards) Find(info);
      finished_ = static_cast<int64_t>(done_.size()) == shards_;
    } catch (const UserError& error) {
      remarks_.push_back(error.what());
    }
  }
  for (int64_t i = 0; i < shards_; ++i) {
    const std::filesystem::path file = path_ / InfoName(i);
    if (Has(i) || !std::filesystem::exists(file)) continue;
    try {
      const auto json = nlohmann::json::parse(ReadFile(file), nullptr, false);
      ShardInfo info = ShardInfoFrom(json.is_object() ? json : nlohmann::json::object());
      if (info.index != i) throw FormatError("it is of another shard");
      Find(std::move(info));
    } catch (const FormatError& error) {
      remarks_.push_back(fmt::format("{}: {}", file.string(), error.what()));
    }
  }
}

void SetFolder::Find(ShardInfo info) {
  try {
    CheckFile(path_ / ShardName(info.index), info.records);
    CheckFile(path_ / FailuresName(info.index), info.failures);
    done_.emplace(info.index, std::move(info));
  } catch (const UserError& error) {
    remarks_.push_back(fmt::format("{}; it is built anew", error.what()));
  }
}

void SetFolder::Add(ShardInfo info, std::string_view records, std::string_view failures) {
  finished_ = false;
  info.records = WriteLines(path_ / ShardName(info.index), records);
  info.failures = WriteLines(path_ / FailuresName(info.index), failures);
  WriteFileAtomic(path_ / InfoName(info.index), ToJson(info).dump(1) + "\n");
  done_.insert_or_assign(info.index, std::move(info));
}

bool SetFolder::Finish(const std::vector<std::string>& versions) {
  if (static_cast<int64_t>(done_.size()) != shards_) return false;
  if (!finished_) {
    Manifest manifest{.config = identity_, .versions = versions};
    for (const auto& [index, info] : done_) manifest.shards.push_back(info);
    WriteFileAtomic(path_ / kManifestName, ToJson(manifest).dump(1) + "\n");
    finished_ = true;
  }
  std::error_code ignored;
  for (int64_t i = 0; i < shards_; ++i) std::filesystem::remove(path_ / InfoName(i), ignored);
  return true;
}

}  // namespace tritogen::data
