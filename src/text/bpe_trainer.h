// Trains a byte-level BPE vocabulary, with the merges of Hugging Face's BpeTrainer for the same texts and
// options.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/pre_tokenizer.h"
#include "text/tokenizer_file.h"

namespace tritogen {

struct BpeTrainerOptions {
  size_t vocabulary = 4096;    // tokens wanted: special ones, 256 bytes, merges; fewer when pairs run out
  uint64_t min_frequency = 0;  // pairs seen less often are not merged
  std::vector<std::string> special_tokens;  // the first ids, in this order
};

// Counts the words of texts, then merges the most frequent pair of tokens (of equally frequent ones the pair
// of least ids) until the vocabulary is full. The result depends on the texts as a multiset only.
class BpeTrainer {
 public:
  // `skeleton` gives normaliser, pre-tokenizer, post-processor and decoder; its model is ignored. Throws
  // FormatError as PreTokenizer does.
  BpeTrainer(const TokenizerFile& skeleton, const BpeTrainerOptions& options);

  void Add(std::string_view text);

  // Special tokens become added tokens. Throws UserError when the vocabulary cannot hold them and all bytes.
  TokenizerFile Train() const;

 private:
  TokenizerFile skeleton_;
  BpeTrainerOptions options_;
  std::unique_ptr<PreTokenizer> pre_tokenizer_;  // splitter_ points to it
  Splitter splitter_;
  std::unordered_map<std::string, uint64_t> words_;
};

// The parts of tokenizer.json around a model of the policy: Qwen3's normaliser, split, post-processor,
// decoder.
TokenizerFile QwenSkeleton();

}  // namespace tritogen
