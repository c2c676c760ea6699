// Tokenizer: text → ids → text, with the ids of Hugging Face's tokenizers for the same tokenizer.json.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer_file.h"

namespace tritogen {

// Immutable; thread-safe. Encoding is done by an Encoder, one a thread.
class Tokenizer {
 public:
  // Throws FormatError for what it does not understand (docs/tokenizer.md).
  explicit Tokenizer(const TokenizerFile& file);

  // The bytes that the ids stand for, which need not be UTF-8 (a token may end within a character). Ids
  // without a token give nothing, as models have more ids than their tokenizer.
  std::string Decode(std::span<const TokenId> ids, bool skip_special = false) const;
  // One token's bytes, empty for ids without a token.
  std::string_view TokenBytes(TokenId id) const;
  // The id of an added token or of a token of the vocabulary.
  std::optional<TokenId> Find(std::string_view bytes) const;
  bool IsSpecial(TokenId id) const;
  TokenId id_end() const;  // one more than the greatest id

 private:
  friend class Encoder;
  struct Added {
    std::string content;
    bool special = false;
  };
  void AddTokens(const TokenizerFile& file);
  void ReadPostProcessor(const nlohmann::json& post_processor);

  BpeModel model_;
  PreTokenizer pre_tokenizer_;
  std::unordered_map<TokenId, Added> added_;
  std::unordered_map<std::string, TokenId> added_ids_;
  std::optional<AddedTokenFinder> in_raw_text_, in_normalized_text_;
  std::vector<TokenId> before_, behind_;  // what the post-processor puts around a text
};

// Reads a tokenizer.json. Throws UserError naming the file.
Tokenizer LoadTokenizer(const std::filesystem::path& path);

struct EncodeOptions {
  bool add_special_tokens = true;  // such as Llama's begin of text
  // Special tokens spelled in the text are text, not tokens: for text from strangers.
  bool special_as_text = false;
};

// One thread's encoder: scratch memory and a cache of words (4 MB).
class Encoder {
 public:
  explicit Encoder(const Tokenizer& tokenizer);  // keeps a reference
  Encoder(Encoder&&) noexcept;
  ~Encoder();

  // Any bytes are encoded, and decode to themselves (but for the normaliser, and for the white space that an
  // added token takes). Throws UserError as Splitter does.
  std::vector<TokenId> Encode(std::string_view text, const EncodeOptions& options = {});
  // Appends the tokens.
  void Encode(std::string_view text, const EncodeOptions& options, std::vector<TokenId>* ids);

 private:
  class WordCache;
  void EncodeStretch(std::string_view text, std::vector<TokenId>* ids);

  const Tokenizer& tokenizer_;
  Splitter splitter_;
  std::unique_ptr<WordCache> cache_;
  std::vector<AddedTokenFinder::Piece> pieces_, inner_pieces_;
  std::string normalized_;
};

}  // namespace tritogen
