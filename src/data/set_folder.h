// SetFolder: a set while it is built. Every shard that is done has an info file, written after the shard; the
// manifest comes last and takes the infos' place. Killed at any moment, what is there is whole, and the next
// build goes on behind it. Shards of one set may be built in several folders and copied together.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/fd.h"
#include "data/manifest.h"

namespace tritogen::data {

class SetFolder {
 public:
  // Makes the folder, or looks at what earlier builds left: damaged shards count as not built, with a remark.
  // Throws UserError when the folder holds another set, when another build works in it, or when it cannot be
  // written.
  SetFolder(std::filesystem::path path, nlohmann::ordered_json identity, int64_t shards);

  bool Has(int64_t shard) const { return done_.contains(shard); }
  const std::map<int64_t, ShardInfo>& done() const { return done_; }
  const std::vector<std::string>& remarks() const { return remarks_; }

  // Writes a shard. The files' part of `info` is filled in. Throws UserError when the disk is full.
  void Add(ShardInfo info, std::string_view records, std::string_view failures);
  // Writes the manifest when every shard is there; says whether.
  bool Finish(const std::vector<std::string>& versions);

 private:
  void Lock();
  void CompareIdentity();
  void RemoveRemains();
  void FindShards();
  void Find(ShardInfo info);

  std::filesystem::path path_;
  nlohmann::ordered_json identity_;
  int64_t shards_;
  UniqueFd lock_;
  bool finished_ = false;  // the manifest that is there has what is in done_
  std::map<int64_t, ShardInfo> done_;
  std::vector<std::string> remarks_;
};

}  // namespace tritogen::data
