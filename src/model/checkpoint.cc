#include "model/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/json_cursor.h"
#include "base/json_text.h"
#include "base/utf8.h"

namespace tritogen {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::string_view kSingle = "model.safetensors", kIndex = "model.safetensors.index.json";
constexpr size_t kMaxIndex = size_t{64} << 20, kMaxShards = 4096, kMaxName = 255;

// Elements whose exponent bits are all ones, a block at a time so that the inner loop has no exit.
template <typename Bits>
std::optional<size_t> FirstWithExponent(std::string_view bytes, Bits exponent) {
  constexpr size_t kBlock = 4096;
  const size_t count = bytes.size() / sizeof(Bits);
  Bits block[kBlock];
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t size = std::min(kBlock, count - begin);
    std::memcpy(block, bytes.data() + begin * sizeof(Bits), size * sizeof(Bits));
    Bits found = 0;
    for (size_t i = 0; i < size; ++i) found |= static_cast<Bits>((block[i] & exponent) == exponent);
    if (!found) continue;
    const auto bad =
        std::find_if(block, block + size, [&](Bits bits) { return (bits & exponent) == exponent; });
    return begin + static_cast<size_t>(bad - block);
  }
  return std::nullopt;
}

// Tensors in the order of their names, cut where a shard would grow too long.
std::vector<TensorMap> CutIntoShards(const TensorMap& tensors, uint64_t max_shard_bytes) {
  std::vector<TensorMap> shards(1);
  uint64_t bytes = 0;
  for (const auto& [name, tensor] : tensors) {
    if (!shards.back().empty() && bytes + tensor.bytes.size() > max_shard_bytes) {
      shards.emplace_back();
      bytes = 0;
    }
    bytes += tensor.bytes.size();
    shards.back().emplace(name, tensor);
  }
  return shards;
}

}  // namespace

std::map<std::string, std::string> ParseShardIndex(std::string_view text) {
  const json root = ParseJson(text, DuplicateKeys::kRefuse);
  const JsonCursor cursor(root);
  const JsonCursor weight_map = cursor["weight_map"];
  weight_map.ExpectObject();
  std::map<std::string, std::string> files;
  for (const auto& [tensor, value] : weight_map.json().items()) {
    const std::string& file = weight_map[tensor].String(kMaxName);
    const bool printable = PrintableText(file, kMaxName) == file;  // it comes into messages as it is
    if (file.find_first_of("/\n\t") != file.npos || !printable || !file.ends_with(".safetensors")) {
      weight_map[tensor].Fail(
          fmt::format("'{}' is no safetensors file of this folder", PrintableText(file, 100)));
    }
    files[tensor] = file;
  }
  return files;
}

Checkpoint::Checkpoint(const fs::path& folder) {
  const fs::path single = folder / kSingle, index = folder / kIndex;
  if (Exists(single)) {
    AddFile(single);
  } else if (Exists(index)) {
    ReadShards(folder, index);
  } else {
    throw UserError(fmt::format("{} has no weights: neither {} nor {}", folder.string(), kSingle, kIndex));
  }
}

void Checkpoint::AddFile(const fs::path& path) {
  const SafetensorsFile& file = files_.emplace_back(path);
  for (const auto& [name, tensor] : file.tensors()) {
    if (!tensors_.emplace(name, tensor).second) {
      throw UserError(
          fmt::format("{}: tensor '{}' is in another shard, too", path.string(), PrintableText(name, 200)));
    }
  }
}

void Checkpoint::ReadShards(const fs::path& folder, const fs::path& index) {
  std::map<std::string, std::string> weight_map;
  try {
    weight_map = ParseShardIndex(ReadFile(index, kMaxIndex));
  } catch (const FormatError& error) {
    throw UserError(fmt::format("{}: {}", index.string(), error.what()));
  }
  std::map<std::string, size_t> opened;  // file → place in files_
  for (const auto& [name, file] : weight_map) {
    if (opened.contains(file)) continue;
    if (opened.size() == kMaxShards)
      throw UserError(fmt::format("{}: more than 4096 shards", index.string()));
    opened[file] = files_.size();
    AddFile(folder / file);
  }
  for (const auto& [name, file] : weight_map) {
    if (!files_[opened[file]].tensors().contains(name)) {
      throw UserError(fmt::format("{}: tensor '{}' should be in {} and is not", index.string(),
                                  PrintableText(name, 200), file));
    }
  }
  for (const auto& [name, tensor] : tensors_) {
    if (!weight_map.contains(name)) {
      throw UserError(fmt::format("{}: a shard has tensor '{}', which the index does not know",
                                  index.string(), PrintableText(name, 200)));
    }
  }
}

void WriteCheckpoint(const fs::path& folder, const TensorMap& tensors, uint64_t max_shard_bytes) {
  for (const auto name : {kSingle, kIndex}) {
    if (Exists(folder / name)) {
      throw UserError(
          fmt::format("{} holds weights already ({}); choose another folder", folder.string(), name));
    }
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw UserError(fmt::format("cannot make {}: {}", folder.string(), error.message()));
  const std::map<std::string, std::string> metadata = {{"format", "pt"}};
  const auto shards = CutIntoShards(tensors, max_shard_bytes);
  if (shards.size() == 1) return WriteSafetensors(folder / kSingle, shards[0], metadata);
  json weight_map = json::object();
  uint64_t bytes = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string file = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    WriteSafetensors(folder / file, shards[i], metadata);
    for (const auto& [name, tensor] : shards[i]) {
      weight_map[name] = file;
      bytes += tensor.bytes.size();
    }
  }
  const json index = {{"metadata", {{"total_size", bytes}}}, {"weight_map", weight_map}};
  WriteFileAtomic(folder / kIndex, index.dump(2) + "\n");
}

std::optional<size_t> FirstNonFinite(const TensorView& tensor) {
  switch (tensor.dtype) {
    case Dtype::kFloat16:
      return FirstWithExponent<uint16_t>(tensor.bytes, 0x7c00);
    case Dtype::kBFloat16:
      return FirstWithExponent<uint16_t>(tensor.bytes, 0x7f80);
    case Dtype::kFloat32:
      return FirstWithExponent<uint32_t>(tensor.bytes, 0x7f800000);
    case Dtype::kFloat64:
      return FirstWithExponent<uint64_t>(tensor.bytes, 0x7ff0000000000000);
    default:
      return std::nullopt;
  }
}

}  // namespace tritogen
