// The shape of a decoder, read from a Hugging Face config.json: Qwen3, Qwen2, Llama.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tritogen {

enum class ModelFamily { kQwen3, kQwen2, kLlama };

enum class RopeKind { kDefault, kLinear, kDynamic, kYarn, kLlama3 };

// Rotary embeddings. Fields of other kinds than `kind` keep their defaults.
struct RopeConfig {
  RopeKind kind = RopeKind::kDefault;
  double theta = 10000;
  double factor = 1;
  int64_t original_positions = 0;  // yarn, llama3: positions before the stretch; 0: max_positions
  std::optional<double> attention_factor, mscale, mscale_all_dim;  // yarn
  double beta_fast = 32, beta_slow = 1;                            // yarn
  bool truncate = true;                                            // yarn
  double low_freq_factor = 1, high_freq_factor = 4;                // llama3
};

struct ModelConfig {
  ModelFamily family = ModelFamily::kQwen3;
  int64_t vocabulary = 0, hidden = 0, intermediate = 0, layers = 0;
  int64_t heads = 0, kv_heads = 0;  // heads is a multiple of kv_heads
  int64_t head_dim = 0;             // even; heads · head_dim need not be `hidden`
  int64_t max_positions = 0;
  double rms_norm_eps = 1e-6;
  RopeConfig rope;
  bool qkv_bias = false, output_bias = false;  // of the attention's projections
  bool mlp_bias = false;
  bool qk_norm = false;          // RMSNorm of each head's q and k before RoPE
  bool tied_embeddings = false;  // the output projection is the embedding
  std::optional<int64_t> bos;
  std::vector<int64_t> eos;  // any of them ends a text
};

// Throws FormatError (where, what): an architecture that is not supported, a missing or impossible size, a
// kind of RoPE, activation or attention window that is not supported.
ModelConfig ParseModelConfig(std::string_view json_text);
ModelConfig LoadModelConfig(const std::filesystem::path& path);  // UserError naming the file

// config.json that transformers loads as the same model. `dtype`: of the weights, as in "bfloat16".
std::string WriteModelConfig(const ModelConfig& config, std::string_view dtype);

std::string_view ModelTypeName(ModelFamily family);  // "qwen3", …

}  // namespace tritogen
