#include "train/flops.h"

namespace tritogen::train {

StepFlops TrainingFlops(const ModelConfig& config, const BatchSize& batch) {
  const double hidden = static_cast<double>(config.hidden);
  const double heads = static_cast<double>(config.heads * config.head_dim);
  const double kv_heads = static_cast<double>(config.kv_heads * config.head_dim);
  const double layers = static_cast<double>(config.layers);
  const double layer = hidden * (2 * heads + 2 * kv_heads + 3 * static_cast<double>(config.intermediate));
  const double output = hidden * static_cast<double>(config.vocabulary);
  return {.products = 6 * (layers * layer * batch.tokens + output * batch.learned),
          .attention = 12 * layers * heads * batch.squared_lengths};
}

}  // namespace tritogen::train
