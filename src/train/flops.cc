#include "train/flops.h"

namespace tritogen::train {

double TrainingFlops(const ModelConfig& config, double tokens, double squared_lengths) {
  const double hidden = static_cast<double>(config.hidden);
  const double heads = static_cast<double>(config.heads * config.head_dim);
  const double kv_heads = static_cast<double>(config.kv_heads * config.head_dim);
  const double layers = static_cast<double>(config.layers);
  const double layer = hidden * (2 * heads + 2 * kv_heads + 3 * static_cast<double>(config.intermediate));
  const double parameters = layers * layer + hidden * static_cast<double>(config.vocabulary);
  return 6 * parameters * tokens + 12 * layers * heads * squared_lengths / 2;
}

}  // namespace tritogen::train
