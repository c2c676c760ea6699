#include "text/tokenizer.h"

#include <array>
#include <cstring>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/json_cursor.h"
#include "base/utf8.h"

namespace tritogen {
namespace {

using nlohmann::json;

constexpr size_t kMaxFile = size_t{256} << 20;
constexpr size_t kMaxParts = 64;

}  // namespace

Tokenizer::Tokenizer(const TokenizerFile& file)
    : model_(file.model), pre_tokenizer_(file.normalizer, file.pre_tokenizer) {
  if (!file.decoder.is_null()) {
    const std::string type = JsonCursor(file.decoder)["type"].String(100);
    if (type != "ByteLevel")
      throw FormatError(fmt::format("decoder '{}' is not supported, only ByteLevel", type));
  }
  AddTokens(file);
  ReadPostProcessor(file.post_processor);
}

void Tokenizer::AddTokens(const TokenizerFile& file) {
  std::unordered_map<std::string_view, TokenId> vocabulary;
  for (const auto& [text, id] : file.model.vocabulary) vocabulary.emplace(text, id);
  std::vector<AddedTokenFinder::Entry> raw, normalized;
  std::string scratch;
  for (const AddedToken& token : file.added_tokens) {
    const auto known = vocabulary.find(token.content);
    if (known == vocabulary.end() ? model_.Bytes(token.id).has_value() : known->second != token.id) {
      throw FormatError(fmt::format("added token '{}' has id {}, which disagrees with the vocabulary",
                                    PrintableText(token.content, 80), token.id));
    }
    added_[token.id] = {token.content, token.special};
    added_ids_[token.content] = token.id;
    if (token.normalized) {
      normalized.push_back({std::string(pre_tokenizer_.Normalize(token.content, &scratch)), token});
    } else {
      raw.push_back({token.content, token});
    }
  }
  in_raw_text_.emplace(std::move(raw));
  in_normalized_text_.emplace(std::move(normalized));
}

// ByteLevel changes offsets only. A TemplateProcessing says what stands before and behind the one text.
void Tokenizer::ReadPostProcessor(const json& post_processor) {
  if (post_processor.is_null()) return;
  const JsonCursor cursor(post_processor);
  const std::string type = cursor["type"].String(100);
  if (type == "ByteLevel") return;
  if (type == "Sequence") {
    const JsonCursor parts = cursor["processors"];
    const size_t count = parts.Size(kMaxParts);
    for (size_t i = 0; i < count; ++i) {
      if (parts[i]["type"].String(100) == "Sequence") parts[i].Fail("a Sequence within a Sequence");
      ReadPostProcessor(parts[i].json());
    }
    return;
  }
  if (type != "TemplateProcessing")
    throw FormatError(fmt::format("post_processor '{}' is not supported", type));
  const JsonCursor single = cursor["single"];
  const size_t count = single.Size(kMaxParts);
  std::vector<TokenId> before, behind;
  bool seen_text = false;
  for (size_t i = 0; i < count; ++i) {
    if (single[i].Has("Sequence")) {
      if (std::exchange(seen_text, true)) single[i].Fail("a template for one text with two texts");
      continue;
    }
    const std::string name = single[i]["SpecialToken"]["id"].String(1000);
    const JsonCursor specials = cursor["special_tokens"], special = specials[name];
    const size_t ids = special["ids"].Size(kMaxParts);
    for (size_t k = 0; k < ids; ++k) {
      (seen_text ? behind : before).push_back(static_cast<TokenId>(special["ids"][k].Int(0, kMaxVocabulary)));
    }
  }
  if (!seen_text) single.Fail("a template without a text");
  before_.insert(before_.begin(), before.begin(), before.end());  // a later processor stands outside
  behind_.insert(behind_.end(), behind.begin(), behind.end());
}

std::string_view Tokenizer::TokenBytes(TokenId id) const {
  if (const auto added = added_.find(id); added != added_.end()) return added->second.content;
  return model_.Bytes(id).value_or("");
}

std::string Tokenizer::Decode(std::span<const TokenId> ids, bool skip_special) const {
  std::string out;
  for (const TokenId id : ids) {
    if (!skip_special || !IsSpecial(id)) out += TokenBytes(id);
  }
  return out;
}

std::optional<TokenId> Tokenizer::Find(std::string_view bytes) const {
  const auto added = added_ids_.find(std::string(bytes));
  return added != added_ids_.end() ? std::optional(added->second) : model_.Find(bytes);
}

bool Tokenizer::IsSpecial(TokenId id) const {
  const auto added = added_.find(id);
  return added != added_.end() && added->second.special;
}

TokenId Tokenizer::id_end() const {
  TokenId end = static_cast<TokenId>(model_.id_end());
  for (const auto& [id, added] : added_) end = std::max(end, id + 1);
  return end;
}

Tokenizer LoadTokenizer(const std::filesystem::path& path) {
  try {
    return Tokenizer(ParseTokenizerFile(ReadFile(path, kMaxFile)));
  } catch (const FormatError& error) {
    throw UserError(fmt::format("{} is no tokenizer that can be used: {}", path.string(), error.what()));
  }
}

// Words seen before, with their tokens: one place a word, the last one stays. Only short words with few
// tokens, so that an entry is a cache line.
class Encoder::WordCache {
 public:
  static constexpr size_t kMaxWord = 26, kMaxTokens = 9;

  struct alignas(64) Entry {
    char word[kMaxWord];
    uint8_t bytes = 0;  // 0: empty
    uint8_t count = 0;
    TokenId tokens[kMaxTokens];
  };
  static_assert(sizeof(Entry) == 64);

  // REQUIRES: 0 < word.size() <= kMaxWord
  Entry& Slot(std::string_view word) {
    const char* p = word.data();
    const size_t n = word.size();
    uint64_t hash = n;
    if (n >= 8) {  // the last 8 bytes may overlap those before
      for (size_t at = 0; at + 8 < n; at += 8) hash = Mix(hash ^ Load<uint64_t>(p + at));
      hash ^= Load<uint64_t>(p + n - 8);
    } else if (n >= 4) {
      hash ^= uint64_t{Load<uint32_t>(p)} << 32 ^ Load<uint32_t>(p + n - 4) ^ hash << 61;
    } else {
      const auto byte = [&](size_t i) { return static_cast<uint64_t>(static_cast<uint8_t>(p[i])); };
      hash ^= byte(0) << 8 | byte(n / 2) << 16 | byte(n - 1) << 24;
    }
    hash = Mix(hash);
    return entries_[hash >> (64 - kBits)];
  }

 private:
  static constexpr int kBits = 16;
  static uint64_t Mix(uint64_t x) {
    x *= 0x9e3779b97f4a7c15u;
    return x ^ (x >> 29);
  }
  template <typename T>
  static T Load(const char* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }

  std::vector<Entry> entries_ = std::vector<Entry>(size_t{1} << kBits);
};

Encoder::Encoder(const Tokenizer& tokenizer)
    : tokenizer_(tokenizer), splitter_(tokenizer.pre_tokenizer_), cache_(std::make_unique<WordCache>()) {}
Encoder::Encoder(Encoder&&) noexcept = default;
Encoder::~Encoder() = default;

void Encoder::EncodeStretch(std::string_view text, std::vector<TokenId>* ids) {
  splitter_.ForEachWord(text, [&](std::string_view word) {
    if (word.size() > WordCache::kMaxWord) return tokenizer_.model_.Encode(word, ids);
    WordCache::Entry& entry = cache_->Slot(word);
    if (entry.bytes == word.size() && std::memcmp(entry.word, word.data(), word.size()) == 0) {
      ids->insert(ids->end(), entry.tokens, entry.tokens + entry.count);
      return;
    }
    const size_t begin = ids->size();
    tokenizer_.model_.Encode(word, ids);
    const size_t count = ids->size() - begin;
    if (count > WordCache::kMaxTokens) return;
    std::memcpy(entry.word, word.data(), word.size());
    entry.bytes = static_cast<uint8_t>(word.size());
    entry.count = static_cast<uint8_t>(count);
    std::copy(ids->begin() + static_cast<ptrdiff_t>(begin), ids->end(), entry.tokens);
  });
}

void Encoder::Encode(std::string_view text, const EncodeOptions& options, std::vector<TokenId>* ids) {
  const Tokenizer& t = tokenizer_;
  if (options.add_special_tokens) ids->insert(ids->end(), t.before_.begin(), t.before_.end());
  pieces_.clear();
  t.in_raw_text_->Cut(text, options.special_as_text, &pieces_);
  for (const auto& piece : pieces_) {
    if (piece.token) {
      ids->push_back(piece.token->id);
      continue;
    }
    inner_pieces_.clear();
    t.in_normalized_text_->Cut(t.pre_tokenizer_.Normalize(piece.text, &normalized_), options.special_as_text,
                               &inner_pieces_);
    for (const auto& inner : inner_pieces_) {
      inner.token ? ids->push_back(inner.token->id) : EncodeStretch(inner.text, ids);
    }
  }
  if (options.add_special_tokens) ids->insert(ids->end(), t.behind_.begin(), t.behind_.end());
}

std::vector<TokenId> Encoder::Encode(std::string_view text, const EncodeOptions& options) {
  std::vector<TokenId> ids;
  Encode(text, options, &ids);
  return ids;
}

}  // namespace tritogen
