#include "verify/replay_limit.h"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

namespace tritogen {
namespace {

thread_local std::shared_ptr<MemoryBudget> current_budget;

// Stands in front of each block, in a cache line of its own, so that the block's address is also its context.
struct alignas(64) Header {
  std::shared_ptr<MemoryBudget> budget;  // null: taken outside any scope
  int64_t bytes;
};

void Free(void* data) {
  if (!data) return;
  Header* header = static_cast<Header*>(data) - 1;
  if (header->budget) header->budget->left += header->bytes;
  header->~Header();
  std::free(header);
}

class LimitedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    void* data = bytes ? Take(bytes) : nullptr;
    return {data, data, &Free, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &Free; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

 private:
  static void* Take(size_t bytes) {
    constexpr size_t kMost = size_t{1} << 50;
    TORCH_CHECK_WITH(OutOfMemoryError, bytes <= kMost, "an allocation of ", bytes, " bytes");
    int64_t signed_bytes = static_cast<int64_t>(bytes);
    MemoryBudget* budget = current_budget.get();
    if (budget && (budget->left -= signed_bytes) < 0) {
      budget->left += signed_bytes;
      TORCH_CHECK_WITH(OutOfMemoryError, false, "an allocation of ", bytes,
                       " bytes exceeds the memory allowed");
    }
    void* block = nullptr;
    if (posix_memalign(&block, alignof(Header), sizeof(Header) + bytes) != 0) {
      if (budget) budget->left += signed_bytes;
      TORCH_CHECK_WITH(OutOfMemoryError, false, "no memory for an allocation of ", bytes, " bytes");
    }
    return new (block) Header{current_budget, signed_bytes} + 1;
  }
};

}  // namespace

MemoryLimitScope::MemoryLimitScope(std::shared_ptr<MemoryBudget> budget) {
  static LimitedAllocator allocator;
  static std::once_flag installed;
  std::call_once(installed, [] { c10::SetCPUAllocator(&allocator, /*priority=*/1); });
  outer_ = std::exchange(current_budget, std::move(budget));
}

MemoryLimitScope::~MemoryLimitScope() {
  current_budget = std::move(outer_);
}

}  // namespace tritogen
