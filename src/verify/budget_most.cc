#include "verify/budget_most.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "verify/budget.h"

namespace tritogen {

SampledPlaces::SampledPlaces(int64_t n, double scale) : n_(n), count_(CountIn(n)) {
  const auto bits = std::bit_cast<uint64_t>(scale);
  salt_ = static_cast<uint32_t>(bits ^ (bits >> 32));
}

// As place_of in kernels/most.py has it.
int64_t SampledPlaces::operator[](int64_t sample) const {
  uint32_t x = (static_cast<uint32_t>(sample) ^ salt_) * 0x9E3779B1U;
  x = (x ^ (x >> 15)) * 0x85EBCA77U;
  x ^= x >> 13;
  return sample * n_ / count_ + x % (n_ / count_);
}

void MostElements::Widen(const MostElements& other) {
  for (size_t i = 0; i < noise.size(); ++i) noise[i] = std::max(noise[i], other.noise[i]);
}

MostElements::Numbers MostElements::Of(std::vector<double> numbers, int64_t percent_more) {
  Numbers found{};
  if (numbers.empty()) return found;
  for (size_t i = 0; i < found.size(); ++i) {
    const int64_t rank = static_cast<int64_t>(numbers.size()) * (kPercent[i] + percent_more) / 100;
    std::nth_element(numbers.begin(), numbers.begin() + rank, numbers.end());
    found[i] = numbers[rank];
  }
  return found;
}

MostElements::Numbers Expectation::MostOf(const std::function<double(int64_t)>& number_at,
                                          int64_t percent_more) const {
  const double* e = exact_.const_data_ptr<double>();
  const SampledPlaces places(exact_.numel(), totals().scale);
  std::vector<double> numbers;
  for (int64_t i = 0; i < places.count(); ++i) {
    const int64_t at = places[i];
    if (std::isfinite(e[at]) && !totals().IsFill(e[at])) numbers.push_back(number_at(at));
  }
  return MostElements::Of(std::move(numbers), percent_more);
}

MostElements Expectation::MostByLoops(const std::vector<const double*>& errors_of) const {
  const double* e = exact_.const_data_ptr<double>();
  const auto noise_at = [&](int64_t at) {
    double largest = 0;
    for (const double* other : errors_of) {
      const double error = std::abs(other[at] - e[at]);
      if (std::isfinite(error)) largest = std::max(largest, error);
    }
    return largest;
  };
  const auto scale_at = [&](int64_t at) { return row_magnitude_[at / row_length_]; };
  return {MostOf(noise_at, MostElements::kPercentMore), MostOf(scale_at, MostElements::kPercentMore)};
}

}  // namespace tritogen
