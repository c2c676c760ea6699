#include <ATen/ATen.h>

#include <vector>

#include "base/error.h"
#include "train/training_pass.h"

namespace tritogen::train {
namespace {

class PlainPass : public TrainingPass {
 public:
  PlainPass(const FlatWeights& weights, const FlatWeights& gradients) {
    const at::NoGradGuard no_gradients;
    TRITOGEN_CHECK(gradients.flat.scalar_type() == at::kFloat &&
                   gradients.flat.numel() == weights.flat.numel());
    weights_ = WeightsByPlace(weights.weights.config, [&](int64_t from, at::IntArrayRef shape) {
      const int64_t count = c10::multiply_integers(shape);
      const at::Tensor leaf = weights.flat.narrow(0, from, count).view(shape).detach();
      leaves_.push_back({leaf, gradients.flat.narrow(0, from, count).view(shape)});
      return leaf;
    });
  }

  at::Tensor Loss(const DeviceBatch& batch) override {
    const at::NoGradGuard no_gradients;
    at::Tensor sum = at::zeros({}, batch.weights.options());
    ForEachDocument(batch, [&](int64_t from, int64_t count) { sum += DocumentLoss(batch, from, count); });
    return sum;
  }

  at::Tensor LossAndGradients(const DeviceBatch& batch, double scale, bool add) override {
    const at::AutoGradMode gradients(true);
    at::Tensor sum = at::zeros({}, batch.weights.options());
    for (const Leaf& leaf : leaves_) {
      if (!add) leaf.gradient.zero_();
      leaf.weight.set_requires_grad(true);
    }
    ForEachDocument(batch, [&](int64_t from, int64_t count) {
      const at::Tensor loss = DocumentLoss(batch, from, count);
      (loss * scale).backward();
      sum += loss.detach();
      const at::NoGradGuard no_gradients;
      for (Leaf& leaf : leaves_) {
        leaf.gradient += leaf.weight.grad();
        leaf.weight.mutable_grad() = at::Tensor();
      }
    });
    for (const Leaf& leaf : leaves_) leaf.weight.set_requires_grad(false);
    return sum;
  }

 private:
  struct Leaf {
    at::Tensor weight, gradient;
  };

  // `visit`(first token, tokens), for documents with something to learn.
  template <typename Visit>
  static void ForEachDocument(const DeviceBatch& batch, const Visit& visit) {
    const at::Tensor starts = batch.starts.cpu(), weights = batch.weights.cpu();
    const int32_t* start = starts.data_ptr<int32_t>();
    for (int64_t i = 0; i + 1 < starts.numel(); ++i) {
      const int64_t count = start[i + 1] - start[i];
      if (count > 0 && weights.narrow(0, start[i], count).count_nonzero().item<int64_t>() > 0)
        visit(start[i], count);
    }
  }

  at::Tensor DocumentLoss(const DeviceBatch& batch, int64_t from, int64_t count) const {
    const at::Tensor tokens = batch.tokens.narrow(0, from, count).to(at::kLong);
    const at::Tensor logits = PlainLogits(weights_, tokens.unsqueeze(0)).squeeze(0).to(at::kFloat);
    const at::Tensor losses =
        at::cross_entropy_loss(logits, batch.targets.narrow(0, from, count).to(at::kLong), {},
                               at::Reduction::None, /*ignore_index=*/-1);
    return (losses * batch.weights.narrow(0, from, count)).sum();
  }

  DecoderWeights weights_;  // what autograd sees, in the memory of the flat ones
  std::vector<Leaf> leaves_;
};

}  // namespace

std::unique_ptr<TrainingPass> MakePlainPass(const FlatWeights& weights, const FlatWeights& gradients,
                                            const PassShape& shape) {
  return std::make_unique<PlainPass>(weights, gradients);
}

}  // namespace tritogen::train
