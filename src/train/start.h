// What a run begins with: a model, examples in tokens, the optimizer's first state.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "model/config.h"
#include "ranks/ranks.h"
#include "train/batch_feed.h"
#include "train/checkpoint.h"
#include "train/sft.h"

namespace tritogen::train {

struct RunData {
  std::filesystem::path model;  // folder that the weights come from, and the tokenizer
  ModelConfig config;
  Corpus corpus;
  std::vector<DeviceBatch> held_out;  // this rank's, on the host
};

// Makes a new model where there is none to go on from. Nothing when it was interrupted. Throws UserError for
// what cannot be read, and for what does not fit: vocabulary and weights, examples and positions.
std::optional<RunData> ReadRunData(const SftOptions& options, const SftRun& run, Ranks* ranks);

PackingOptions PackingOf(const SftOptions& options);

// The folder's weights, and moments of zero.
HostState FirstState(const ModelConfig& config, const std::filesystem::path& folder);

}  // namespace tritogen::train
