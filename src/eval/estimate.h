// pass@k, and how sure a share is.
#pragma once

#include <cstdint>
#include <vector>

namespace tritogen::eval {

// The unbiased estimator of the chance that one of k samples passes, from n samples of which c passed:
// 1 − C(n−c, k) / C(n, k) (Chen et al. 2021, arXiv 2107.03374, equation 1). REQUIRES: 0 <= c <= n, 1 <= k <=
// n.
double PassAtK(int64_t n, int64_t c, int64_t k);

struct Estimate {
  double value = 0, low = 0, high = 1;  // the mean, and an interval that has the true one in 95 of 100 cases
  int64_t count = 0;                    // of values; 0: nothing is known
};

// The mean of independent values in [0, 1], one a program. The interval is Wilson's (1927) for a share, with
// as many trials as would give the variance that the values have, at least one a value: it never leaves [0,
// 1] and does not shrink to a point where all values are equal.
Estimate MeanOf(const std::vector<double>& values);

}  // namespace tritogen::eval
