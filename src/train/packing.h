// Examples → batches. The batch at a place of an epoch depends on the corpus, the options and the place
// alone, so that a run goes on where it stopped, and ranks take turns.
#pragma once

#include <cstdint>
#include <vector>

#include "train/corpus.h"
#include "train/packed_batch.h"

namespace tritogen::train {

struct PackingOptions {
  int64_t tokens = 65536;      // of a batch
  int64_t longest = 2048;      // an example, in tokens; REQUIRES: none is longer, and `tokens` is not less
  int64_t most_documents = 0;  // of a batch; 0: as many as `tokens` / 16
  double plan_weight = 1, code_weight = 1;  // of a token's loss
  uint64_t seed = 1;
};

class Packer {
 public:
  Packer(const Corpus& corpus, const PackingOptions& options);  // the corpus outlives it

  const PackingOptions& options() const { return options_; }  // with most_documents as it is
  // Shuffles the examples anew. Not for several threads.
  void BeginEpoch(int64_t epoch);
  int64_t batches() const { return static_cast<int64_t>(batches_.size()); }  // of the epoch
  PackedBatch Make(int64_t index) const;
  // Of the corpus, in the order in which they stand in the batch.
  const std::vector<int64_t>& examples(int64_t index) const { return batches_.at(index); }
  double fill() const;  // share of the epoch's tokens that are no padding

 private:
  const Corpus& corpus_;
  PackingOptions options_;
  std::vector<std::vector<int64_t>> batches_;  // examples of each
};

}  // namespace tritogen::train
