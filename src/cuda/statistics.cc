#include "cuda/statistics.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace tritogen::cuda {
namespace {

double Quantile(const std::vector<double>& sorted, double share) {
  const double rank = share * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(rank);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (rank - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double StandardErrorOfMedian(const std::vector<double>& sorted) {
  constexpr double kZ = 2.5758;
  const double n = static_cast<double>(sorted.size());
  const auto c = static_cast<size_t>(std::max(1.0, std::round((n + 1) / 2 - kZ * std::sqrt(n / 4))));
  return (sorted[sorted.size() - c] - sorted[c - 1]) / (2 * kZ);
}

}  // namespace

Summary Summarize(std::span<const double> samples) {
  TRITOGEN_CHECK(!samples.empty());
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  Summary summary;
  summary.count = sorted.size();
  summary.median = Quantile(sorted, 0.5);
  summary.lower_quartile = Quantile(sorted, 0.25);
  summary.upper_quartile = Quantile(sorted, 0.75);
  summary.minimum = sorted.front();
  summary.maximum = sorted.back();
  summary.standard_error = StandardErrorOfMedian(sorted);
  return summary;
}

double Median(std::span<const double> samples) {
  return Summarize(samples).median;
}

bool StabilityWatch::stable() const {
  if (samples_.size() < 2 * window_) return false;
  const std::span<const double> all(samples_);
  const double now = Median(all.last(window_));
  const double before = Median(all.last(2 * window_).first(window_));
  return std::abs(now - before) <= tolerance_ * before;
}

}  // namespace tritogen::cuda
