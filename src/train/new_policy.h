// A model folder to train from scratch: Qwen3's architecture, a vocabulary of its own, weights as training
// begins with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "config/fields.h"
#include "model/config.h"
#include "text/tokenizer_file.h"
#include "train/conversations.h"
#include "train/read_corpus.h"

namespace tritogen::train {

struct PolicyOptions {
  int64_t vocabulary = 2048, context = 2048;
  int64_t hidden = 384, layers = 10, heads = 6, kv_heads = 2, head_dim = 64, intermediate = 1024;
  double rope_theta = 10000;
  bool tied_embeddings = true;
  int64_t tokenizer_conversations = 50'000;  // the vocabulary is made of so many, the first ones; 0: all
  double temperature = 1;                    // at which answers are sampled, where nobody says another
  uint64_t seed = 1;                         // of the weights
};

void Describe(config::Fields* fields, PolicyOptions* options);

// The chat template: a token for each role, and one that ends an answer.
extern const std::string_view kPolicyTemplate;

// The tokenizer around a vocabulary: words are runs of letters with the blank, point, @ or underscore before
// them, so that a name is cut alike wherever it stands; digits stand alone; punctuation takes the line break
// and the indentation behind it. docs/training_data.md has what that saves.
TokenizerFile PolicySkeleton();

// Trains the tokenizer on the messages' texts. Nothing when stopped. Throws UserError
// as ConversationReader does.
std::optional<TokenizerFile> TrainPolicyTokenizer(const CorpusOptions& data, const PolicyOptions& options,
                                                  const ReadHooks& hooks = {});

// Both: a folder for the data. False: stopped, and nothing is written.
bool MakePolicy(const std::filesystem::path& folder, const PolicyOptions& options, const CorpusOptions& data,
                const ReadHooks& hooks = {});

ModelConfig PolicyConfig(const PolicyOptions& options, const TokenizerFile& tokenizer);

// Writes the folder: weights in bfloat16, config.json last. Throws UserError when there is a model already,
// or for sizes that do not fit each other.
void WritePolicyFolder(const std::filesystem::path& folder, const PolicyOptions& options,
                       const TokenizerFile& tokenizer);

}  // namespace tritogen::train
