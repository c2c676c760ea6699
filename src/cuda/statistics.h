// Statistics of repeated measurements. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tritogen::cuda {

struct Summary {
  size_t count = 0;
  double median = 0, lower_quartile = 0, upper_quartile = 0, minimum = 0, maximum = 0;
  // Of the median, from order statistics (McKean and Schrader 1984): with c = (n + 1)/2 − z √(n/4) rounded
  // and at least 1, z = 2.5758 (99%), it is (x[n−c+1] − x[c]) / 2z with 1-based ranks. No distribution is
  // assumed.
  double standard_error = 0;
};

// Quantiles interpolate linearly between ranks. REQUIRES: not empty, finite.
Summary Summarize(std::span<const double> samples);

double Median(std::span<const double> samples);

// Warm-up is over when the medians of the last two windows of samples differ by at most `tolerance`
// (relative).
class StabilityWatch {
 public:
  StabilityWatch(size_t window, double tolerance) : window_(window), tolerance_(tolerance) {}
  void Add(double sample) { samples_.push_back(sample); }
  bool stable() const;
  size_t count() const { return samples_.size(); }

 private:
  size_t window_;
  double tolerance_;
  std::vector<double> samples_;
};

}  // namespace tritogen::cuda
