// What one pass over the model reads: documents one after the other, in a run of tokens whose length is
// always the same, so that memory is taken once.
#pragma once

#include <cstdint>
#include <vector>

namespace tritogen::train {

struct PackedBatch {
  // [tokens] each. Every token belongs to a document: padding, too, has documents of its own, none longer
  // than the longest that a pass was made for.
  std::vector<int32_t> tokens;
  std::vector<int32_t> targets;    // the token that follows in the document; -1: there is none to learn
  std::vector<float> weights;      // of the targets' losses; 0 where there is no target
  std::vector<int32_t> positions;  // in the document
  // [most_documents + 1]: where each document starts, ascending from 0; what is left over is the number of
  // tokens, as if documents without tokens followed.
  std::vector<int32_t> starts;
};

}  // namespace tritogen::train
