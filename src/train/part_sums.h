// Gradients of vectors, norms and biases. Each is a sum over tokens of which a kernel's programs make parts;
// the parts of all vectors of one length are kept until the pass is over, and one launch adds them up.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "train/flat_weights.h"

namespace tritogen::train {

class PartSums {
 public:
  PartSums() = default;  // of no vectors
  // `vectors`: views of the flat gradients, all of one length; undefined ones (a model without them) are left
  // out. Each is made of `rows` parts.
  PartSums(const FlatWeights& gradients, std::vector<at::Tensor> vectors, int64_t rows);

  int64_t rows() const { return parts_.defined() ? parts_.size(1) : 0; }
  // [rows, elements] float32, to be written by a kernel; those of vector i + 1 lie behind those of vector i.
  at::Tensor parts(size_t vector) const { return parts_[static_cast<int64_t>(vector)]; }
  // Makes them the parts of the sum of the rows of x [tokens, elements].
  void SumRows(const at::Tensor& x, size_t vector) const;
  // What the vectors are then, or what they are more, with `add`.
  void Finish(bool add) const;

 private:
  at::Tensor flat_, parts_, places_;  // parts_ [vectors, rows, elements]; places_ [vectors] int64, in flat_
};

// So many parts of the sum of `tokens` rows keep a GPU busy.
int64_t SumRowsParts(int64_t tokens, int64_t elements);

}  // namespace tritogen::train
