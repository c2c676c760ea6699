// Launch arguments of a Plan → the bytes of a kernel's parameters, for every kind of Triton 3.6's signatures.
// Pure: no driver, no GPU. Rules as in triton/backends/nvidia/driver.py.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/compiled_kernel.h"
#include "plan/plan.h"

namespace tritogen::cuda {

// Arguments or a grid that do not fit the kernel or the device. Nothing was launched.
class LaunchMismatch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Address on the device of a tensor's first element.
using AddressOf = std::function<uint64_t(TensorId)>;

inline constexpr size_t kTensorMapBytes = 128;

// What cuTensorMapEncodeTiled is asked for; innermost dimension first, as it wants them.
struct TensorMapRequest {
  int data_type = 0;  // CUtensorMapDataType
  int swizzle = 0;    // CUtensorMapSwizzle
  bool nan_fill = false;
  uint64_t address = 0;
  std::vector<uint64_t> shape;    // elements
  std::vector<uint64_t> strides;  // bytes, one fewer than dimensions
  std::vector<uint32_t> box;      // elements
};
// Throws LaunchMismatch for a descriptor that the layout does not fit, or that no tensor map can describe
// (alignment, sizes).
TensorMapRequest MakeTensorMapRequest(const TensorMapLayout& layout, const DescriptorArg& descriptor,
                                      uint64_t address);
// Fills in the 128 bytes.
using EncodeTensorMap = std::function<std::array<std::byte, kTensorMapBytes>(const TensorMapRequest&)>;

// The parameter values one after the other, each at its alignment, and where each begins.
class PackedArguments {
 public:
  // Throws LaunchMismatch when arguments and parameters differ in number or kind, or a number does not fit.
  PackedArguments(const CompiledKernel& kernel, std::span<const KernelArg> args, const AddressOf& address_of,
                  const EncodeTensorMap& encode, std::array<uint64_t, 2> scratch);

  std::span<const std::byte> operator[](size_t i) const;
  size_t size() const { return offsets_.size(); }
  // For cuLaunchKernelEx; points into this object.
  std::vector<void*> pointers();

 private:
  friend class ArgumentPacker;
  std::vector<std::byte> bytes_;  // allocated with room to align the first one
  std::vector<size_t> offsets_, sizes_;
};

}  // namespace tritogen::cuda
