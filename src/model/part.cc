#include "model/part.h"

#include <ATen/ATen.h>

#include "base/error.h"

namespace tritogen {
namespace {

constexpr int64_t kAlign = 16;  // of rows of logits, so that products are fast

// Elements [from, from + count) of a dimension.
struct Range {
  int64_t from = 0, count = 0;
};

Range Evenly(int64_t all, const ModelPart& part) {
  const int64_t count = all / part.size;
  return {part.rank * count, count};
}

Range KvHeads(const ModelConfig& c, const ModelPart& part) {
  if (c.kv_heads >= part.size) return Evenly(c.kv_heads, part);
  return {part.rank * c.kv_heads / part.size, 1};
}

at::Tensor SliceOf(const ModelConfig& c, const ModelPart& part, const std::string& name,
                   const at::Tensor& whole) {
  const auto ends = [&](std::string_view end) { return name.ends_with(end); };
  const auto is = [&](std::string_view layer) {
    return name.find(layer) != std::string::npos && (ends(".weight") || ends(".bias"));
  };
  const auto rows = [&](const Range& range, int64_t each) {
    return whole.narrow(0, range.from * each, range.count * each);
  };
  if (is(".q_proj.")) return rows(Evenly(c.heads, part), c.head_dim);
  if (is(".k_proj.") || is(".v_proj.")) return rows(KvHeads(c, part), c.head_dim);
  if (is(".gate_proj.") || is(".up_proj.")) return rows(Evenly(c.intermediate, part), 1);
  if (is(".o_proj.") || is(".down_proj.")) {
    if (ends(".bias")) return part.rank == 0 ? whole : at::zeros_like(whole);
    const Range columns = Evenly(whole.size(1), part);
    return whole.narrow(1, columns.from, columns.count);
  }
  if (name == "lm_head.weight" && PartOutputRows(c, part) < c.vocabulary)
    return rows(Evenly(c.vocabulary, part), 1);
  return whole;
}

}  // namespace

void CheckDivides(const ModelConfig& c, int size) {
  if (size == 1) return;
  if (c.heads % size != 0)
    throw UserError(
        fmt::format("a model with {} attention heads cannot be divided among {} ranks", c.heads, size));
  if (c.kv_heads % size != 0 && size % c.kv_heads != 0)
    throw UserError(fmt::format(
        "a model with {} key and value heads cannot be divided among {} ranks: one of the numbers must be a "
        "multiple of the other",
        c.kv_heads, size));
  if (c.intermediate % size != 0)
    throw UserError(fmt::format("a model with an intermediate size of {} cannot be divided among {} ranks",
                                c.intermediate, size));
}

ModelConfig PartConfig(const ModelConfig& config, const ModelPart& part) {
  ModelConfig own = config;
  own.heads = config.heads / part.size;
  own.kv_heads = KvHeads(config, part).count;
  own.intermediate = config.intermediate / part.size;
  return own;
}

int64_t PartOutputRows(const ModelConfig& config, const ModelPart& part) {
  const bool divides = !config.tied_embeddings && config.vocabulary % (kAlign * part.size) == 0;
  return divides ? config.vocabulary / part.size : config.vocabulary;
}

DecoderWeights MakePart(const ModelConfig& config, const ModelPart& part, at::ScalarType dtype,
                        at::Device device) {
  const at::TensorOptions options = at::TensorOptions(dtype).device(device);
  return MakeWeights(
      PartConfig(config, part), [&](at::IntArrayRef shape) { return at::empty(shape, options); },
      PartOutputRows(config, part));
}

void CopyPart(const ModelConfig& config, const ModelPart& part,
              const std::function<at::Tensor(const std::string& name)>& whole, DecoderWeights* weights) {
  const at::NoGradGuard no_gradients;
  for (auto& [name, tensor] : weights->Named()) {
    const at::Tensor source = SliceOf(config, part, name, whole(name));
    TRITOGEN_CHECK(source.sizes() == tensor.sizes());
    tensor.copy_(source);
  }
}

}  // namespace tritogen
