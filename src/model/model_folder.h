// Whole models as folders: config.json and weights, as transformers reads and writes them.
#pragma once

#include <filesystem>
#include <optional>

#include "model/part.h"

namespace tritogen {

inline constexpr uint64_t kShardBytes = uint64_t{5} << 30;  // as transformers has it

// Everything is checked before memory is allocated for it: the configuration, the files' structure, names,
// shapes, dtypes, and that every value is finite. Throws UserError naming the folder or file: for these, and
// for values that are too large for `dtype`; c10::OutOfMemoryError when the device's memory is too small.
// Without `dtype`: that of the checkpoint's embedding. One rank's part: throws UserError for a model that
// does not divide; the ranks share out the look for values that are not finite, among all of them every
// tensor is checked.
DecoderWeights LoadDecoder(const std::filesystem::path& folder, std::optional<at::ScalarType> dtype,
                           at::Device device, const ModelPart& part = {});
// Into tensors that LoadDecoder made, from files that are others now, of the same configuration.
void ReadPart(const std::filesystem::path& folder, const ModelPart& part, DecoderWeights* weights);

// The weights first, config.json last. Without `dtype`: the weights' own. Throws UserError when the folder
// holds weights already, or cannot be written.
void SaveModel(const std::filesystem::path& folder, const DecoderWeights& weights,
               std::optional<at::ScalarType> dtype = std::nullopt, uint64_t max_shard_bytes = kShardBytes);

}  // namespace tritogen
