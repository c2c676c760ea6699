#include "model/rope.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace tritogen {
namespace {

constexpr double kTwoPi = 2 * std::numbers::pi;

// base ^ (2i / dim)
std::vector<float> Periods(double base, int64_t dim) {
  std::vector<float> periods(static_cast<size_t>(dim / 2));
  for (size_t i = 0; i < periods.size(); ++i) {
    periods[i] = std::pow(static_cast<float>(base), static_cast<float>(2 * i) / static_cast<float>(dim));
  }
  return periods;
}

// The NTK-aware base for `length` positions.
double DynamicBase(const ModelConfig& config, int64_t length) {
  const double positions = static_cast<double>(config.max_positions),
               dim = static_cast<double>(config.head_dim);
  const double stretch = config.rope.factor * std::max(1.0, static_cast<double>(length) / positions);
  return config.rope.theta * std::pow(stretch - (config.rope.factor - 1), dim / (dim - 2));
}

double Mscale(double scale, double by) {
  return scale <= 1 ? 1 : 0.1 * by * std::log(scale) + 1;
}

float YarnAttention(const RopeConfig& rope) {
  if (rope.attention_factor) return static_cast<float>(*rope.attention_factor);
  if (rope.mscale.value_or(0) != 0 && rope.mscale_all_dim.value_or(0) != 0) {
    return static_cast<float>(Mscale(rope.factor, *rope.mscale) / Mscale(rope.factor, *rope.mscale_all_dim));
  }
  return static_cast<float>(Mscale(rope.factor, 1));
}

// Frequencies that turn often within the original context stay, those that turn seldom are divided by the
// factor, with a ramp between.
void Yarn(const ModelConfig& config, const std::vector<float>& periods, std::vector<float>* out) {
  const RopeConfig& rope = config.rope;
  const double dim = static_cast<double>(config.head_dim),
               positions = static_cast<double>(rope.original_positions);
  const auto dimension_of =
      [&](double turns) {  // the dimension that turns so often within the original context
        return dim * std::log(positions / (turns * kTwoPi)) / (2 * std::log(rope.theta));
      };
  double low = dimension_of(rope.beta_fast), high = dimension_of(rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dim - 1);
  if (low == high) high += 0.001;
  for (size_t i = 0; i < periods.size(); ++i) {
    const float ramp = static_cast<float>(i) - static_cast<float>(low);
    const float stretched = std::clamp(ramp / static_cast<float>(high - low), 0.0f, 1.0f);
    const float keep = 1.0f - stretched;
    (*out)[i] =
        1.0f / (static_cast<float>(rope.factor) * periods[i]) * (1.0f - keep) + 1.0f / periods[i] * keep;
  }
}

void Llama3(const RopeConfig& rope, std::vector<float>* frequencies) {
  const float factor = static_cast<float>(rope.factor),
              positions = static_cast<float>(rope.original_positions);
  const float low = static_cast<float>(rope.low_freq_factor),
              high = static_cast<float>(rope.high_freq_factor);
  for (float& frequency : *frequencies) {
    const float wavelength = static_cast<float>(kTwoPi) / frequency;
    if (wavelength < positions / high) continue;
    if (wavelength > positions / low) {
      frequency /= factor;
      continue;
    }
    const float smooth = (positions / wavelength - low) / (high - low);
    frequency = (1 - smooth) * (frequency / factor) + smooth * frequency;
  }
}

}  // namespace

int64_t StretchBeyond(const ModelConfig& config) {
  return config.rope.kind == RopeKind::kDynamic ? config.max_positions : 0;
}

void CheckContext(const ModelConfig& config, int64_t context) {
  if (context > config.max_positions && StretchBeyond(config) == 0) {
    throw UserError(
        fmt::format("a context of {} positions is more than the model's {}", context, config.max_positions));
  }
}

RopeTable MakeRopeTable(const ModelConfig& config, int64_t length) {
  const RopeConfig& rope = config.rope;
  const double base = rope.kind == RopeKind::kDynamic ? DynamicBase(config, length) : rope.theta;
  const std::vector<float> periods = Periods(base, config.head_dim);
  RopeTable table;
  for (const float period : periods) table.inverse_frequencies.push_back(1.0f / period);
  if (rope.kind == RopeKind::kLinear) {
    for (float& frequency : table.inverse_frequencies) frequency /= static_cast<float>(rope.factor);
  }
  if (rope.kind == RopeKind::kLlama3) Llama3(rope, &table.inverse_frequencies);
  if (rope.kind == RopeKind::kYarn) {
    Yarn(config, periods, &table.inverse_frequencies);
    table.attention_factor = YarnAttention(rope);
  }
  return table;
}

}  // namespace tritogen
