// Which tensors a model has, by the names of Hugging Face's checkpoints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/config.h"
#include "model/safetensors.h"

namespace tritogen {

struct ExpectedTensor {
  std::string name;
  std::vector<int64_t> shape;  // matrices are [out, in]
};

// In the order of the computation. Tied models have no lm_head.weight.
std::vector<ExpectedTensor> ExpectedTensors(const ModelConfig& config);
// Elements of all of them.
int64_t Parameters(const ModelConfig& config);

// What a checkpoint has and lacks, in sentences for a person; empty when it fits. Tensors that the model
// computes itself (rotary inverse frequencies) and the lm_head of a tied model, which is the embedding once
// more, do no harm.
std::vector<std::string> WeightProblems(const ModelConfig& config, const TensorMap& tensors);

// Throws UserError naming `where` and the first problems: names, shapes, a dtype that is not fp32, bf16 or
// fp16.
void CheckWeights(const ModelConfig& config, const TensorMap& tensors, std::string_view where);

// Throws UserError naming the first tensor with a NaN or an infinity and the element. Reads every byte.
void CheckFinite(const TensorMap& tensors, std::string_view where);

}  // namespace tritogen
