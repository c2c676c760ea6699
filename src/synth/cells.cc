#include "synth/cells.h"

#include <algorithm>
#include <utility>

#include "synth/image.h"
#include "synth/key_index.h"

namespace tritogen::synth {
namespace {

constexpr size_t kMostProducts = size_t{1} << 16, kMostCells = 2048;

}  // namespace

Cells CoarseCells(const Domain& domain) {
  Cells cells;
  for (const Domain::Range& range : domain.ranges()) {
    for (int64_t low = range.low; low <= range.high;) {
      const int64_t high = std::min(range.high, std::max(low, low * 35 / 32));
      cells.push_back({low, high});
      low = high + 1;
    }
  }
  return cells;
}

std::optional<Cells> AlikeCells(const Component& component, Var var) {
  std::vector<int64_t> ends;
  for (const Constraint& constraint : component.constraints) {
    const auto* bound = std::get_if<Bound>(&constraint);
    if (bound == nullptr || std::ranges::count(bound->vars, var) == 0) continue;
    std::vector<int64_t> products{bound->scale};
    bool itself = false;
    for (Var other : bound->vars) {
      if (other == var && !std::exchange(itself, true)) continue;
      const Domain& domain = component.domains[other];
      if (other == var || domain.size() > kListed ||
          products.size() * static_cast<size_t>(domain.size()) > kMostProducts)
        return std::nullopt;
      Distinct more(0);
      for (int64_t product : products) {
        for (int64_t value : domain.Values()) more.Add(SaturatingProduct(product, value));
      }
      products = more.Sorted();
    }
    for (int64_t product : products) {
      if (bound->high < kUnbounded) ends.push_back(bound->high / product);
      if (bound->low > 0) ends.push_back((bound->low - 1) / product);
    }
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  if (ends.size() > kMostCells) return std::nullopt;
  Cells cells;
  for (Domain::Range range : component.domains[var].ranges()) {
    for (auto end = std::ranges::lower_bound(ends, range.low); end != ends.end() && *end < range.high;
         ++end) {
      cells.push_back({range.low, *end});
      range.low = *end + 1;
    }
    cells.push_back(range);
  }
  return cells;
}

}  // namespace tritogen::synth
