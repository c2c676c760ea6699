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

}  // namespace

DecoderWeights LoadDecoder(const fs::path& folder, std::optional<at::ScalarType> dtype, at::Device device) {
  const ModelConfig config = LoadModelConfig(folder / "config.json");
  const Checkpoint checkpoint(folder);
  const std::string where = folder.string();
  CheckWeights(config, checkpoint.tensors(), where);
  CheckFinite(checkpoint.tensors(), where);
  const at::ScalarType own = WeightScalarType(checkpoint.tensors().at("model.embed_tokens.weight").dtype);
  DecoderWeights weights = MakeWeights(config, dtype.value_or(own), device);
  CopyWeights(checkpoint.tensors(), where, &weights);
  if (dtype.value_or(own) != at::kFloat) CheckConverted(weights, where);
  return weights;
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
