// One request a line on standard input, {} a line on standard output. Steps of training over one batch of
// documents, which tests/train compares with transformers and torch.optim.
//   {"load": FOLDER, "documents": [{"tokens": [ID, …], "targets": [ID or -1, …], "weights": [NUMBER, …]}, …],
//    "fused": BOOL, "checkpointing": BOOL, "rates": [NUMBER, …], "weight_decay": NUMBER, "clip": NUMBER,
//    "epsilon": NUMBER, "out": FILE}
// FILE: "losses" [steps]; "gradient.NAME" of the first step; "weight.NAME" after the last. All float32.
#include <ATen/ATen.h>

#include <iostream>

#include "base/json_text.h"
#include "model/model_folder.h"
#include "train/batch_feed.h"
#include "train/optimizer.h"
#include "train/training_pass.h"

namespace tritogen::train {
namespace {

using nlohmann::json;

DeviceBatch BatchOf(const json& documents) {
  std::vector<int32_t> tokens, targets, positions, starts = {0};
  std::vector<float> weights;
  for (const json& document : documents) {
    for (size_t i = 0; i < document["tokens"].size(); ++i) {
      tokens.push_back(document["tokens"][i]);
      targets.push_back(document["targets"][i]);
      weights.push_back(document["weights"][i]);
      positions.push_back(static_cast<int32_t>(i));
    }
    starts.push_back(static_cast<int32_t>(tokens.size()));
  }
  return OnHost({tokens, targets, weights, positions, starts}, /*page_locked=*/false);
}

json Answer(const json& request) {
  const DecoderWeights loaded = LoadDecoder(request["load"].get<std::string>(), at::kFloat, at::kCPU);
  FlatWeights weights = MakeFlatWeights(loaded.config, at::kFloat, at::kCPU);
  FlatWeights gradients = MakeFlatWeights(loaded.config, at::kFloat, at::kCPU);
  const auto own = weights.weights.Named();
  for (const auto& [name, tensor] : loaded.Named()) own.at(name).copy_(tensor);

  const DeviceBatch batch = BatchOf(request["documents"]);
  const PassShape shape{batch.tokens.numel(), batch.starts.numel() - 1, batch.tokens.numel(),
                        request["checkpointing"]};
  const bool fused = request["fused"];
  const auto pass = (fused ? MakeFusedPass : MakePlainPass)(weights, gradients, shape);
  const AdamWOptions options{
      .epsilon = request["epsilon"], .weight_decay = request["weight_decay"], .clip = request["clip"]};
  AdamW adamw(weights, 0, weights.flat.numel(), options, !fused);

  const auto rates = request["rates"].get<std::vector<double>>();
  std::map<std::string, at::Tensor> results;
  std::vector<float> losses;
  for (const double rate : rates) {
    losses.push_back(pass->LossAndGradients(batch, 1, /*add=*/false).item<float>());
    for (const auto& [name, tensor] : gradients.weights.Named())
      results.emplace("gradient." + name, tensor.clone());  // stays the first step's
    adamw.Step(gradients.flat, adamw.SquaredNorm(gradients.flat), rate);
  }
  results.emplace("losses", at::tensor(losses));
  for (const auto& [name, tensor] : own) results.emplace("weight." + name, tensor);

  TensorMap views;
  for (const auto& [name, tensor] : results) {
    views[name] = {Dtype::kFloat32,
                   tensor.sizes().vec(),
                   {static_cast<const char*>(tensor.data_ptr()), tensor.nbytes()}};
  }
  WriteSafetensors(request["out"].get<std::string>(), views, {});
  return json::object();
}

}  // namespace
}  // namespace tritogen::train

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << tritogen::train::Answer(tritogen::ParseJson(line)) << std::endl;
  }
}
