#include "train/checkpoint.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <map>

#include "base/atomic_file.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/json_cursor.h"
#include "base/json_text.h"
#include "base/mapped_file.h"
#include "model/model_folder.h"

namespace tritogen::train {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kFormat = "tritogen training 1";
constexpr const char* kState = "optimizer.safetensors";
constexpr const char* kPosition = "training.json";
constexpr const char* kPartial = ".partial";
constexpr std::string_view kStep = "step-";

// The state's tensors under names of their own: "first/model.norm.weight".
template <typename Visit>
void ForEachTensor(const HostState& state, const Visit& visit) {
  for (const auto& [group, weights] :
       {std::pair("master", &state.master), {"first", &state.first}, {"second", &state.second}}) {
    for (const auto& [name, tensor] : weights->weights.Named())
      visit(fmt::format("{}/{}", group, name), tensor);
  }
}

std::string_view BytesOf(const at::Tensor& tensor) {
  TRITOGEN_CHECK(tensor.is_contiguous() && tensor.is_cpu());
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
}

void WriteState(const fs::path& path, const HostState& state) {
  TensorMap tensors;
  ForEachTensor(state, [&](const std::string& name, const at::Tensor& tensor) {
    tensors[name] = {Dtype::kFloat32, tensor.sizes().vec(), BytesOf(tensor)};
  });
  WriteSafetensors(path, tensors, {});
}

void ReadState(const fs::path& path, HostState* state) {
  const SafetensorsFile file(path);
  size_t used = 0;
  ForEachTensor(*state, [&](const std::string& name, const at::Tensor& tensor) {
    const auto found = file.tensors().find(name);
    if (found == file.tensors().end() || found->second.dtype != Dtype::kFloat32 ||
        found->second.shape != tensor.sizes().vec())
      throw UserError(
          fmt::format("{} is of another model: {} is missing, or of another shape", path.string(), name));
    std::memcpy(tensor.mutable_data_ptr(), found->second.bytes.data(), found->second.bytes.size());
    ++used;
  });
  if (used != file.tensors().size())
    throw UserError(fmt::format("{} is of another model: it has more tensors", path.string()));
}

json FileTable(const fs::path& folder) {
  json files = json::object();
  for (const auto& entry : fs::directory_iterator(folder)) {
    const MappedFile file(entry.path());
    files[entry.path().filename().string()] = {{"bytes", file.bytes().size()},
                                               {"crc32c", Crc32c(file.bytes())}};
  }
  return files;
}

json ToJson(const RunPosition& position, int64_t optimizer_steps) {
  return {{"format", kFormat},
          {"step", position.step},
          {"total", position.total},
          {"epoch", position.next.epoch},
          {"batch", position.next.batch},
          {"tokens", position.tokens},
          {"flops", position.flops},
          {"loss", position.loss},
          {"seconds", position.seconds},
          {"optimizer_steps", optimizer_steps},
          {"config", position.identity.dump()},
          {"corpus_sha256", position.corpus_sha256},
          {"products", position.products.value_or(ProductChoices())},
          {"versions", position.versions}};
}

// Runs of earlier releases have none, and compute products by ATen.
ProductChoices ProductsFrom(const JsonCursor& cursor) {
  ProductChoices products;
  if (!cursor.Has("products")) return products;
  const JsonCursor all = cursor["products"];
  all.ExpectObject();
  for (const auto& [product, ignored] : all.json().items()) {
    const JsonCursor choice = all[product];
    if (!IsProductChoice(choice.String(1000))) choice.Fail("is no algorithm of a product");
    products[product] = choice.String(1000);
  }
  return products;
}

RunPosition PositionFrom(const JsonCursor& cursor, int64_t* optimizer_steps) {
  constexpr int64_t kMost = INT64_MAX;
  if (cursor["format"].String(100) != kFormat) cursor["format"].Fail("is of another release of Tritogen");
  RunPosition position{.step = cursor["step"].Int(0, kMost),
                       .total = cursor["total"].Int(0, kMost),
                       .next = {cursor["epoch"].Int(0, kMost), cursor["batch"].Int(0, kMost)},
                       .tokens = cursor["tokens"].Int(0, kMost),
                       .flops = cursor["flops"].json().get<double>(),
                       .loss = cursor["loss"].json().get<double>(),
                       .seconds = cursor["seconds"].json().get<double>(),
                       .corpus_sha256 = cursor["corpus_sha256"].String(64),
                       .products = ProductsFrom(cursor)};
  *optimizer_steps = cursor["optimizer_steps"].Int(0, kMost);
  position.identity = nlohmann::ordered_json::parse(cursor["config"].String(1 << 20));
  return position;
}

// `text` ends with its own checksum, so that no byte of it can change unseen.
std::string WithChecksum(json value) {
  value["crc32c"] = Crc32c(value.dump());
  return value.dump(1) + "\n";
}

json ReadChecked(const fs::path& path) {
  json value = ParseJson(ReadFile(path, size_t{16} << 20), DuplicateKeys::kRefuse);
  if (!value.is_object() || !value.contains("crc32c")) throw FormatError("it has no checksum");
  const json crc = value["crc32c"];
  value.erase("crc32c");
  if (crc != Crc32c(value.dump())) throw FormatError("its checksum does not fit");
  return value;
}

void CheckFiles(const fs::path& folder, const json& files) {
  for (const auto& [name, wanted] : files.items()) {
    const fs::path path = folder / name;
    if (!Exists(path)) throw FormatError(fmt::format("{} is missing", name));
    const MappedFile file(path);
    if (wanted.at("bytes") != file.bytes().size()) throw FormatError(fmt::format("{} is cut", name));
    if (wanted.at("crc32c") != Crc32c(file.bytes())) throw FormatError(fmt::format("{} was changed", name));
  }
}

// The step in "step-00000012"; nothing for other names, such as those of copies.
std::optional<int64_t> StepOf(const std::string& name) {
  if (!name.starts_with(kStep)) return std::nullopt;
  const char *const begin = name.data() + kStep.size(), *const end = name.data() + name.size();
  int64_t step = 0;
  const auto [past, error] = std::from_chars(begin, end, step);
  return error == std::errc() && past == end && step >= 0 ? std::optional(step) : std::nullopt;
}

// In the order of their steps, which beyond 8 digits is not that of their names.
std::vector<fs::path> All(const fs::path& folder) {
  std::error_code ignored;  // there may be no folder
  std::map<int64_t, fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (const auto step = StepOf(entry.path().filename().string())) found.emplace(*step, entry.path());
  }
  std::vector<fs::path> paths;
  for (auto& [step, path] : found) paths.push_back(std::move(path));
  return paths;
}

// Its name is gone at once, its contents soon.
void RemoveFolder(const fs::path& folder) {
  std::error_code ignored;
  fs::path away = folder;
  away += std::string(".old") + kPartial;  // one that is written in its place has the other name
  fs::rename(folder, away, ignored);
  fs::remove_all(away, ignored);
}

void SyncFolder(const fs::path& folder) {
  const UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.valid()) fsync(fd.get());
}

}  // namespace

HostState::HostState(const ModelConfig& config)
    : master(MakeFlatWeights(config, at::kFloat, at::kCPU)),
      first(MakeFlatWeights(config, at::kFloat, at::kCPU)),
      second(MakeFlatWeights(config, at::kFloat, at::kCPU)) {}

Checkpoints::Checkpoints(fs::path folder, int64_t keep) : folder_(std::move(folder)), keep_(keep) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) throw UserError(fmt::format("cannot make {}: {}", folder_.string(), error.message()));
  std::vector<fs::path> remains;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (entry.path().extension() == kPartial) remains.push_back(entry.path());
  }
  for (const fs::path& path : remains) fs::remove_all(path, error);
}

std::optional<fs::path> LatestCheckpoint(const fs::path& folder) {
  const std::vector<fs::path> all = All(folder);
  return all.empty() ? std::nullopt : std::optional(all.back());
}

RunPosition LoadCheckpoint(const fs::path& checkpoint, HostState* state) {
  try {
    if (!Exists(checkpoint / kPosition)) throw FormatError(fmt::format("{} is missing", kPosition));
    const json text = ReadChecked(checkpoint / kPosition);
    CheckFiles(checkpoint, text.at("files"));
    RunPosition position = PositionFrom(JsonCursor(text), &state->steps);
    for (const json& version : text.at("versions")) position.versions.push_back(version.get<std::string>());
    ReadState(checkpoint / kState, state);
    return position;
  } catch (const std::exception& error) {
    if (dynamic_cast<const InternalError*>(&error) != nullptr) throw;
    throw UserError(fmt::format("checkpoint {} is damaged: {}; remove it to go on from the one before it",
                                checkpoint.string(), error.what()));
  }
}

fs::path Checkpoints::Save(const RunPosition& position, const HostState& state, const DecoderWeights& weights,
                           const fs::path& model_files) {
  const fs::path folder = folder_ / fmt::format("{}{:08}", kStep, position.step);
  const fs::path partial = folder.string() + kPartial;
  std::error_code ignored;
  fs::remove_all(partial, ignored);
  try {
    fs::create_directories(partial);
    SaveModel(partial, weights);
    CopyModelFiles(model_files, partial);
    WriteState(partial / kState, state);
    json text = ToJson(position, state.steps);
    text["files"] = FileTable(partial);
    WriteFileAtomic(partial / kPosition, WithChecksum(std::move(text)));
    if (Exists(folder)) RemoveFolder(folder);  // of the same step: what it held was refused, or is the same
    PublishFolder(partial, folder);
  } catch (const std::exception& error) {
    fs::remove_all(partial, ignored);
    if (dynamic_cast<const InternalError*>(&error) != nullptr) throw;
    const std::optional<fs::path> last = LatestCheckpoint(folder_);
    throw UserError(
        fmt::format("the checkpoint of step {} could not be written: {}; {}", position.step, error.what(),
                    last ? fmt::format("the last one is {}", last->string()) : "there is no other"));
  }
  const std::vector<fs::path> all = All(folder_);
  for (size_t i = 0; i + static_cast<size_t>(keep_) < all.size(); ++i) RemoveFolder(all[i]);
  return folder;
}

void CopyModelFiles(const fs::path& from, const fs::path& to) {
  for (const char* name :
       {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
        "vocab.json", "merges.txt", "chat_template.jinja", "generation_config.json"}) {
    if (Exists(from / name)) WriteFileAtomic(to / name, ReadFile(from / name));
  }
}

void PublishFolder(const fs::path& from, const fs::path& to) {
  SyncFolder(from);
  std::error_code error;
  fs::rename(from, to, error);
  if (error) throw UserError(fmt::format("cannot rename {}: {}", from.string(), error.message()));
  SyncFolder(to.parent_path());
}

}  // namespace tritogen::train
