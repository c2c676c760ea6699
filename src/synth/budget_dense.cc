// Counts of all small budgets at once, where all bounds of a part have the same one.
#include <numeric>

#include "synth/budget_counter.h"

namespace tritogen::synth {
namespace {

constexpr int64_t kDense = int64_t{1} << 17;
constexpr int kAskedOften = 32;
constexpr double kMostDense = 0x1p62;  // of a dense count

}  // namespace

// The part's counts by budget, made when they have been asked for often; null when there are none, or the
// budget is not one or not small.
const std::vector<uint64_t>* BudgetCounter::Dense(const Shape& part, const PerBound& budgets) {
  const int64_t budget = budgets[std::countr_zero(part.bounds)];
  if (part.common < 0 || budget >= kDense) return nullptr;
  for (uint32_t bits = part.bounds & (part.bounds - 1); bits != 0; bits &= bits - 1) {
    if (budgets[std::countr_zero(bits)] != budget) return nullptr;
  }
  const size_t number = part.number;
  if (number >= asked_.size()) asked_.resize(number + 1);
  if (++asked_[number] == kAskedOften) MakeDense(part);
  return number < dense_.size() && !dense_[number].empty() ? &dense_[number] : nullptr;
}

// Let D be the counts of what is left after the common factor. D(m) − D(m − 1) ways need m and no less; each
// power of the factor makes that m times itself.
const std::vector<uint64_t>& BudgetCounter::MakeDense(const Shape& part) {
  if (static_cast<size_t>(part.number) >= dense_.size()) dense_.resize(part.number + 1);
  if (!dense_[part.number].empty()) return dense_[part.number];
  const Factor& factor = plan_.factor(part.common);
  const std::vector<uint64_t> rest = DenseRest(part.factors & ~(uint32_t{1} << part.common), part.bounds);
  std::vector<uint64_t> counts;
  if (!rest.empty() && static_cast<double>(factor.size) * static_cast<double>(rest.back()) < kMostDense) {
    steps_ += kDense;
    counts.assign(kDense, 0);
    auto add = [&](int64_t power, uint64_t weight) {
      for (int64_t need = 1; need * power < kDense; ++need)
        counts[need * power] += (rest[need] - rest[need - 1]) * weight;
    };
    const int bound = std::countr_zero(part.bounds);
    for (const Factor::Row& row : factor.rows) {
      if (row.powers[bound] < kDense) add(row.powers[bound], static_cast<uint64_t>(row.weight));
    }
    for (const Domain::Range& range : factor.domain.ranges()) {
      for (int64_t x = range.low; x <= range.high; ++x) {
        const int64_t power = Power(x, factor.exponents[bound]);
        if (power >= kDense) break;
        add(power, 1);
      }
    }
    std::partial_sum(counts.begin(), counts.end(), counts.begin());
  }
  return dense_[part.number] = std::move(counts);
}

// The counts of what is left; nothing when they do not fit into 64 bits.
std::vector<uint64_t> BudgetCounter::DenseRest(uint32_t factors, uint32_t bounds) {
  const Shape& shape = plan_.AfterCommon(factors, bounds);
  double largest = static_cast<double>(shape.free);
  if (largest > kMostDense) return {};
  std::vector<uint64_t> counts(kDense, static_cast<uint64_t>(shape.free));
  counts[0] = 0;
  for (const Shape* part : shape.parts) {
    const std::vector<uint64_t>& of_part = MakeDense(*part);
    if (of_part.empty() || (largest *= static_cast<double>(of_part.back())) > kMostDense) return {};
    for (size_t m = 0; m < counts.size(); ++m) counts[m] *= of_part[m];
  }
  return counts;
}

}  // namespace tritogen::synth
