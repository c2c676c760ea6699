#include "train/new_policy.h"

#include <fmt/format.h>

#include <cmath>

#include "base/atomic_file.h"
#include "base/error.h"
#include "model/decoder.h"
#include "model/model_folder.h"
#include "text/bpe_trainer.h"

namespace tritogen::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEnd = "<|end|>";
constexpr const char* kPadding = "<|endoftext|>";  // for other programs, which pad batches

std::vector<std::string> SpecialTokens() {
  return {kPadding, kEnd, "<|system|>", "<|user|>", "<|assistant|>"};
}

constexpr const char* kWords = R"(\p{N}|[ .@_]?\p{L}+| ?[^\s\p{L}\p{N}]+[\r\n]*[ \t]*|\s*[\r\n]+[ \t]*|\s+)";

nlohmann::ordered_json TokenizerConfig(int64_t context) {
  return {{"tokenizer_class", "PreTrainedTokenizerFast"},
          {"model_max_length", context},
          {"bos_token", nullptr},
          {"eos_token", kEnd},
          {"pad_token", kPadding},
          {"unk_token", nullptr},
          {"clean_up_tokenization_spaces", false},
          {"chat_template", kPolicyTemplate}};
}

int64_t IdOf(const TokenizerFile& tokenizer, std::string_view token) {
  for (const AddedToken& added : tokenizer.added_tokens) {
    if (added.content == token) return added.id;
  }
  TRITOGEN_CHECK(false);
}

// What adds to the residual stream begins smaller, so that the stream's size does not grow with depth
// (Radford et al. 2019, section 2.3).
void ScaleResidualProjections(DecoderWeights* weights) {
  const double scale = 1 / std::sqrt(2.0 * static_cast<double>(weights->layers.size()));
  for (LayerWeights& layer : weights->layers) {
    layer.attention_out.mul_(scale);
    layer.down.mul_(scale);
  }
}

void RequireNoModel(const fs::path& folder) {
  if (Exists(folder / "config.json"))
    throw UserError(fmt::format("{} holds a model already; choose another folder", folder.string()));
}

}  // namespace

const std::string_view kPolicyTemplate =
    "{%- for message in messages %}"
    "{%- if message['role'] not in ['system', 'user', 'assistant'] %}"
    "{{- raise_exception('roles are system, user and assistant') }}"
    "{%- endif %}"
    "{{- '<|' + message['role'] + '|>' + message['content'] }}"
    "{%- if message['role'] == 'assistant' %}{{- '<|end|>' }}{%- endif %}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|assistant|>' }}{%- endif %}";

void Describe(config::Fields* f, PolicyOptions* o) {
  f->Int("vocabulary", &o->vocabulary, 256 + static_cast<int64_t>(SpecialTokens().size()), 1 << 20);
  f->Int("context", &o->context, 16, 1 << 20);
  f->Int("hidden", &o->hidden, 16, 1 << 16);
  f->Int("layers", &o->layers, 1, 1024);
  f->Int("heads", &o->heads, 1, 1024);
  f->Int("kv_heads", &o->kv_heads, 1, 1024);
  f->Int("head_dim", &o->head_dim, 2, 1024);
  f->Int("intermediate", &o->intermediate, 16, 1 << 18);
  f->Double("rope_theta", &o->rope_theta, 1.001, 1e12);
  f->Bool("tied_embeddings", &o->tied_embeddings);
  f->Int("tokenizer_conversations", &o->tokenizer_conversations, 0, int64_t{1} << 40);
  f->Double("temperature", &o->temperature, 0, 100);
  f->Int("seed", &o->seed, 0, int64_t{1} << 53);
}

TokenizerFile PolicySkeleton() {
  TokenizerFile file = QwenSkeleton();
  file.pre_tokenizer["pretokenizers"][0]["pattern"]["Regex"] = kWords;
  return file;
}

std::optional<TokenizerFile> TrainPolicyTokenizer(const CorpusOptions& data, const PolicyOptions& options,
                                                  const ReadHooks& hooks) {
  ThreadTeam team(0);
  ConversationReader reader(data, &team);
  BpeTrainer trainer(PolicySkeleton(), {.vocabulary = static_cast<size_t>(options.vocabulary),
                                        .min_frequency = 2,
                                        .special_tokens = SpecialTokens()});
  int64_t left = options.tokenizer_conversations > 0 ? options.tokenizer_conversations
                                                     : std::numeric_limits<int64_t>::max();
  std::vector<Conversation> block;
  while (left > 0 && reader.Next(&block)) {
    for (const Conversation& conversation : block) {
      if (left-- == 0) break;
      // A special token is never part of a word: what stands between them is what is split.
      for (const auto& message : conversation.messages) trainer.Add(message.value("content", ""));
    }
    if (hooks.stop()) return std::nullopt;
    hooks.progress(reader.bytes_done(), reader.bytes());
  }
  return trainer.Train();
}

bool MakePolicy(const fs::path& folder, const PolicyOptions& options, const CorpusOptions& data,
                const ReadHooks& hooks) {
  RequireNoModel(folder);
  const auto tokenizer = TrainPolicyTokenizer(data, options, hooks);
  if (tokenizer) WritePolicyFolder(folder, options, *tokenizer);
  return tokenizer.has_value();
}

ModelConfig PolicyConfig(const PolicyOptions& o, const TokenizerFile& tokenizer) {
  ModelConfig config{.family = ModelFamily::kQwen3,
                     .vocabulary = o.vocabulary,
                     .hidden = o.hidden,
                     .intermediate = o.intermediate,
                     .layers = o.layers,
                     .heads = o.heads,
                     .kv_heads = o.kv_heads,
                     .head_dim = o.head_dim,
                     .max_positions = o.context,
                     .qk_norm = true,
                     .tied_embeddings = o.tied_embeddings,
                     .eos = {IdOf(tokenizer, kEnd)}};
  config.rope.theta = o.rope_theta;
  return config;
}

void WritePolicyFolder(const fs::path& folder, const PolicyOptions& options, const TokenizerFile& tokenizer) {
  const ModelConfig config = PolicyConfig(options, tokenizer);
  try {
    ParseModelConfig(WriteModelConfig(config, "bfloat16"));
  } catch (const FormatError& error) {
    throw UserError(fmt::format("the policy's sizes: {}", error.what()));
  }
  RequireNoModel(folder);
  DecoderWeights weights = MakeWeights(config, at::kFloat, at::kCPU);
  FillWeights(options.seed, &weights);
  ScaleResidualProjections(&weights);
  fs::create_directories(folder);
  WriteFileAtomic(folder / "tokenizer.json", WriteTokenizerFile(tokenizer));
  WriteFileAtomic(folder / "tokenizer_config.json", TokenizerConfig(options.context).dump(2) + "\n");
  const nlohmann::ordered_json generation = {{"eos_token_id", config.eos[0]},
                                             {"pad_token_id", IdOf(tokenizer, kPadding)},
                                             {"do_sample", options.temperature > 0},
                                             {"temperature", options.temperature}};
  WriteFileAtomic(folder / "generation_config.json", generation.dump(2) + "\n");
  SaveModel(folder, weights, at::kBFloat16);
}

}  // namespace tritogen::train
