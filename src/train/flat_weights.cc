#include "train/flat_weights.h"

#include <ATen/ATen.h>

#include "base/rounding.h"

namespace tritogen::train {
namespace {

int64_t Elements(at::IntArrayRef shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return RoundUp(count, kFlatAlignment);
}

struct Extent {
  int64_t matrices = 0, vectors = 0;
};

Extent ExtentOf(const ModelConfig& config) {
  Extent extent;
  MakeWeights(config, [&](at::IntArrayRef shape) {
    (shape.size() == 2 ? extent.matrices : extent.vectors) += Elements(shape);
    return at::Tensor();
  });
  return extent;
}

}  // namespace

DecoderWeights WeightsByPlace(const ModelConfig& config,
                              const std::function<at::Tensor(int64_t, at::IntArrayRef)>& make) {
  int64_t matrix = 0, vector = ExtentOf(config).matrices;
  return MakeWeights(config, [&](at::IntArrayRef shape) {
    int64_t& next = shape.size() == 2 ? matrix : vector;
    const int64_t from = next;
    next += Elements(shape);
    return make(from, shape);
  });
}

FlatWeights MakeFlatWeights(const ModelConfig& config, at::ScalarType dtype, at::Device device,
                            int64_t multiple) {
  const Extent extent = ExtentOf(config);
  FlatWeights made;
  made.flat = at::zeros({RoundUp(extent.matrices + extent.vectors, multiple * kFlatAlignment)},
                        at::TensorOptions(dtype).device(device));
  made.decayed = extent.matrices;
  made.weights = WeightsByPlace(config, [&](int64_t from, at::IntArrayRef shape) {
    return made.flat.narrow(0, from, c10::multiply_integers(shape)).view(shape);
  });
  return made;
}

}  // namespace tritogen::train
