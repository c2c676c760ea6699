// One request a line on standard input, one answer a line on standard output: {} or {"error": TEXT}.
//   {"load": FOLDER, "dtype": NAME?}  or  {"fill": config.json, "seed": N, "dtype": NAME}   the weights
//   "tokens": [[ID, …], …], "logits": FILE     writes float32 logits as the tensor "logits" of a safetensors
//   file "save": FOLDER, "save_dtype": NAME?, "shard_bytes": N?
#include <ATen/ATen.h>

#include <iostream>

#include "base/error.h"
#include "base/json_text.h"
#include "model/aten_dtype.h"
#include "model/model_folder.h"

namespace tritogen {
namespace {

using nlohmann::json;

std::optional<at::ScalarType> DtypeOf(const json& request, const char* key) {
  if (!request.contains(key)) return std::nullopt;
  return WeightScalarType(*DtypeFromName(request[key].get<std::string>()));
}

DecoderWeights WeightsOf(const json& request) {
  const auto dtype = DtypeOf(request, "dtype");
  if (request.contains("load")) return LoadDecoder(request["load"].get<std::string>(), dtype, at::kCPU);
  DecoderWeights weights =
      MakeWeights(LoadModelConfig(request["fill"].get<std::string>()), dtype.value(), at::kCPU);
  FillWeights(request["seed"], &weights);
  return weights;
}

void WriteLogits(const DecoderWeights& weights, const json& request) {
  const auto rows = request["tokens"].get<std::vector<std::vector<int64_t>>>();
  const int64_t texts = static_cast<int64_t>(rows.size()), length = static_cast<int64_t>(rows[0].size());
  at::Tensor tokens = at::empty({texts, length}, at::kLong);
  for (int64_t i = 0; i < texts; ++i) tokens[i].copy_(at::tensor(rows[static_cast<size_t>(i)]));
  const at::Tensor logits = PlainLogits(weights, tokens).to(at::kFloat).contiguous();
  const TensorView view{
      Dtype::kFloat32, logits.sizes().vec(), {static_cast<const char*>(logits.data_ptr()), logits.nbytes()}};
  WriteSafetensors(request["logits"].get<std::string>(), {{"logits", view}}, {});
}

json Answer(const json& request) {
  try {
    const at::NoGradGuard no_gradients;
    const DecoderWeights weights = WeightsOf(request);
    if (request.contains("tokens")) WriteLogits(weights, request);
    if (request.contains("save")) {
      SaveModel(request["save"].get<std::string>(), weights, DtypeOf(request, "save_dtype"),
                request.value("shard_bytes", kShardBytes));
    }
    return json::object();
  } catch (const UserError& error) {
    return {{"error", error.what()}};
  }
}

}  // namespace
}  // namespace tritogen

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << tritogen::Answer(tritogen::ParseJson(line)) << std::endl;
  }
}
