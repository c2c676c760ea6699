// One rank's part of a decoder that several compute together (tensor parallelism: Shoeybi et al. 2019, arXiv
// 1909.08053). Each has some of the heads and of the MLP's columns: q, k, v, gate and up are cut by their
// outputs, the attention's output and down by their inputs, so that the ranks' results of these two are to be
// summed. Where there are fewer key heads than ranks, several ranks have the same one. Embedding and norms
// are whole on all of them. The output projection is cut by tokens, unless it is the embedding or the
// vocabulary does not divide.
#pragma once

#include "model/decoder.h"

namespace tritogen {

struct ModelPart {
  int rank = 0, size = 1;
};

// Throws UserError naming the numbers that do not divide.
void CheckDivides(const ModelConfig& config, int size);

// The part as a model of its own: the same but for heads, kv_heads and intermediate. REQUIRES: it divides.
ModelConfig PartConfig(const ModelConfig& config, const ModelPart& part);
int64_t PartOutputRows(const ModelConfig& config, const ModelPart& part);

// Uninitialised; `config` of the whole model, that of the result is the part's.
DecoderWeights MakePart(const ModelConfig& config, const ModelPart& part, at::ScalarType dtype,
                        at::Device device);

// Copies the part of each tensor of the whole model, which `whole` gives by its name (weights.h:
// ExpectedTensors), on any device and of any dtype. What is added to a sum of all ranks (biases of the
// attention's output and of down) is rank 0's; the others have zeros.
void CopyPart(const ModelConfig& config, const ModelPart& part,
              const std::function<at::Tensor(const std::string& name)>& whole, DecoderWeights* weights);

}  // namespace tritogen
