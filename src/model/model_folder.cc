#include "model/model_folder.h"

#include <ATen/ATen.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "model/aten_dtype.h"
#include "model/checkpoint.h"
#include "model/weights.h"

namespace tritogen {
namespace {

namespace fs = std::filesystem;

// A number that float32 or bfloat16 holds may be infinite in a narrower dtype.
void CheckConverted(const DecoderWeights& weights, const std::string& where) {
  for (const auto& [name, tensor] : weights.Named()) {
    if (at::isfinite(tensor).all().item<bool>()) continue;
    throw UserError(fmt::format("{} of {} has values that are too large for {}; use bfloat16 or float32",
                                name, where, DtypeName(WeightDtype(tensor.scalar_type()))));
  }
}

// A folder's files, checked but for the values that other ranks look at.
struct OpenedFolder {
  OpenedFolder(const fs::path& folder, const ModelPart& part)
      : config(LoadModelConfig(folder / "config.json")), checkpoint(folder), where(folder.string()) {
    CheckDivides(config, part.size);
    CheckWeights(config, checkpoint.tensors(), where);
    TensorMap own;
    int index = 0;
    for (const auto& [name, view] : checkpoint.tensors()) {
      if (index++ % part.size == part.rank) own.emplace(name, view);
    }
    CheckFinite(own, where);
  }
  at::ScalarType dtype() const {
    return WeightScalarType(checkpoint.tensors().at("model.embed_tokens.weight").dtype);
  }
  void Copy(const ModelPart& part, DecoderWeights* weights) const {
    CopyPart(
        config, part, [&](const std::string& name) { return TensorOf(checkpoint.tensors().at(name)); },
        weights);
    if (weights->embedding.scalar_type() != at::kFloat) CheckConverted(*weights, where);
  }

  ModelConfig config;
  Checkpoint checkpoint;
  std::string where;
};

}  // namespace

DecoderWeights LoadDecoder(const fs::path& folder, std::optional<at::ScalarType> dtype, at::Device device,
                           const ModelPart& part) {
  const OpenedFolder opened(folder, part);
  DecoderWeights weights = MakePart(opened.config, part, dtype.value_or(opened.dtype()), device);
  opened.Copy(part, &weights);
  return weights;
}

void ReadPart(const fs::path& folder, const ModelPart& part, DecoderWeights* weights) {
  OpenedFolder(folder, part).Copy(part, weights);
}

void SaveModel(const fs::path& folder, const DecoderWeights& weights, std::optional<at::ScalarType> dtype,
               uint64_t max_shard_bytes) {
  const at::ScalarType type = dtype.value_or(weights.embedding.scalar_type());
  std::map<std::string, at::Tensor> tensors;  // what the views point to
  TensorMap views;
  for (const auto& [name, tensor] : weights.Named()) {
    const at::Tensor here = tensor.detach().to(at::kCPU, type).contiguous();
    tensors.emplace(name, here);
    views[name] = {WeightDtype(type), here.sizes().vec(),
                   std::string_view(static_cast<const char*>(here.data_ptr()), here.nbytes())};
  }
  WriteCheckpoint(folder, views, max_shard_bytes);
  WriteFileAtomic(folder / "config.json", WriteModelConfig(weights.config, DtypeName(WeightDtype(type))));
}

}  // namespace tritogen
