// Random tensors from a seed, on the device where they are needed. The same seed gives the same numbers on
// the same kind of device.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace tritogen {

// Numbers that belong together but look unrelated: stream `index` of a secret seed.
uint64_t SubSeed(uint64_t seed, uint64_t index);

class Random {
 public:
  Random(uint64_t seed, at::Device device);

  // Uniform in [low, high), float64.
  at::Tensor Uniform(at::IntArrayRef sizes, double low, double high) const;
  double Number(double low, double high) const;
  double Magnitude(double low, double high) const;       // uniform by its logarithm; both are positive
  at::Tensor Signs(at::IntArrayRef sizes) const;         // 1 or -1, float64
  at::Tensor BothSigns(at::IntArrayRef sizes) const;     // as Signs, but of a few half have either
  at::Tensor Permutation(int64_t n) const;               // of 0 … n − 1, int64
  at::Tensor Indices(int64_t end, int64_t count) const;  // in [0, end), int64, may repeat
  int64_t Seed() const;                                  // not negative, for a kernel that draws by itself
  at::TensorOptions options() const;                     // float64 on the device

 private:
  const at::Generator& Elements() const;

  uint64_t seed_;
  at::Device device_;
  at::Generator numbers_;                          // on the CPU: a single number must not wait for a GPU
  mutable std::optional<at::Generator> elements_;  // on the device; made when first asked for
};

}  // namespace tritogen
