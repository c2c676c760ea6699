#include "device/random.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/detail/AcceleratorHooksInterface.h>

#include <cmath>

#include "base/splitmix.h"

namespace tritogen {
namespace {

at::Generator OnDevice(uint64_t seed, at::Device device) {
  at::Generator generator =
      at::globalContext().getAcceleratorHooksInterface(device.type()).getNewGenerator(device.index());
  generator.set_current_seed(seed);
  return generator;
}

}  // namespace

uint64_t SubSeed(uint64_t seed, uint64_t index) {
  return SplitMix::At(seed, index);
}

Random::Random(uint64_t seed, at::Device device)
    : seed_(seed), device_(device), numbers_(at::detail::createCPUGenerator(seed)) {}

const at::Generator& Random::Elements() const {
  if (!elements_) elements_ = device_.is_cpu() ? numbers_ : OnDevice(seed_, device_);
  return *elements_;
}

at::TensorOptions Random::options() const {
  return at::TensorOptions().dtype(at::kDouble).device(device_);
}

at::Tensor Random::Uniform(at::IntArrayRef sizes, double low, double high) const {
  return at::empty(sizes, options()).uniform_(low, high, Elements());
}

double Random::Number(double low, double high) const {
  return at::empty({}, at::kDouble).uniform_(low, high, numbers_).item<double>();
}

double Random::Magnitude(double low, double high) const {
  return low * std::pow(high / low, Number(0, 1));
}

int64_t Random::Seed() const {
  return static_cast<int64_t>(numbers_.get<at::CPUGeneratorImpl>()->random64() >> 1);
}

at::Tensor Random::Signs(at::IntArrayRef sizes) const {
  return at::where(Uniform(sizes, 0, 1) < 0.5, -1.0, 1.0);
}

at::Tensor Random::BothSigns(at::IntArrayRef sizes) const {
  constexpr int64_t kFew = 64;  // of more, all alike are drawn by nobody
  const int64_t n = c10::multiply_integers(sizes);
  if (n < 2 || n > kFew) return Signs(sizes);
  const int64_t negative = (n + (Number(0, 1) < 0.5 ? 1 : 0)) / 2;
  return at::where(Permutation(n).view(sizes) < negative, -1.0, 1.0);
}

at::Tensor Random::Permutation(int64_t n) const {
  return at::randperm(n, Elements(), options().dtype(at::kLong));
}

at::Tensor Random::Indices(int64_t end, int64_t count) const {
  return at::randint(end, {count}, Elements(), options().dtype(at::kLong));
}

}  // namespace tritogen
