// The weights of a model folder: model.safetensors, or shards and model.safetensors.index.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/safetensors.h"

namespace tritogen {

// All tensors of a folder, memory-mapped.
class Checkpoint {
 public:
  // Throws UserError: no weights, a missing or malformed shard, an index that names a file outside the
  // folder, a tensor that the index promises and its shard lacks, or that two shards have.
  explicit Checkpoint(const std::filesystem::path& folder);

  const TensorMap& tensors() const { return tensors_; }  // views of files that live as long as this

 private:
  void ReadShards(const std::filesystem::path& folder, const std::filesystem::path& index);
  void AddFile(const std::filesystem::path& path);

  std::vector<SafetensorsFile> files_;
  TensorMap tensors_;
};

// Tensor → file of an index's text, which is hostile: files are printable names without a folder. Throws
// FormatError.
std::map<std::string, std::string> ParseShardIndex(std::string_view text);

// Writes the tensors into the folder (made when missing) in files of at most `max_shard_bytes` of data, one
// tensor at least: model.safetensors, or shards and an index, as transformers writes and reads them. The file
// that makes the folder a checkpoint is written last. Throws UserError when the folder holds weights already,
// or cannot be written.
void WriteCheckpoint(const std::filesystem::path& folder, const TensorMap& tensors, uint64_t max_shard_bytes);

// The first element that is NaN or infinite, counted row-major; nothing when there is none, and for dtypes
// that are no floating-point ones.
std::optional<size_t> FirstNonFinite(const TensorView& tensor);

}  // namespace tritogen
