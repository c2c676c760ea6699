// Byte-level byte-pair encoding: a vocabulary of byte strings and an ordered list of merges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tritogen {

using TokenId = int32_t;

inline constexpr size_t kMaxVocabulary = size_t{1} << 22;  // entries, ids and merges

// What a BPE model is made of; texts are those of tokenizer.json, in the byte alphabet (byte_alphabet.h).
struct BpeTables {
  std::vector<std::pair<std::string, TokenId>> vocabulary;  // in any order; ids may have holes
  std::vector<std::pair<std::string, std::string>> merges;  // the first is merged first
  bool ignore_merges = false;  // a whole word that is in the vocabulary needs no merges (Llama 3)
};

// Immutable; thread-safe.
class BpeModel {
 public:
  // Throws FormatError: an id or a text twice, an id outside [0, kMaxVocabulary), a byte that has no token, a
  // merge whose parts or result are no tokens.
  explicit BpeModel(const BpeTables& tables);
  BpeModel(BpeModel&&) = default;
  BpeModel(const BpeModel&) = delete;  // by_bytes_ points into bytes_

  // Appends the tokens of one word. Merges the pair of lowest rank, leftmost first, until none is left:
  // O(n²) with a small constant for short words, O(n log n) for long ones. Uses no heap for short ones.
  // Throws UserError for a word of 4 GiB or more.
  void Encode(std::string_view word, std::vector<TokenId>* out) const;

  // The bytes of a token; nothing when there is none. A token with characters outside the byte alphabet (only
  // an added one, which no merge can reach) stands for its text.
  std::optional<std::string_view> Bytes(TokenId id) const;
  std::optional<TokenId> Find(std::string_view bytes) const;
  size_t id_end() const { return offsets_.size(); }  // one more than the greatest id

  // What two neighbouring tokens become, and how early. rank is kNoMerge when they do not merge.
  struct Merge {
    uint32_t rank;
    TokenId result;
  };
  static constexpr uint32_t kNoMerge = ~uint32_t{0};
  Merge MergeOf(TokenId left, TokenId right) const {
    for (size_t at = Slot(left, right);; at = (at + 1) & mask_) {
      const Entry& entry = entries_[at];
      if (entry.left == left && entry.right == right) return {entry.rank, entry.result};
      if (entry.rank == kNoMerge) return {kNoMerge, 0};
    }
  }
  TokenId ByteToken(uint8_t byte) const { return byte_tokens_[byte]; }

 private:
  struct Entry {
    TokenId left = -1, right = -1;
    uint32_t rank = kNoMerge;
    TokenId result = 0;
  };
  size_t Slot(TokenId left, TokenId right) const {
    const uint64_t key =
        static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
    return static_cast<size_t>((key * 0x9e3779b97f4a7c15u) >> 32) & mask_;
  }
  void AddTokens(const BpeTables& tables);
  void AddMerges(const BpeTables& tables);
  void EncodeShort(std::string_view word, std::vector<TokenId>* out) const;
  void EncodeLong(std::string_view word, std::vector<TokenId>* out) const;

  static constexpr size_t kShortWord = 48;  // bytes; where the two ways cost the same (bench/tokenizer_bench)

  bool ignore_merges_ = false;
  std::string bytes_;                                       // of all tokens, one after another
  std::vector<std::pair<size_t, int32_t>> offsets_;         // by id: where in bytes_, how many; -1: no token
  std::unordered_map<std::string_view, TokenId> by_bytes_;  // views of bytes_
  TokenId byte_tokens_[256];
  std::vector<Entry> entries_;  // open addressing, at most half full; a power of two
  size_t mask_ = 0;
};

}  // namespace tritogen
