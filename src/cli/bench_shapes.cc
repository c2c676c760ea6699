#include "cli/bench_shapes.h"

#include <map>

#include "base/error.h"

namespace tritogen {
namespace {

const std::map<std::string, ModelConfig>& Shapes() {
  static const std::map<std::string, ModelConfig> shapes = [] {
    std::map<std::string, ModelConfig> made;
    ModelConfig qwen{.family = ModelFamily::kQwen2,
                     .vocabulary = 151936,
                     .hidden = 896,
                     .intermediate = 4864,
                     .layers = 24,
                     .heads = 14,
                     .kv_heads = 2,
                     .head_dim = 64,
                     .max_positions = 32768};
    qwen.qkv_bias = qwen.tied_embeddings = true;
    made["qwen2.5-0.5b"] = qwen;
    ModelConfig small{.family = ModelFamily::kQwen3,
                      .vocabulary = 4096,
                      .hidden = 512,
                      .intermediate = 1536,
                      .layers = 8,
                      .heads = 8,
                      .kv_heads = 2,
                      .head_dim = 64,
                      .max_positions = 8192};
    small.qk_norm = small.tied_embeddings = true;
    made["24m"] = small;
    ModelConfig tiny = small;  // to try commands
    tiny.vocabulary = 320, tiny.hidden = 64, tiny.intermediate = 128, tiny.layers = 2;
    tiny.heads = 4, tiny.head_dim = 32, tiny.tied_embeddings = false;
    made["tiny"] = tiny;
    ModelConfig large{.family = ModelFamily::kLlama,
                      .vocabulary = 128256,
                      .hidden = 4096,
                      .intermediate = 14336,
                      .layers = 32,
                      .heads = 32,
                      .kv_heads = 8,
                      .head_dim = 128,
                      .max_positions = 8192};
    made["8b"] = large;
    return made;
  }();
  return shapes;
}

}  // namespace

std::vector<std::string> BenchShapeNames() {
  std::vector<std::string> names;
  for (const auto& [name, shape] : Shapes()) names.push_back(name);
  return names;
}

ModelConfig BenchShape(const std::string& name) {
  const auto found = Shapes().find(name);
  TRITOGEN_CHECK(found != Shapes().end());
  return found->second;
}

}  // namespace tritogen
