#include "synth/product_count.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace tritogen::synth {
namespace {

constexpr int64_t kMostRoot = int64_t{1} << 16;  // of the bound: tables have twice as many rows
constexpr double kMostTotal = 0x1p120;           // 128 bits hold every sum then

int64_t Power(int64_t base, int exponent) {
  int64_t power = base;
  for (int i = 1; i < exponent; ++i) power = SaturatingProduct(power, base);
  return power;
}

// The largest r with r^exponent ≤ value.
int64_t Root(int64_t value, int exponent) {
  if (exponent == 1) return value;
  auto root = static_cast<int64_t>(std::pow(static_cast<double>(value), 1.0 / exponent));
  while (Power(root, exponent) > value) --root;
  while (Power(root + 1, exponent) <= value) ++root;
  return root;
}

}  // namespace

std::optional<ProductCount> ProductCount::Of(const Component& component, int64_t most_steps) {
  if (component.constraints.size() != 1) return std::nullopt;
  const auto* bound = std::get_if<Bound>(&component.constraints[0]);
  if (bound == nullptr || bound->low > 0 || bound->high == kUnbounded) return std::nullopt;
  ProductCount made;
  made.high_ = bound->high / bound->scale;
  made.most_steps_ = most_steps;
  for (size_t i = 0; i < bound->vars.size(); ++i) {
    const Var var = bound->vars[i];
    auto known = std::ranges::find(made.factors_, var, &Factor::var);
    if (known != made.factors_.end()) {
      ++known->exponent;
      continue;
    }
    Factor factor{.var = var, .exponent = 1, .domain = component.domains[var]};
    int64_t before = 0;
    for (const Domain::Range& range : factor.domain.ranges()) {
      factor.before.push_back(before);
      before += range.high - range.low + 1;
    }
    made.factors_.push_back(std::move(factor));
  }
  if (made.factors_.size() != component.domains.size()) return std::nullopt;
  // Few values first: what is left of the bound then has few values too.
  std::ranges::stable_sort(made.factors_, {}, [](const Factor& f) { return f.domain.size() / f.exponent; });
  double all = 1;
  for (size_t k = made.factors_.size(); k-- > 0;) {
    Factor& factor = made.factors_[k];
    if (k + 1 < made.factors_.size()) {
      const Factor& next = made.factors_[k + 1];
      factor.rest = next.rest * static_cast<Wide>(next.domain.size());
      factor.rest_most = SaturatingProduct(next.rest_most, Power(next.domain.max(), next.exponent));
    }
    all *= static_cast<double>(factor.domain.size());
    if (all > kMostTotal) return std::nullopt;
  }
  made.root_ = Root(made.high_, 2);
  if (made.root_ > kMostRoot) return std::nullopt;
  made.known_.assign(made.factors_.size(), std::vector<Wide>(2 * made.root_ + 2, kUnknown));
  try {
    made.ForEachRun(made.factors_[0], made.high_, [&](const Run& run) {
      made.first_runs_.push_back(run);
      made.first_before_.push_back(made.total_);
      made.total_ += static_cast<Wide>(run.last - run.first + 1) * made.Count(1, run.quotient);
      return true;
    });
  } catch (const TooLarge&) {
    return std::nullopt;
  }
  return made;
}

template <typename F>
void ProductCount::ForEachRun(const Factor& factor, int64_t most, F visit) const {
  for (const Domain::Range& range : factor.domain.ranges()) {
    for (int64_t first = range.low; first <= range.high;) {
      const int64_t quotient = most / Power(first, factor.exponent);
      if (quotient == 0) return;
      // Where the rest is not bounded any more, quotients are alike too.
      const int64_t alike = most / std::min(quotient, factor.rest_most);
      const int64_t last = std::min(range.high, Root(alike, factor.exponent));
      if (!visit(Run{first, last, quotient})) return;
      first = last + 1;
    }
  }
}

// How many values have a power of at most `most`.
int64_t ProductCount::AtMost(const Factor& factor, int64_t most) const {
  const int64_t root = Root(most, factor.exponent);
  const auto& ranges = factor.domain.ranges();
  const auto past = std::ranges::upper_bound(ranges, root, {}, &Domain::Range::low);
  if (past == ranges.begin()) return 0;
  const auto range = std::prev(past);
  return factor.before[range - ranges.begin()] + std::min(root, range->high) - range->low + 1;
}

Wide ProductCount::Count(size_t k, int64_t most) {
  if (k == factors_.size()) return 1;
  const Factor& factor = factors_[k];
  if (++steps_ > most_steps_) throw TooLarge();
  if (SaturatingProduct(factor.rest_most, Power(factor.domain.max(), factor.exponent)) <= most)
    return factor.rest * static_cast<Wide>(factor.domain.size());
  if (k + 1 == factors_.size()) return static_cast<Wide>(AtMost(factor, most));
  const size_t place = Place(most);
  if (known_[k][place] != kUnknown) return known_[k][place];
  Wide count = 0;
  ForEachRun(factor, most, [&](const Run& run) {
    count += static_cast<Wide>(run.last - run.first + 1) * Count(k + 1, run.quotient);
    return true;
  });
  return known_[k][place] = count;
}

// The same, of what was counted before.
Wide ProductCount::Known(size_t k, int64_t most) const {
  if (k == factors_.size()) return 1;
  const Factor& factor = factors_[k];
  if (SaturatingProduct(factor.rest_most, Power(factor.domain.max(), factor.exponent)) <= most)
    return factor.rest * static_cast<Wide>(factor.domain.size());
  if (k + 1 == factors_.size()) return static_cast<Wide>(AtMost(factor, most));
  return known_[k][Place(most)];
}

void ProductCount::Unrank(Wide index, std::vector<int64_t>* values) const {
  TRITOGEN_CHECK(index < total_);
  values->resize(factors_.size());
  const auto at = std::prev(std::ranges::upper_bound(first_before_, index)) - first_before_.begin();
  index -= first_before_[at];
  Run run = first_runs_[at];
  for (size_t k = 0;; ++k) {
    // Within a run: a value, and an index among the ways to choose the rest.
    const auto [value, rest] = DivMod(index, Known(k + 1, run.quotient));
    (*values)[factors_[k].var] = run.first + static_cast<int64_t>(value);
    index = rest;
    if (k + 1 == factors_.size()) return;
    const int64_t most = run.quotient;
    ForEachRun(factors_[k + 1], most, [&](const Run& next) {
      const Wide count = static_cast<Wide>(next.last - next.first + 1) * Known(k + 2, next.quotient);
      run = next;
      if (index < count) return false;
      index -= count;
      return true;
    });
  }
}

}  // namespace tritogen::synth
