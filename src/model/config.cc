#include "model/config.h"

#include <cmath>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/json_cursor.h"
#include "base/json_text.h"
#include "base/utf8.h"

namespace tritogen {
namespace {

using nlohmann::json;

struct FamilyRow {
  ModelFamily family;
  std::string_view type, architecture;
};
constexpr FamilyRow kFamilies[] = {{ModelFamily::kQwen3, "qwen3", "Qwen3ForCausalLM"},
                                   {ModelFamily::kQwen2, "qwen2", "Qwen2ForCausalLM"},
                                   {ModelFamily::kLlama, "llama", "LlamaForCausalLM"}};

struct RopeRow {
  RopeKind kind;
  std::string_view name;
};
constexpr RopeRow kRopes[] = {{RopeKind::kDefault, "default"},
                              {RopeKind::kLinear, "linear"},
                              {RopeKind::kDynamic, "dynamic"},
                              {RopeKind::kYarn, "yarn"},
                              {RopeKind::kLlama3, "llama3"}};

const FamilyRow& RowOf(ModelFamily family) {
  for (const auto& row : kFamilies) {
    if (row.family == family) return row;
  }
  TRITOGEN_CHECK(false);
}

// Limits beyond any model, so that products of sizes fit 64 bits.
constexpr int64_t kMaxSide = int64_t{1} << 20, kMaxVocabulary = int64_t{1} << 22, kMaxLayers = 1024,
                  kMaxHeads = 1024, kMaxHeadDim = 1024, kMaxPositions = int64_t{1} << 26;

bool Present(const JsonCursor& object, std::string_view key) {
  return object.Has(key) && !object[key].json().is_null();
}
int64_t IntOr(const JsonCursor& object, std::string_view key, int64_t otherwise, int64_t low, int64_t high) {
  return Present(object, key) ? object[key].Int(low, high) : otherwise;
}
bool BoolOr(const JsonCursor& object, std::string_view key, bool otherwise) {
  return Present(object, key) ? object[key].Bool() : otherwise;
}
std::optional<double> Number(const JsonCursor& object, std::string_view key, double low, double high) {
  if (!Present(object, key)) return std::nullopt;
  const JsonCursor place = object[key];
  if (!place.json().is_number())
    place.Fail(fmt::format("expected a number, got {}", place.json().type_name()));
  const double value = place.json().get<double>();
  if (!(value >= low && value <= high)) place.Fail(fmt::format("{} is outside [{}, {}]", value, low, high));
  return value;
}
double NumberOr(const JsonCursor& object, std::string_view key, double otherwise, double low, double high) {
  return Number(object, key, low, high).value_or(otherwise);
}

ModelFamily ParseFamily(const JsonCursor& root) {
  const std::string type = root["model_type"].String(100);
  const FamilyRow* found = nullptr;
  for (const auto& row : kFamilies) {
    if (row.type == type) found = &row;
  }
  std::string architecture = found ? std::string(found->architecture) : "";
  if (Present(root, "architectures")) {
    const JsonCursor list = root["architectures"];
    if (list.Size(16) != 1) list.Fail("expected one architecture");
    architecture = list[0].String(200);
  }
  if (!found || architecture != found->architecture) {
    throw FormatError(
        fmt::format("architecture '{}' of type '{}' is not supported; Qwen3, Qwen2 and Llama for causal "
                    "language modelling are",
                    PrintableText(architecture, 60), PrintableText(type, 60)));
  }
  return found->family;
}

void ParseScaling(const JsonCursor& from, RopeConfig* rope) {
  const auto key = Present(from, "rope_type") ? "rope_type" : "type";
  const std::string name = Present(from, key) ? from[key].String(100) : "default";
  const RopeRow* found = nullptr;
  for (const auto& row : kRopes) {
    if (row.name == name) found = &row;
  }
  if (!found) from[key].Fail(fmt::format("RoPE '{}' is not supported", PrintableText(name, 60)));
  rope->kind = found->kind;
  if (rope->kind == RopeKind::kDefault) return;
  const auto factor = Number(from, "factor", 1e-3, 1e6);
  if (!factor && rope->kind != RopeKind::kYarn) from.Fail("key 'factor' is missing");
  rope->factor = factor.value_or(0);  // yarn without it: max_positions / original_positions
  rope->original_positions = IntOr(from, "original_max_position_embeddings", 0, 1, kMaxPositions);
  rope->attention_factor = Number(from, "attention_factor", 0, 1e6);
  rope->mscale = Number(from, "mscale", 0, 1e6);
  rope->mscale_all_dim = Number(from, "mscale_all_dim", 0, 1e6);
  rope->beta_fast = NumberOr(from, "beta_fast", 32, 1e-6, 1e9);
  rope->beta_slow = NumberOr(from, "beta_slow", 1, 1e-6, 1e9);
  rope->truncate = BoolOr(from, "truncate", true);
  rope->low_freq_factor = NumberOr(from, "low_freq_factor", 1, 1e-6, 1e6);
  rope->high_freq_factor = NumberOr(from, "high_freq_factor", 4, 1e-6, 1e6);
  if (rope->kind == RopeKind::kLlama3 && rope->high_freq_factor <= rope->low_freq_factor) {
    from.Fail("high_freq_factor must be greater than low_freq_factor");
  }
}

// Since transformers 5 everything is in rope_parameters; before, rope_theta and rope_scaling stood apart.
RopeConfig ParseRope(const JsonCursor& root, int64_t max_positions) {
  RopeConfig rope;
  constexpr double kLow = 1.001, kHigh = 1e12;
  rope.theta = NumberOr(root, "rope_theta", 10000, kLow, kHigh);
  for (const auto key : {"rope_scaling", "rope_parameters"}) {
    if (!Present(root, key)) continue;
    const JsonCursor from = root[key];
    from.ExpectObject();
    rope.theta = NumberOr(from, "rope_theta", rope.theta, kLow, kHigh);
    if (NumberOr(from, "partial_rotary_factor", 1, 0, 1) != 1)
      from.Fail("partial rotary embeddings are not supported");
    ParseScaling(from, &rope);
  }
  if (NumberOr(root, "partial_rotary_factor", 1, 0, 1) != 1) {
    throw FormatError("partial rotary embeddings are not supported");
  }
  if (rope.kind == RopeKind::kDefault) return rope;
  if (rope.original_positions == 0) rope.original_positions = max_positions;
  if (rope.factor == 0)
    rope.factor = static_cast<double>(max_positions) / static_cast<double>(rope.original_positions);
  return rope;
}

void ParseSizes(const JsonCursor& root, ModelConfig* config) {
  config->vocabulary = root["vocab_size"].Int(1, kMaxVocabulary);
  config->hidden = root["hidden_size"].Int(1, kMaxSide);
  config->intermediate = root["intermediate_size"].Int(1, kMaxSide);
  config->layers = root["num_hidden_layers"].Int(1, kMaxLayers);
  config->heads = root["num_attention_heads"].Int(1, kMaxHeads);
  config->kv_heads = IntOr(root, "num_key_value_heads", config->heads, 1, kMaxHeads);
  if (config->heads % config->kv_heads != 0) {
    throw FormatError(fmt::format("num_attention_heads {} is no multiple of num_key_value_heads {}",
                                  config->heads, config->kv_heads));
  }
  if (!Present(root, "head_dim") && config->family != ModelFamily::kQwen3 &&
      config->hidden % config->heads != 0) {
    throw FormatError(fmt::format("hidden_size {} is no multiple of num_attention_heads {}", config->hidden,
                                  config->heads));
  }
  const int64_t usual = config->family == ModelFamily::kQwen3 ? 128 : config->hidden / config->heads;
  config->head_dim = IntOr(root, "head_dim", usual, 1, kMaxHeadDim);
  if (config->head_dim % 2 != 0 || config->head_dim > kMaxHeadDim) {
    throw FormatError(fmt::format("head_dim {} is odd or over {}", config->head_dim, kMaxHeadDim));
  }
  config->max_positions = root["max_position_embeddings"].Int(1, kMaxPositions);
}

// Whether a layer sees but the last `sliding_window` positions. Files of transformers 4.53 and later say it
// of each layer; in those before it was all layers from max_window_layers on. Defaults are Qwen's.
bool HasWindow(const JsonCursor& root, int64_t layer) {
  if (Present(root, "layer_types")) {
    const JsonCursor types = root["layer_types"];
    if (layer >= static_cast<int64_t>(types.Size(kMaxLayers))) return false;
    const JsonCursor type = types[static_cast<size_t>(layer)];
    const std::string& name = type.String(100);
    if (name != "full_attention" && name != "sliding_attention")
      type.Fail("only full_attention is supported");
    return name == "sliding_attention";
  }
  return BoolOr(root, "use_sliding_window", false) &&
         layer >= IntOr(root, "max_window_layers", 28, 0, kMaxPositions);
}

// A window as long as the longest text is none.
void RefuseWindows(const JsonCursor& root, const ModelConfig& config) {
  constexpr int64_t kNone = INT64_MAX;
  int64_t window = IntOr(root, "sliding_window", root.Has("sliding_window") ? kNone : 4096, 1, kMaxPositions);
  if (!BoolOr(root, "use_sliding_window", false)) window = 0;  // layers that have one all the same do not fit
  const bool stretches = config.rope.kind == RopeKind::kDynamic;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    if (!HasWindow(root, layer) || window == kNone || (window >= config.max_positions && !stretches))
      continue;
    throw FormatError(fmt::format(
        "layer {} has sliding-window attention, which is not supported; only full_attention is", layer));
  }
}

void ParseTokens(const JsonCursor& root, ModelConfig* config) {
  if (Present(root, "bos_token_id")) config->bos = root["bos_token_id"].Int(0, kMaxVocabulary);
  if (!Present(root, "eos_token_id")) return;
  const JsonCursor eos = root["eos_token_id"];
  if (!eos.json().is_array()) {
    config->eos = {eos.Int(0, kMaxVocabulary)};
    return;
  }
  const size_t count = eos.Size(64);
  for (size_t i = 0; i < count; ++i) config->eos.push_back(eos[i].Int(0, kMaxVocabulary));
}

json RopeJson(const ModelConfig& config) {
  const RopeConfig& rope = config.rope;
  json out = {{"rope_theta", rope.theta}};
  for (const auto& row : kRopes) {
    if (row.kind == rope.kind) out["rope_type"] = row.name;
  }
  if (rope.kind == RopeKind::kDefault) return out;
  out["factor"] = rope.factor;
  if (rope.kind == RopeKind::kYarn || rope.kind == RopeKind::kLlama3) {
    out["original_max_position_embeddings"] = rope.original_positions;
  }
  if (rope.kind == RopeKind::kLlama3) {
    out["low_freq_factor"] = rope.low_freq_factor;
    out["high_freq_factor"] = rope.high_freq_factor;
  }
  if (rope.kind == RopeKind::kYarn) {
    out["beta_fast"] = rope.beta_fast;
    out["beta_slow"] = rope.beta_slow;
    out["truncate"] = rope.truncate;
    if (rope.attention_factor) out["attention_factor"] = *rope.attention_factor;
    if (rope.mscale) out["mscale"] = *rope.mscale;
    if (rope.mscale_all_dim) out["mscale_all_dim"] = *rope.mscale_all_dim;
  }
  return out;
}

}  // namespace

std::string_view ModelTypeName(ModelFamily family) {
  return RowOf(family).type;
}

ModelConfig ParseModelConfig(std::string_view json_text) {
  const json document = ParseJson(json_text);
  const JsonCursor root(document);
  root.ExpectObject();
  ModelConfig config;
  config.family = ParseFamily(root);
  ParseSizes(root, &config);
  if (Present(root, "hidden_act") && root["hidden_act"].String(100) != "silu") {
    root["hidden_act"].Fail("only silu is supported");
  }
  config.rms_norm_eps = NumberOr(root, "rms_norm_eps", 1e-6, 0, 1);
  config.rope = ParseRope(root, config.max_positions);
  if (config.rope.kind == RopeKind::kDynamic && config.head_dim == 2) {
    throw FormatError("dynamic RoPE has no frequencies for heads of 2 elements");
  }
  const bool bias = BoolOr(root, "attention_bias", false);
  config.qkv_bias = config.family == ModelFamily::kQwen2 || bias;
  config.output_bias = config.family != ModelFamily::kQwen2 && bias;
  config.mlp_bias = config.family == ModelFamily::kLlama && BoolOr(root, "mlp_bias", false);
  config.qk_norm = config.family == ModelFamily::kQwen3;
  config.tied_embeddings = BoolOr(root, "tie_word_embeddings", false);
  RefuseWindows(root, config);
  ParseTokens(root, &config);
  return config;
}

ModelConfig LoadModelConfig(const std::filesystem::path& path) {
  try {
    return ParseModelConfig(ReadFile(path, size_t{16} << 20));
  } catch (const FormatError& error) {
    throw UserError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

std::string WriteModelConfig(const ModelConfig& config, std::string_view dtype) {
  const FamilyRow& row = RowOf(config.family);
  json out = {{"architectures", {row.architecture}},
              {"model_type", row.type},
              {"vocab_size", config.vocabulary},
              {"hidden_size", config.hidden},
              {"intermediate_size", config.intermediate},
              {"num_hidden_layers", config.layers},
              {"num_attention_heads", config.heads},
              {"num_key_value_heads", config.kv_heads},
              {"head_dim", config.head_dim},
              {"max_position_embeddings", config.max_positions},
              {"hidden_act", "silu"},
              {"rms_norm_eps", config.rms_norm_eps},
              {"rope_theta", config.rope.theta},
              {"rope_scaling", nullptr},
              {"tie_word_embeddings", config.tied_embeddings},
              {"torch_dtype", dtype}};
  if (config.rope.kind != RopeKind::kDefault) out["rope_scaling"] = RopeJson(config);
  if (config.family != ModelFamily::kQwen2) out["attention_bias"] = config.qkv_bias;
  if (config.family == ModelFamily::kLlama) out["mlp_bias"] = config.mlp_bias;
  if (config.family != ModelFamily::kLlama) out["use_sliding_window"] = false;
  if (config.bos) out["bos_token_id"] = *config.bos;
  if (config.eos.size() == 1) out["eos_token_id"] = config.eos[0];
  if (config.eos.size() > 1) out["eos_token_id"] = config.eos;
  return out.dump(2) + "\n";
}

}  // namespace tritogen
