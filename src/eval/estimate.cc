#include "eval/estimate.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace tritogen::eval {

double PassAtK(int64_t n, int64_t c, int64_t k) {
  TRITOGEN_CHECK(0 <= c && c <= n && 1 <= k && k <= n);
  if (n - c < k) return 1;
  double none = 1;  // C(n−c, k) / C(n, k), as a product of shares
  for (int64_t i = n - c + 1; i <= n; ++i) none *= 1 - static_cast<double>(k) / static_cast<double>(i);
  return 1 - none;
}

Estimate MeanOf(const std::vector<double>& values) {
  Estimate e{.count = static_cast<int64_t>(values.size())};
  if (values.empty()) return e;
  const auto count = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  e.value = sum / count;
  for (const double value : values) squares += (value - e.value) * (value - e.value);
  const double share = e.value * (1 - e.value);
  double trials = count;
  if (squares > 0 && count > 1) trials = std::max(count, share * count / (squares / (count - 1)));
  constexpr double kZ = 1.959964;  // 97.5% of a normal distribution lies below
  const double z2 = kZ * kZ / trials;
  const double middle = (e.value + z2 / 2) / (1 + z2);
  const double half = std::sqrt(share * z2 + z2 * z2 / 4) / (1 + z2);
  e.low = std::clamp(middle - half, 0.0, e.value);
  e.high = std::clamp(middle + half, e.value, 1.0);
  return e;
}

}  // namespace tritogen::eval
