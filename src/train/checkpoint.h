// Checkpoints of a run: folders step-00001000 under OUT/checkpoints, each a model that loads anywhere, with
// what training needs to go on bit-exactly. docs/formats/training.md. A folder of that name is complete.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/batch_feed.h"
#include "train/chosen_products.h"
#include "train/flat_weights.h"

namespace tritogen::train {

// Where a run is, and what it is.
struct RunPosition {
  int64_t step = 0;                 // steps done
  int64_t total = 0;                // steps of the whole run; 0: not known yet
  Place next;                       // batch
  int64_t tokens = 0;               // learnt from so far, without padding
  double flops = 0;                 // of them
  double loss = 0;                  // of the last step
  double seconds = 0;               // of training so far, of all pieces of the run
  nlohmann::ordered_json identity;  // of the options
  std::string corpus_sha256;
  // How the run computes products. None where it does so by ATen alone; nothing: not decided yet.
  std::optional<ProductChoices> products;
  std::vector<std::string> versions;  // of the program and its libraries: for people
};

// The optimizer's state of all ranks, on the host: float32, laid out as the weights are.
struct HostState {
  HostState() = default;  // nothing
  explicit HostState(const ModelConfig& config);

  FlatWeights master, first, second;
  int64_t steps = 0;  // the optimizer's
};

// The latest in the folder, if there is any.
std::optional<std::filesystem::path> LatestCheckpoint(const std::filesystem::path& folder);
// Throws UserError naming the folder when a file is missing, cut, changed, or of another format or model.
RunPosition LoadCheckpoint(const std::filesystem::path& checkpoint, HostState* state);

// The folder of checkpoints, as the one process that writes it has it.
class Checkpoints {
 public:
  // Removes what a killed run left half-written. Throws UserError when the folder cannot be made.
  Checkpoints(std::filesystem::path folder, int64_t keep);

  // `weights`: of the dtype that is trained. `model_files`: copied from that folder (CopyModelFiles). Old
  // checkpoints are removed afterwards. Throws UserError when the disk is full and the like; what was there
  // before is there still. Returns the folder.
  std::filesystem::path Save(const RunPosition& position, const HostState& state,
                             const DecoderWeights& weights, const std::filesystem::path& model_files);

 private:
  std::filesystem::path folder_;
  int64_t keep_;
};

// What makes weights a model of text: tokenizer, chat template, defaults of sampling. Those that are there.
void CopyModelFiles(const std::filesystem::path& from, const std::filesystem::path& to);

// Renames a finished folder to its name, and sees that the disk knows of it.
void PublishFolder(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace tritogen::train
