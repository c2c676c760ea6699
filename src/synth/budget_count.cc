#include "synth/budget_count.h"

#include <mutex>

#include "base/error.h"
#include "synth/budget_counter.h"

namespace tritogen::synth {
namespace {

constexpr size_t kMostRows = size_t{1} << 17;  // of a group

}  // namespace

struct BudgetCount::Work {
  Work(FactorSystem system, int64_t most_steps) : counter(std::move(system), most_steps) {}
  std::mutex mutex;
  BudgetCounter counter;
  int64_t steps = 0;
  size_t variables = 0;
};

std::optional<BudgetCount> BudgetCount::Of(const Component& component, int64_t most_steps) {
  auto system = FactorsOf(component, kMostRows);
  if (!system) return std::nullopt;
  BudgetCount made;
  made.work_ = std::make_shared<Work>(std::move(*system), most_steps);
  BudgetCounter& counter = made.work_->counter;
  try {
    made.total_ = counter.All();
  } catch (const TooLarge&) {
    return std::nullopt;
  }
  counter.NoLimit();
  made.work_->steps = counter.steps();
  made.work_->variables = component.domains.size();
  return made;
}

void BudgetCount::Unrank(Wide index, std::vector<int64_t>* values) const {
  TRITOGEN_CHECK(index < total_);
  values->resize(work_->variables);
  const std::lock_guard lock(work_->mutex);
  work_->counter.UnrankAll(index, values);
}

int64_t BudgetCount::steps() const {
  return work_->steps;
}

size_t BudgetCount::bytes() const {
  return work_->counter.bytes();
}

}  // namespace tritogen::synth
