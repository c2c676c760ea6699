#include "text/tokenizer_file.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/json_cursor.h"
#include "base/json_text.h"

namespace tritogen {
namespace {

using nlohmann::json;

constexpr size_t kMaxToken = size_t{64} << 10;  // bytes of one token's text
constexpr int64_t kMaxId = kMaxVocabulary - 1;

bool OptionalBool(const JsonCursor& object, std::string_view key) {
  return object.Has(key) && !object[key].json().is_null() && object[key].Bool();
}

// Fields that change what BPE does and that no byte-level family uses.
void RefuseUnlessEmpty(const JsonCursor& model, std::string_view key) {
  if (!model.Has(key)) return;
  const json& value = model.json()[std::string(key)];
  const bool empty = value.is_null() || (value.is_string() && value.get_ref<const std::string&>().empty()) ||
                     (value.is_boolean() && !value.get<bool>()) ||
                     (value.is_number() && value.get<double>() == 0);
  if (!empty) model.Fail(fmt::format("'{}' is set; a byte-level model has none", key));
}

std::pair<std::string, std::string> ParseMerge(const JsonCursor& merge) {
  if (merge.json().is_array()) {
    merge.ExpectArray(2);
    return {merge[0].String(kMaxToken), merge[1].String(kMaxToken)};
  }
  const std::string& text = merge.String(2 * kMaxToken);
  const size_t space = text.find(' ');
  if (space == text.npos || text.find(' ', space + 1) != text.npos) {
    merge.Fail("expected two texts with one space between them");
  }
  return {text.substr(0, space), text.substr(space + 1)};
}

BpeTables ParseModel(const JsonCursor& model) {
  model.ExpectObject();
  if (model.Has("type") && model["type"].String(100) != "BPE") {
    model["type"].Fail(
        fmt::format("'{}' models are not supported, only byte-level BPE", model["type"].String(100)));
  }
  for (const auto key :
       {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback"}) {
    RefuseUnlessEmpty(model, key);
  }
  BpeTables tables;
  tables.ignore_merges = OptionalBool(model, "ignore_merges");
  const JsonCursor vocabulary = model["vocab"];
  vocabulary.ExpectObject();
  for (const auto& [text, id] : vocabulary.json().items()) {
    if (!id.is_number_integer() || id < 0 || id > kMaxId) {
      vocabulary.Fail(fmt::format("the id {} is no integer in [0, {}]", id.dump().substr(0, 40), kMaxId));
    }
    tables.vocabulary.emplace_back(text, id.get<TokenId>());
  }
  const JsonCursor merges = model["merges"];
  const size_t count = merges.Size(kMaxVocabulary);
  for (size_t i = 0; i < count; ++i) tables.merges.push_back(ParseMerge(merges[i]));
  return tables;
}

std::vector<AddedToken> ParseAddedTokens(const JsonCursor& list) {
  std::vector<AddedToken> tokens;
  std::set<TokenId> ids;
  std::set<std::string> contents;
  const size_t count = list.Size(kMaxVocabulary);
  for (size_t i = 0; i < count; ++i) {
    const JsonCursor entry = list[i];
    AddedToken token;
    token.id = static_cast<TokenId>(entry["id"].Int(0, kMaxId));
    token.content = entry["content"].String(kMaxToken);
    token.single_word = OptionalBool(entry, "single_word");
    token.lstrip = OptionalBool(entry, "lstrip");
    token.rstrip = OptionalBool(entry, "rstrip");
    token.special = OptionalBool(entry, "special");
    token.normalized = entry.Has("normalized") ? entry["normalized"].Bool() : !token.special;
    if (token.content.empty()) entry["content"].Fail("an added token without text");
    if (!ids.insert(token.id).second) entry["id"].Fail(fmt::format("two added tokens have id {}", token.id));
    if (!contents.insert(token.content).second) entry["content"].Fail("an added token that occurs twice");
    tokens.push_back(std::move(token));
  }
  std::sort(tokens.begin(), tokens.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return tokens;
}

json Optional(const json& root, const char* key) {
  return root.contains(key) ? root.at(key) : json();
}

std::string Quoted(const std::string& text) {
  return json(text).dump();
}

void AppendAddedTokens(const std::vector<AddedToken>& tokens, std::string* out) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    const AddedToken& token = tokens[i];
    *out += fmt::format(
        "{}\n    {{\n      \"id\": {},\n      \"content\": {},\n      \"single_word\": {},\n      "
        "\"lstrip\": {},\n"
        "      \"rstrip\": {},\n      \"normalized\": {},\n      \"special\": {}\n    }}",
        i == 0 ? "" : ",", token.id, Quoted(token.content), token.single_word, token.lstrip, token.rstrip,
        token.normalized, token.special);
  }
}

void AppendModel(const BpeTables& model, std::string* out) {
  *out += fmt::format(
      "{{\n    \"type\": \"BPE\",\n    \"dropout\": null,\n    \"unk_token\": null,\n"
      "    \"continuing_subword_prefix\": null,\n    \"end_of_word_suffix\": null,\n    \"fuse_unk\": "
      "false,\n"
      "    \"byte_fallback\": false,\n    \"ignore_merges\": {},\n    \"vocab\": {{",
      model.ignore_merges);
  auto by_id = model.vocabulary;
  std::sort(by_id.begin(), by_id.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const char* separator = "\n";
  for (const auto& [text, id] : by_id) {
    *out += fmt::format("{}      {}: {}", separator, Quoted(text), id);
    separator = ",\n";
  }
  *out += "\n    },\n    \"merges\": [";
  separator = "\n";
  for (const auto& [left, right] : model.merges) {
    *out +=
        fmt::format("{}      [\n        {},\n        {}\n      ]", separator, Quoted(left), Quoted(right));
    separator = ",\n";
  }
  *out += "\n    ]\n  }";
}

}  // namespace

TokenizerFile ParseTokenizerFile(std::string_view text) {
  const json root = ParseJson(text);
  const JsonCursor cursor(root);
  cursor.ExpectObject();
  TokenizerFile file;
  file.model = ParseModel(cursor["model"]);
  if (cursor.Has("added_tokens")) file.added_tokens = ParseAddedTokens(cursor["added_tokens"]);
  file.normalizer = Optional(root, "normalizer");
  file.pre_tokenizer = Optional(root, "pre_tokenizer");
  file.post_processor = Optional(root, "post_processor");
  file.decoder = Optional(root, "decoder");
  file.truncation = Optional(root, "truncation");
  file.padding = Optional(root, "padding");
  return file;
}

std::string WriteTokenizerFile(const TokenizerFile& file) {
  std::string out = fmt::format(
      "{{\n  \"version\": \"1.0\",\n  \"truncation\": {},\n  \"padding\": {},\n"
      "  \"added_tokens\": [",
      file.truncation.dump(), file.padding.dump());
  AppendAddedTokens(file.added_tokens, &out);
  out += fmt::format(
      "\n  ],\n  \"normalizer\": {},\n  \"pre_tokenizer\": {},\n  \"post_processor\": {},\n"
      "  \"decoder\": {},\n  \"model\": ",
      file.normalizer.dump(), file.pre_tokenizer.dump(), file.post_processor.dump(), file.decoder.dump());
  AppendModel(file.model, &out);
  return out + "\n}";
}

}  // namespace tritogen
