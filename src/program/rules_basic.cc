// Shape rules of pointwise operators, reductions, losses and creators.
#include <algorithm>
#include <cmath>

#include "program/catalogue.h"
#include "program/rules.h"

namespace tritogen::rules {
namespace {

// All tensors of the call, in the signature's order.
std::vector<Terms> AllTensors(const ShapeBuilder& b) {
  std::vector<Terms> all;
  for (const auto& [name, arg] : b.args().all()) {
    if (AsRef(arg) != nullptr) all.push_back(b.In(name));
  }
  return all;
}

Terms BroadcastAll(ShapeBuilder& b) {
  Terms sizes;
  for (const Terms& tensor : AllTensors(b)) sizes = b.BroadcastedShapes(sizes, tensor);
  return sizes;
}

const Terms& First(const ShapeBuilder& b) {
  static const Terms none;
  for (const auto& [name, arg] : b.args().all()) {
    if (AsRef(arg) != nullptr) return b.In(name);
  }
  return none;
}

std::vector<bool> Marked(ShapeBuilder& b, const std::vector<int64_t>& dims, int rank) {
  std::vector<bool> marked(std::max(rank, 1), false);
  for (int64_t dim : dims) {
    const int axis = b.Wrap(dim, rank);
    b.Require(!marked[axis], "a dimension is named twice");
    marked[axis] = true;
  }
  marked.resize(rank);
  return marked;
}

Terms Reduced(ShapeBuilder& b) {
  const Terms& in = First(b);
  const int rank = static_cast<int>(in.size());
  std::vector<bool> gone(rank, true);
  if (b.Given("dim")) gone = Marked(b, b.Ints("dim"), rank);
  Terms out;
  for (int axis = 0; axis < rank; ++axis) {
    if (!gone[axis]) {
      out.push_back(in[axis]);
    } else if (b.Flag("keepdim")) {
      out.push_back(Term::Of(1));
    }
  }
  return out;
}

// Of a loss: 0 leaves every element, 1 is their mean, 2 their sum.
void ReducedLoss(ShapeBuilder& b, Terms elements) {
  b.Result(b.Int("reduction", 1) == 0 ? std::move(elements) : Terms{});
}

}  // namespace

void Pointwise(ShapeBuilder& b) {
  Terms sizes = BroadcastAll(b);
  b.Result(sizes);
}

// One weight for all, or one a channel.
void Prelu(ShapeBuilder& b) {
  const Terms &x = b.In("self"), &weight = b.In("weight");
  const bool one = weight.empty() || weight == Terms{Term::Of(1)};
  if (!one) {
    const Term channels = x.size() >= 2 ? x[1] : Term::Of(1);
    b.RequireEqual(weight, {channels}, "one weight a channel");
  }
  b.Result(x);
}

void Same(ShapeBuilder& b) {
  const Terms& in = First(b);
  const int rank = static_cast<int>(in.size());
  if (b.Given("dim")) b.Axis("dim", rank);
  if (b.Given("dims")) Marked(b, b.Ints("dims"), rank);
  b.Result(in);
}

void SameTwice(ShapeBuilder& b) {
  Same(b);
  b.Result(First(b));
}

void Reduce(ShapeBuilder& b) {
  b.Result(Reduced(b));
}

void ReduceTwice(ShapeBuilder& b) {
  b.Result(Reduced(b));
  b.Result(Reduced(b));
}

void TopK(ShapeBuilder& b) {
  Terms sizes = First(b);
  const int axis = b.Axis("dim", static_cast<int>(sizes.size()));
  const Term k = b.Attribute("k", 1);
  if (!b.Require(!sizes.empty(), "topk of a tensor without dimensions")) return;
  b.RequireAtMost({{1, k}, {-1, sizes[axis]}}, 0, "k is larger than the dimension");
  sizes[axis] = k;
  b.Result(sizes);
  b.Result(sizes);
}

void ElementLoss(ShapeBuilder& b) {
  Terms sizes = b.BroadcastedShapes(b.In("self"), b.In("target"));
  for (const char* weight : {"weight", "pos_weight"}) {
    if (b.Has(weight)) sizes = b.BroadcastedShapes(sizes, b.In(weight));
  }
  ReducedLoss(b, std::move(sizes));
}

void EqualLoss(ShapeBuilder& b) {
  b.RequireEqual(b.In("self"), b.In("target"), "input and target have one shape");
  ElementLoss(b);
}

// Scores [C] or [N, C, …], classes [] or [N, …] or probabilities of the scores' shape.
void CrossEntropy(ShapeBuilder& b) {
  const Terms& scores = b.In("self");
  const Terms& target = b.In("target");
  if (!b.Require(!scores.empty(), "scores need a dimension of classes")) return;
  const size_t axis = scores.size() == 1 ? 0 : 1;
  Terms rest = scores;
  rest.erase(rest.begin() + static_cast<int64_t>(axis));
  if (target.size() == scores.size()) {
    b.RequireEqual(target, scores, "probabilities have the shape of the scores");
  } else {
    b.RequireEqual(target, rest, "classes have the shape of the scores without their dimension of classes");
  }
  if (b.Has("weight")) b.RequireEqual(b.In("weight"), {scores[axis]}, "one weight a class");
  ReducedLoss(b, std::move(rest));
}

void NllForward(ShapeBuilder& b) {
  CrossEntropy(b);
  b.Result({});
}

void CosineSimilarity(ShapeBuilder& b) {
  Terms sizes = b.BroadcastedShapes(b.In("x1"), b.In("x2"));
  const int axis = b.Axis("dim", static_cast<int>(sizes.size()));
  if (!b.Require(!sizes.empty(), "cosine_similarity needs a dimension")) return;
  sizes.erase(sizes.begin() + axis);
  b.Result(std::move(sizes));
}

void TripletMargin(ShapeBuilder& b) {
  Terms sizes = b.BroadcastedShapes(b.BroadcastedShapes(b.In("anchor"), b.In("positive")), b.In("negative"));
  if (!b.Require(!sizes.empty(), "triplet_margin_loss needs a dimension")) return;
  sizes.pop_back();
  ReducedLoss(b, std::move(sizes));
}

void Create(ShapeBuilder& b) {
  b.Result(b.Attributes("size"));
}

void Range(ShapeBuilder& b) {
  auto number = [&](const char* name, double otherwise) {
    return AsNumber(b.args()[name]).value_or(otherwise);
  };
  const double start = number("start", 0), end = number("end", 0), step = number("step", 1);
  if (!b.Require(step != 0, "a step of zero")) return;
  const double count = std::ceil((end - start) / step);
  if (!b.Require(count >= 0 && count < 0x1p40, "a range with no end")) return;
  b.Result({Term::Of(static_cast<int64_t>(count))});
}

void Eye(ShapeBuilder& b) {
  const Term n = b.Attribute("n", 1);
  b.Result({n, b.Given("m") ? b.Attribute("m", 1) : n});
}

void LinSpace(ShapeBuilder& b) {
  b.Result({b.Attribute("steps", 1)});
}

void Scalar(ShapeBuilder& b) {
  b.Result({});
}

}  // namespace tritogen::rules
