// Bounds of a Plan. Generous for honest programs; they keep the work of a reader bounded and arithmetic free
// of overflow.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tritogen::plan_limits {

inline constexpr size_t kStorages = size_t{1} << 20;
inline constexpr size_t kTensors = size_t{1} << 20;
inline constexpr size_t kSteps = size_t{1} << 18;  // of one phase
inline constexpr size_t kKernels = 4096;
inline constexpr size_t kVariants = 256;
inline constexpr size_t kArguments = 1024;  // of one call or launch
inline constexpr size_t kListLength = size_t{1} << 16;
inline constexpr int kListDepth = 16;
inline constexpr size_t kRank = 64;
inline constexpr size_t kNameBytes = 1024;  // names of ops, kernels, state, arguments
inline constexpr size_t kStringBytes = size_t{1} << 16;
inline constexpr size_t kTextBytes = size_t{1} << 23;  // TTIR and Python source
inline constexpr int64_t kStorageBytes = int64_t{1} << 50;
inline constexpr int64_t kElements = int64_t{1} << 56;  // numel, sizes, strides, offsets
inline constexpr int64_t kPrograms = int64_t{1} << 40;  // of one launch

}  // namespace tritogen::plan_limits
