#include "text/bpe.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/utf8.h"
#include "text/byte_alphabet.h"

namespace tritogen {
namespace {

std::string Shown(std::string_view token) {
  return PrintableText(token, 80);
}

}  // namespace

BpeModel::BpeModel(const BpeTables& tables) : ignore_merges_(tables.ignore_merges) {
  AddTokens(tables);
  AddMerges(tables);
}

void BpeModel::AddTokens(const BpeTables& tables) {
  if (tables.vocabulary.size() > kMaxVocabulary)
    throw FormatError("a vocabulary of more than 4194304 tokens");
  std::vector<char> in_alphabet;
  for (const auto& [text, id] : tables.vocabulary) {
    if (id < 0 || static_cast<size_t>(id) >= kMaxVocabulary) {
      throw FormatError(
          fmt::format("token '{}' has id {}, outside [0, {})", Shown(text), id, kMaxVocabulary));
    }
    if (offsets_.size() <= static_cast<size_t>(id)) offsets_.resize(id + 1, {0, -1});
    if (offsets_[id].second >= 0) {
      throw FormatError(fmt::format("two tokens have id {}, '{}' is one", id, Shown(text)));
    }
    const auto bytes = AlphabetToBytes(text);
    const std::string& stored = bytes ? *bytes : text;
    offsets_[id] = {bytes_.size(), static_cast<int32_t>(stored.size())};
    bytes_ += stored;
    in_alphabet.push_back(bytes.has_value());
  }
  by_bytes_.reserve(tables.vocabulary.size());
  for (size_t i = 0; i < tables.vocabulary.size(); ++i) {  // bytes_ moves no more
    const auto& [text, id] = tables.vocabulary[i];
    if (in_alphabet[i] && !by_bytes_.emplace(*Bytes(id), id).second) {
      throw FormatError(fmt::format("token '{}' occurs twice", Shown(text)));
    }
  }
  for (int byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    const auto id = Find({&text, 1});
    if (!id) {
      throw FormatError(
          fmt::format("no token for byte 0x{:02x}: this is no byte-level vocabulary, or texts with "
                      "that byte could not be encoded",
                      byte));
    }
    byte_tokens_[byte] = *id;
  }
}

void BpeModel::AddMerges(const BpeTables& tables) {
  if (tables.merges.size() > kMaxVocabulary) throw FormatError("more than 4194304 merges");
  entries_.resize(std::bit_ceil(2 * tables.merges.size() + 2));
  mask_ = entries_.size() - 1;
  const auto find = [&](std::string_view text, size_t rank) {
    const auto bytes = AlphabetToBytes(text);
    const auto id = bytes ? Find(*bytes) : std::nullopt;
    if (!id) throw FormatError(fmt::format("merge {}: '{}' is not in the vocabulary", rank, Shown(text)));
    return *id;
  };
  for (size_t rank = 0; rank < tables.merges.size(); ++rank) {
    const auto& [left_text, right_text] = tables.merges[rank];
    const TokenId left = find(left_text, rank), right = find(right_text, rank);
    const TokenId result = find(left_text + right_text, rank);
    size_t at = Slot(left, right);
    while (entries_[at].rank != kNoMerge && (entries_[at].left != left || entries_[at].right != right)) {
      at = (at + 1) & mask_;
    }
    entries_[at] = {left, right, static_cast<uint32_t>(rank), result};  // written twice: the later rank holds
  }
}

std::optional<std::string_view> BpeModel::Bytes(TokenId id) const {
  if (id < 0 || static_cast<size_t>(id) >= offsets_.size() || offsets_[id].second < 0) return std::nullopt;
  return std::string_view(bytes_).substr(offsets_[id].first, offsets_[id].second);
}

std::optional<TokenId> BpeModel::Find(std::string_view bytes) const {
  const auto found = by_bytes_.find(bytes);
  return found == by_bytes_.end() ? std::nullopt : std::optional(found->second);
}

void BpeModel::Encode(std::string_view word, std::vector<TokenId>* out) const {
  if (ignore_merges_) {
    if (const auto whole = Find(word)) return out->push_back(*whole);
  }
  word.size() <= kShortWord ? EncodeShort(word, out) : EncodeLong(word, out);
}

// The merges of neighbours stand in an array; each round scans it for the least rank.
void BpeModel::EncodeShort(std::string_view word, std::vector<TokenId>* out) const {
  TokenId tokens[kShortWord];
  Merge merges[kShortWord];  // merges[i]: of tokens i and i + 1
  size_t count = word.size();
  for (size_t i = 0; i < count; ++i) tokens[i] = ByteToken(static_cast<uint8_t>(word[i]));
  for (size_t i = 0; i + 1 < count; ++i) merges[i] = MergeOf(tokens[i], tokens[i + 1]);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (merges[best].rank == kNoMerge) break;
    tokens[best] = merges[best].result;
    std::memmove(tokens + best + 1, tokens + best + 2, (count - best - 2) * sizeof *tokens);
    std::memmove(merges + best, merges + best + 1, (count - best - 2) * sizeof *merges);
    --count;
    if (best > 0) merges[best - 1] = MergeOf(tokens[best - 1], tokens[best]);
    if (best + 1 < count) merges[best] = MergeOf(tokens[best], tokens[best + 1]);
  }
  out->insert(out->end(), tokens, tokens + count);
}

// A linked list of tokens and a heap of the merges of neighbours, by rank and then by place. An entry of the
// heap whose token is gone, or whose pair is another by now, is stale and skipped.
void BpeModel::EncodeLong(std::string_view word, std::vector<TokenId>* out) const {
  if (word.size() >= std::numeric_limits<uint32_t>::max()) {
    throw UserError("a text has a word of 4 GiB or more; split it into lines");
  }
  constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  struct Node {
    TokenId token;
    uint32_t previous, next;
    Merge merge;  // with the next
    bool alive = true;
  };
  const uint32_t count = static_cast<uint32_t>(word.size());
  std::vector<Node> nodes(count);
  std::vector<uint64_t> heap;  // rank << 32 | place
  const auto refresh = [&](uint32_t i) {
    Node& node = nodes[i];
    node.merge = node.next == kNone ? Merge{kNoMerge, 0} : MergeOf(node.token, nodes[node.next].token);
    if (node.merge.rank == kNoMerge) return false;
    heap.push_back(uint64_t{node.merge.rank} << 32 | i);
    return true;
  };
  for (uint32_t i = 0; i < count; ++i) {
    nodes[i] = {ByteToken(static_cast<uint8_t>(word[i])), i == 0 ? kNone : i - 1,
                i + 1 == count ? kNone : i + 1};
  }
  for (uint32_t i = 0; i < count; ++i) refresh(i);
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  const auto push = [&](uint32_t i) {
    if (refresh(i)) std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const uint32_t at = static_cast<uint32_t>(heap.back()), rank = static_cast<uint32_t>(heap.back() >> 32);
    heap.pop_back();
    Node& node = nodes[at];
    if (!node.alive || node.merge.rank != rank) continue;
    node.token = node.merge.result;
    Node& gone = nodes[node.next];
    gone.alive = false;
    node.next = gone.next;
    if (node.next != kNone) nodes[node.next].previous = at;
    push(at);
    if (node.previous != kNone) push(node.previous);
  }
  for (uint32_t i = 0; i != kNone && count > 0; i = nodes[i].next) out->push_back(nodes[i].token);
}

}  // namespace tritogen
