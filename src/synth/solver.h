// Exact counting and uniform sampling of a system's solutions. docs/synthesis.md has the proof.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "synth/budget_count.h"
#include "synth/elimination.h"
#include "synth/natural.h"
#include "synth/reduce.h"
#include "synth/system.h"

namespace tritogen::synth {

// The compiled solutions of one component.
struct Counted {
  std::variant<Elimination<Wide>, Elimination<Natural>, BudgetCount> solutions;
  Natural total;
  bool exact = true;
  size_t bytes() const;  // about; of what may be large
};

// The solutions of a system, numbered from 0. When not exact(), it numbers a superset of them: some bounds
// were too dear to count, and who draws from it must reject what System::Holds refuses. Uniform draws stay
// uniform. Immutable; may be read from several threads.
class Space {
 public:
  bool exact() const { return exact_; }
  const Natural& count() const { return count_; }
  // A bijection from [0, count()) to the solutions. One value a variable of the system.
  // REQUIRES: index < count().
  void Unrank(const Natural& index, std::vector<int64_t>* values) const;
  // Draws uniformly; returns the index of what was drawn. REQUIRES: count() > 0.
  Natural Draw(SplitMix* random, std::vector<int64_t>* values) const;

 private:
  friend class Solver;
  struct Part {
    std::shared_ptr<const Counted> counted;
    std::vector<int> classes;  // by the component's variable: whose value it is
  };
  template <typename NextIndex>
  void Fill(NextIndex next, std::vector<int64_t>* values) const;

  bool exact_ = true;
  Natural count_ = 0;
  std::vector<Part> parts_;
  std::vector<int> class_of_;
  std::vector<int64_t> fixed_;
};

struct SolverOptions;

// Components that were compiled, for systems to come and for other solvers. What it gives is what compiling
// would give. Thread-safe.
class CountedKept {
 public:
  explicit CountedKept(size_t most = 4096) : most_(most) {}
  // A null result is one too: a component that cannot be counted.
  std::optional<std::shared_ptr<const Counted>> Find(const std::string& key);
  void Keep(const std::string& key, std::shared_ptr<const Counted> counted);
  std::string KeyOf(const Component& component, const SolverOptions& options);

 private:
  size_t most_, bytes_ = 0;
  std::mutex mutex_;
  std::map<Domain, int> domains_;  // numbers for short keys
  std::unordered_map<std::string, std::shared_ptr<const Counted>> counted_;
};

// Steps worth taking for a component: up to a second or two. A batched product of large sizes takes 8.5
// million.
inline constexpr int64_t kManySteps = 10 << 20;

struct SolverOptions {
  size_t max_rows = size_t{1} << 14;  // of one table; beyond it bounds are counted coarsely
  // Of counting by budgets (budget_count.h), which comes before tables; 0: by tables alone. Sampler sets it
  // for domains of more than kListed sizes. Programs of smaller domains stay those of their seed.
  int64_t most_steps = 0;
  std::shared_ptr<CountedKept> kept;  // null: its own
};

// Compiles systems. Components that came before are not compiled again. Not thread-safe.
class Solver {
 public:
  explicit Solver(SolverOptions options = {}) : options_(std::move(options)) {
    if (options_.kept == nullptr) options_.kept = std::make_shared<CountedKept>();
  }

  // Nothing when the system is too entangled to count even without its bounds, or has 2^512 solutions.
  std::optional<Space> Compile(const System& system);

  struct Statistics {
    int64_t components = 0, compiled = 0, inexact = 0, refused = 0;
  };
  const Statistics& statistics() const { return statistics_; }

 private:
  std::shared_ptr<const Counted> Count(const Component& component);

  SolverOptions options_;
  Statistics statistics_;
};

}  // namespace tritogen::synth
