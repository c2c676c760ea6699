// A bound on the memory that ATen may take on this thread. A Plan says what its tensors need, but not what an
// operator needs inside; the bound holds for both. Freed memory is given back to the bound of the scope that
// took it, from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace tritogen {

struct MemoryBudget {
  explicit MemoryBudget(int64_t bytes) : left(bytes) {}
  std::atomic<int64_t> left;
};

// While one lives, ATen allocations of this thread come out of the budget; too large a one throws
// c10::OutOfMemoryError.
class MemoryLimitScope {
 public:
  explicit MemoryLimitScope(std::shared_ptr<MemoryBudget> budget);
  ~MemoryLimitScope();
  MemoryLimitScope(const MemoryLimitScope&) = delete;
  MemoryLimitScope& operator=(const MemoryLimitScope&) = delete;

 private:
  std::shared_ptr<MemoryBudget> outer_;
};

}  // namespace tritogen
