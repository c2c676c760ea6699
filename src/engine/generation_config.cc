#include "engine/generation_config.h"

#include <fmt/format.h>

#include <cmath>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/json_cursor.h"
#include "base/json_text.h"

namespace tritogen {
namespace {

constexpr size_t kMostStopTokens = 4096;

// Absent and null leave the value alone.
void ReadNumber(const JsonCursor& config, std::string_view key, float low, float high, float* value) {
  if (!config.Has(key) || config[key].json().is_null()) return;
  const JsonCursor entry = config[key];
  if (!entry.json().is_number()) entry.Fail("expected a number");
  const auto number = entry.json().get<float>();
  if (!(number >= low && number <= high))
    entry.Fail(fmt::format("{} is not within [{}, {}]", number, low, high));
  *value = number;
}

void ReadStopTokens(const JsonCursor& ids, std::vector<TokenId>* tokens) {
  auto read = [&](const JsonCursor& id) {
    tokens->push_back(static_cast<TokenId>(id.Int(0, kMaxVocabulary - 1)));
  };
  if (ids.json().is_null()) return;
  if (!ids.json().is_array()) return read(ids);
  const size_t count = ids.Size(kMostStopTokens);
  for (size_t i = 0; i < count; ++i) read(ids[i]);
}

}  // namespace

GenerateOptions ParseGenerationConfig(std::string_view json_text) {
  const nlohmann::json root = ParseJson(json_text);
  const JsonCursor config(root);
  config.ExpectObject();
  GenerateOptions options;
  SamplingOptions& sampling = options.sampling;
  ReadNumber(config, "temperature", 0, 1e6, &sampling.temperature);
  ReadNumber(config, "top_p", 0x1p-126, 1, &sampling.top_p);
  ReadNumber(config, "min_p", 0, 1, &sampling.min_p);
  ReadNumber(config, "repetition_penalty", 0x1p-126, 1e6, &sampling.repetition_penalty);
  if (config.Has("top_k") && !config["top_k"].json().is_null())
    sampling.top_k = static_cast<int32_t>(config["top_k"].Int(0, kMaxVocabulary));
  if (config.Has("eos_token_id")) ReadStopTokens(config["eos_token_id"], &options.stop_tokens);
  return options;
}

GenerateOptions LoadGenerationConfig(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "generation_config.json";
  if (!Exists(path)) return {};
  try {
    return ParseGenerationConfig(ReadFile(path, size_t{1} << 20));
  } catch (const FormatError& error) {
    throw UserError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

}  // namespace tritogen
