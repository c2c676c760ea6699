#include "synth/solver.h"

#include <algorithm>

#include "base/error.h"
#include "base/overloaded.h"

namespace tritogen::synth {
namespace {

constexpr size_t kMostBytes = size_t{1} << 29;  // of components that are kept

// By budgets, where a component has bounds.
std::shared_ptr<const Counted> CountBudgets(const Component& component, int64_t most_steps) {
  auto counted = BudgetCount::Of(component, most_steps);
  if (!counted) return nullptr;
  const Natural total = Natural::FromWide(counted->total());
  return std::make_shared<Counted>(std::move(*counted), total);
}

// In 128 bits when the counts fit.
Counted CountNetwork(const Network& network, size_t max_rows) {
  try {
    Elimination<Wide> elimination(network, max_rows);
    const Natural total = Natural::FromWide(elimination.total());
    return {std::move(elimination), total, network.exact};
  } catch (const CountOverflow&) {
    Elimination<Natural> elimination(network, max_rows);
    const Natural total = elimination.total();
    return {std::move(elimination), total, network.exact};
  }
}

}  // namespace

size_t Counted::bytes() const {
  const auto* budgets = std::get_if<BudgetCount>(&solutions);
  return budgets == nullptr ? 0 : budgets->bytes();
}

template <typename NextIndex>
void Space::Fill(NextIndex next, std::vector<int64_t>* values) const {
  values->resize(class_of_.size());
  std::vector<int64_t> by_class = fixed_, local;
  for (const Part& part : parts_) {
    const Natural index = next(part.counted->total);
    std::visit(Overloaded{[&](const Elimination<Wide>& e) { e.Unrank(index.ToWide(), &local); },
                          [&](const Elimination<Natural>& e) { e.Unrank(index, &local); },
                          [&](const BudgetCount& b) { b.Unrank(index.ToWide(), &local); }},
               part.counted->solutions);
    for (size_t i = 0; i < local.size(); ++i) by_class[part.classes[i]] = local[i];
  }
  for (size_t var = 0; var < class_of_.size(); ++var) (*values)[var] = by_class[class_of_[var]];
}

void Space::Unrank(const Natural& index, std::vector<int64_t>* values) const {
  TRITOGEN_CHECK(index < count_);
  Natural rest = index;
  Fill(
      [&](const Natural& total) {
        auto [quotient, digit] = Natural::Divide(rest, total);
        rest = quotient;
        return digit;
      },
      values);
}

Natural Space::Draw(SplitMix* random, std::vector<int64_t>* values) const {
  TRITOGEN_CHECK(!count_.IsZero());
  Natural index = 0, scale = 1;
  Fill(
      [&](const Natural& total) {
        const Natural digit = Natural::Below(total, random);
        index += digit * scale;
        scale = scale * total;
        return digit;
      },
      values);
  return index;
}

std::optional<Space> Solver::Compile(const System& system) {
  Reduced reduced = Reduce(system);
  Space space;
  if (reduced.impossible) return space;
  space.count_ = 1;
  space.class_of_ = std::move(reduced.class_of);
  space.fixed_ = std::move(reduced.fixed);
  for (Component& component : reduced.components) {
    ++statistics_.components;
    auto counted = Count(component);
    if (counted == nullptr) {
      ++statistics_.refused;
      return std::nullopt;
    }
    try {
      space.count_ = space.count_ * counted->total;
    } catch (const CountOverflow&) {
      ++statistics_.refused;
      return std::nullopt;
    }
    space.exact_ &= counted->exact;
    space.parts_.push_back({std::move(counted), std::move(component.classes)});
  }
  if (!space.exact_) ++statistics_.inexact;
  return space;
}

std::shared_ptr<const Counted> Solver::Count(const Component& component) {
  const std::string key = options_.kept->KeyOf(component, options_);
  if (auto known = options_.kept->Find(key)) return *known;
  ++statistics_.compiled;
  std::shared_ptr<const Counted> counted;
  if (options_.most_steps > 0) counted = CountBudgets(component, options_.most_steps);
  if (counted != nullptr) {
    options_.kept->Keep(key, counted);
    return counted;
  }
  for (Precision precision :
       {Precision::kExact, Precision::kQuarterOctave, Precision::kOctave, Precision::kUnbounded}) {
    // The last resort may cost more: better a dear component than none.
    const size_t rows = options_.max_rows * (precision == Precision::kUnbounded ? 16 : 1);
    try {
      counted = std::make_shared<Counted>(CountNetwork(BuildNetwork(component, precision, rows), rows));
      break;
    } catch (const TooLarge&) {
    } catch (const CountOverflow&) {
      break;
    }
  }
  options_.kept->Keep(key, counted);
  return counted;
}

std::optional<std::shared_ptr<const Counted>> CountedKept::Find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto it = counted_.find(key);
  return it == counted_.end() ? std::nullopt : std::optional(it->second);
}

void CountedKept::Keep(const std::string& key, std::shared_ptr<const Counted> counted) {
  const std::lock_guard lock(mutex_);
  const size_t bytes = counted == nullptr ? 0 : counted->bytes();
  if (counted_.size() >= most_ || bytes_ + bytes > kMostBytes) {
    counted_.clear();
    bytes_ = 0;
  }
  bytes_ += bytes;
  counted_[key] = std::move(counted);
}

std::string CountedKept::KeyOf(const Component& component, const SolverOptions& options) {
  const std::lock_guard lock(mutex_);
  std::string key;
  auto put = [&](int64_t number) { key.append(reinterpret_cast<const char*>(&number), sizeof number); };
  auto operand = [&](const Operand& o) { put(o.var), put(o.number); };
  auto all = [&](const std::vector<Var>& vars) {
    put(static_cast<int64_t>(vars.size()));
    for (Var var : vars) put(var);
  };
  put(static_cast<int64_t>(options.max_rows));
  put(options.most_steps);
  for (const Domain& domain : component.domains)
    put(domains_.emplace(domain, static_cast<int>(domains_.size())).first->second);
  for (const Constraint& constraint : component.constraints) {
    put(-1 - static_cast<int64_t>(constraint.index()));
    std::visit(
        Overloaded{
            [&](const Equal& c) { put(c.a), put(c.b); },
            [&](const Broadcast& c) { put(c.out), put(c.a), put(c.b); },
            [&](const Product& c) { all(c.left), all(c.right), put(c.left_scale), put(c.right_scale); },
            [&](const Bound& c) { all(c.vars), put(c.scale), put(c.low), put(c.high); },
            [&](const Divides& c) { operand(c.divisor), operand(c.number); },
            [&](const Window& c) {
              put(c.out), put(c.in);
              for (const Operand& o : {c.kernel, c.stride, c.padding, c.dilation}) operand(o);
            },
            [&](const TransposedWindow& c) {
              put(c.out), put(c.in);
              for (const Operand& o : {c.kernel, c.stride, c.padding, c.dilation, c.extra}) operand(o);
            },
            [&](const Linear& c) {
              put(static_cast<int64_t>(c.terms.size()));
              for (const Linear::Term& term : c.terms) put(term.coefficient), put(term.var);
              put(c.constant), put(c.at_most);
            },
        },
        constraint);
  }
  return key;
}

}  // namespace tritogen::synth
