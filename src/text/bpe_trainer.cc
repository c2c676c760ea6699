#include "text/bpe_trainer.h"

#include <algorithm>
#include <queue>
#include <unordered_set>

#include "base/error.h"
#include "text/byte_alphabet.h"

namespace tritogen {
namespace {

using Pair = uint64_t;  // left id << 32 | right id: ordered by left, then right

Pair PairOf(TokenId left, TokenId right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}
TokenId Left(Pair pair) {
  return static_cast<TokenId>(pair >> 32);
}
TokenId Right(Pair pair) {
  return static_cast<TokenId>(pair & 0xffffffff);
}

struct Word {
  std::vector<TokenId> tokens;
  int64_t count = 0;
};

// One run of the algorithm. Counts of pairs are kept up to date for all words; a candidate in the queue knows
// the words in which its pair arose, and gets its true count when it comes to the top.
class Merger {
 public:
  // REQUIRES: texts.size() >= 256; texts[byte_ids[b]] is the byte b.
  Merger(std::vector<std::string> texts, std::vector<Word> words, uint64_t min_frequency)
      : texts_(std::move(texts)), words_(std::move(words)), min_frequency_(min_frequency) {
    for (size_t id = 0; id < texts_.size(); ++id) ids_.emplace(texts_[id], static_cast<TokenId>(id));
    std::unordered_map<Pair, std::vector<uint32_t>> places;
    for (uint32_t i = 0; i < words_.size(); ++i) {
      const auto& tokens = words_[i].tokens;
      for (size_t k = 0; k + 1 < tokens.size(); ++k) {
        const Pair pair = PairOf(tokens[k], tokens[k + 1]);
        counts_[pair] += words_[i].count;
        places[pair].push_back(i);
      }
    }
    Enqueue(&places);
  }

  void Run(size_t vocabulary) {
    while (texts_.size() < vocabulary && !queue_.empty()) {
      Candidate top = queue_.top();
      queue_.pop();
      if (const int64_t now = counts_[top.pair]; top.count != now) {
        top.count = now;
        queue_.push(std::move(top));
        continue;
      }
      if (top.count < 1 || static_cast<uint64_t>(top.count) < min_frequency_) return;
      Merge(top);
    }
  }

  std::vector<std::string>& texts() { return texts_; }
  const std::vector<Pair>& merges() const { return merges_; }

 private:
  struct Candidate {
    Pair pair;
    int64_t count;
    std::vector<uint32_t> words;
    bool operator<(const Candidate& other) const {  // the queue's top is the greatest
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };

  void Enqueue(std::unordered_map<Pair, std::vector<uint32_t>>* places) {
    for (auto& [pair, words] : *places) {
      std::sort(words.begin(), words.end());
      words.erase(std::unique(words.begin(), words.end()), words.end());
      if (const int64_t count = counts_[pair]; count > 0) queue_.push({pair, count, std::move(words)});
    }
  }

  void Merge(const Candidate& candidate) {
    const TokenId left = Left(candidate.pair), right = Right(candidate.pair);
    const std::string text = texts_[left] + texts_[right];
    // Two ways to one text are one token: "ab"+"c" and "a"+"bc".
    const auto [entry, is_new] = ids_.emplace(text, static_cast<TokenId>(texts_.size()));
    if (is_new) texts_.push_back(text);
    merges_.push_back(candidate.pair);
    std::unordered_map<Pair, std::vector<uint32_t>> places;
    for (const uint32_t i : candidate.words) MergeWord(i, left, right, entry->second, &places);
    Enqueue(&places);
  }

  // The count of the merged pair itself stays, as in the trainer that this one equals: the pair is popped
  // once.
  void MergeWord(uint32_t index, TokenId left, TokenId right, TokenId merged,
                 std::unordered_map<Pair, std::vector<uint32_t>>* places) {
    Word& word = words_[index];
    auto& tokens = word.tokens;
    const auto change = [&](TokenId a, TokenId b, int64_t by) {
      counts_[PairOf(a, b)] += by;
      if (by > 0) (*places)[PairOf(a, b)].push_back(index);
    };
    size_t out = 0;  // tokens before it are done
    for (size_t i = 0; i < tokens.size(); ++i, ++out) {
      if (tokens[i] != left || i + 1 == tokens.size() || tokens[i + 1] != right) {
        tokens[out] = tokens[i];
        continue;
      }
      if (out > 0) {
        change(tokens[out - 1], left, -word.count);
        change(tokens[out - 1], merged, word.count);
      }
      if (i + 2 < tokens.size()) {
        change(right, tokens[i + 2], -word.count);
        change(merged, tokens[i + 2], word.count);
      }
      tokens[out] = merged;
      ++i;
    }
    tokens.resize(out);
  }

  std::vector<std::string> texts_;  // by id, bytes
  std::vector<Word> words_;
  uint64_t min_frequency_;
  std::unordered_map<std::string, TokenId> ids_;
  std::unordered_map<Pair, int64_t> counts_;
  std::priority_queue<Candidate> queue_;
  std::vector<Pair> merges_;
};

// Bytes in the order of their characters in the byte alphabet: that of their ids.
std::vector<uint8_t> BytesInOrder() {
  std::vector<uint8_t> bytes(256);
  for (int i = 0; i < 256; ++i) bytes[i] = static_cast<uint8_t>(i);
  std::sort(bytes.begin(), bytes.end(),
            [](uint8_t a, uint8_t b) { return ByteCharacter(a) < ByteCharacter(b); });
  return bytes;
}

// A pair that was merged twice keeps its later rank: that is the one that holds when the file is read.
std::vector<Pair> LastOfEach(const std::vector<Pair>& merges) {
  std::unordered_set<Pair> seen;
  std::vector<Pair> kept;
  for (auto it = merges.rbegin(); it != merges.rend(); ++it) {
    if (seen.insert(*it).second) kept.push_back(*it);
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

}  // namespace

BpeTrainer::BpeTrainer(const TokenizerFile& skeleton, const BpeTrainerOptions& options)
    : skeleton_(skeleton),
      options_(options),
      pre_tokenizer_(std::make_unique<PreTokenizer>(skeleton.normalizer, skeleton.pre_tokenizer)),
      splitter_(*pre_tokenizer_) {}

void BpeTrainer::Add(std::string_view text) {
  std::string scratch;
  splitter_.ForEachWord(pre_tokenizer_->Normalize(text, &scratch),
                        [&](std::string_view word) { ++words_[std::string(word)]; });
}

TokenizerFile BpeTrainer::Train() const {
  const size_t special = options_.special_tokens.size();
  if (options_.vocabulary < special + 256 || options_.vocabulary > kMaxVocabulary) {
    throw UserError(fmt::format("a byte-level vocabulary with {} special tokens has {} to {} tokens, not {}",
                                special, special + 256, kMaxVocabulary, options_.vocabulary));
  }
  TokenizerFile file = skeleton_;
  file.model = {};
  file.added_tokens.clear();
  std::vector<std::string> texts;
  for (size_t i = 0; i < special; ++i)
    texts.push_back(fmt::format("\xff special {}", i));  // no pair makes these
  TokenId byte_ids[256];
  for (const uint8_t byte : BytesInOrder()) {
    byte_ids[byte] = static_cast<TokenId>(texts.size());
    texts.emplace_back(1, static_cast<char>(byte));
  }
  std::vector<Word> words;
  for (const auto& [text, count] : words_) {
    Word& word = words.emplace_back();
    for (const char byte : text) word.tokens.push_back(byte_ids[static_cast<uint8_t>(byte)]);
    word.count = static_cast<int64_t>(count);
  }
  Merger merger(std::move(texts), std::move(words), options_.min_frequency);
  merger.Run(options_.vocabulary);
  std::unordered_set<std::string> seen;
  for (size_t i = 0; i < merger.texts().size(); ++i) {
    const TokenId id = static_cast<TokenId>(i);
    const std::string text = i < special ? options_.special_tokens[i] : BytesToAlphabet(merger.texts()[i]);
    file.model.vocabulary.emplace_back(text, id);
    if (i < special) file.added_tokens.push_back({.id = id, .content = text, .special = true});
    if (!seen.insert(text).second) {
      throw UserError(
          fmt::format("the special token '{}' is also a byte, a merge of the texts or another special token; "
                      "choose one that the split cuts apart, such as '<|{}|>'",
                      text, text));
    }
  }
  for (const Pair pair : LastOfEach(merger.merges())) {
    file.model.merges.emplace_back(BytesToAlphabet(merger.texts()[Left(pair)]),
                                   BytesToAlphabet(merger.texts()[Right(pair)]));
  }
  return file;
}

TokenizerFile QwenSkeleton() {
  using nlohmann::json;
  const json byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}, {"use_regex", false}};
  TokenizerFile file;
  file.normalizer = {{"type", "NFC"}};
  file.pre_tokenizer = {{"type", "Sequence"},
                        {"pretokenizers", json::array({{{"type", "Split"},
                                                        {"pattern", {{"Regex", kQwenPattern}}},
                                                        {"behavior", "Isolated"},
                                                        {"invert", false}},
                                                       byte_level})}};
  file.post_processor = file.decoder = byte_level;
  return file;
}

}  // namespace tritogen
