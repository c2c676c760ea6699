#include "verify/opposed_factors.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "verify/test_sketch.h"

namespace tritogen {
namespace {

using Sides = std::vector<int>;

struct Scores {
  Sketch sketch;
  int q = sketch.Input("float32", {2, 20, 16}, {320, 16, 1});
  int k = sketch.Input("float32", {2, 20, 16}, {320, 16, 1});
  int v = sketch.Input("float32", {2, 20, 16}, {320, 16, 1});
  int scores = sketch.Tensor("float32", {2, 20, 20}, {400, 20, 1});

  void Multiply(int a, int b) { sketch.Step("run", "aten::bmm", {T(a), T(b)}, {scores}); }
  Plan Softmax() {
    const int divided = sketch.Tensor("float32", {2, 20, 20}, {400, 20, 1}),
              weights = sketch.Tensor("float32", {2, 20, 20}, {400, 20, 1});
    sketch.Step("run", "aten::div.Tensor", {T(scores), 4.0}, {divided});
    sketch.Step("run", "aten::softmax.int", {T(divided), -1}, {weights});
    sketch.Output(weights);
    return sketch.Build();
  }
};

TEST(OpposedFactors, AreInputsWhoseProductsReachASoftmax) {
  Scores attention;
  const int turned = attention.sketch.Tensor("float32", {2, 16, 20}, {320, 20, 1});
  attention.sketch.Step("run", "aten::mul.Scalar", {T(attention.k), 2}, {turned});
  attention.Multiply(attention.q, turned);
  const OpposedFactors found = OpposedFactorsOf(attention.Softmax());
  EXPECT_EQ(found.sides, Sides({1, -1, 0}));
  EXPECT_EQ(found.terms, 16);
}

TEST(OpposedFactors, AreThoseOfACallOfAttention) {
  Scores attention;
  const int y = attention.sketch.Tensor("float32", {2, 20, 16}, {320, 16, 1});
  attention.sketch.Step("run", "aten::scaled_dot_product_attention",
                        {T(attention.v), T(attention.q), T(attention.k)}, {y});
  attention.sketch.Output(y);
  EXPECT_EQ(OpposedFactorsOf(attention.sketch.Build()).sides, Sides({-1, 0, 1}));
}

TEST(OpposedFactors, AreNotOneInputTwiceNorBehindANorm) {
  Scores same;
  same.Multiply(same.q, same.q);
  EXPECT_TRUE(OpposedFactorsOf(same.Softmax()).empty());

  Scores normed;
  const int unit = normed.sketch.Tensor("float32", {2, 20, 16}, {320, 16, 1});
  normed.sketch.Step("run", "aten::layer_norm", {T(normed.k), {16}}, {unit});
  normed.Multiply(normed.q, unit);
  EXPECT_TRUE(OpposedFactorsOf(normed.Softmax()).empty());
}

TEST(OpposedFactors, AreNoDeeperThanWhatTheProgramFillsUpItself) {
  const auto depth = [](double fill, const char* dtype) {
    Scores attention;
    for (auto& tensor : attention.sketch.map["tensors"]) tensor[1] = dtype;
    const int mask = attention.sketch.Input("bool", {2, 20, 20}, {400, 20, 1});
    attention.Multiply(attention.q, attention.k);
    attention.sketch.Step("run", "aten::masked_fill_.Scalar", {T(attention.scores), T(mask), fill},
                          {attention.scores});
    return OpposedFactorsOf(attention.Softmax()).depth;
  };
  EXPECT_EQ(depth(-1e9, "float32"), 1 << 15);
  EXPECT_EQ(depth(-1e4, "float32"), 2500);
  EXPECT_EQ(depth(-1e9, "float16"), 1 << 13);
}

TEST(OpposedFactors, AllProductsLieFarBelowZero) {
  const at::Tensor q = at::randn({20, 16}), k = at::randn({20, 16}), v = at::randn({20, 16});
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    for (const bool differ : {false, true}) {
      const OpposedFactors factors{{1, -1, 0}, 16, 1 << 15, differ};
      const auto inputs = Oppose(factors, {q, k, v}, seed, 1);
      const at::Tensor scores = inputs[0].matmul(inputs[1].t()) / 4;
      EXPECT_LT(scores.max().item<double>(), -11000);
      EXPECT_GT(scores.min().item<double>(), -41000);
      const double apart = scores.std(1).mean().item<double>();
      EXPECT_GE(apart, differ ? 0.5 : 0);
      EXPECT_LT(apart, differ ? 10 : 1e-9) << "more than one counts";
      EXPECT_TRUE(inputs[2].equal(v));
      EXPECT_TRUE(Oppose(factors, {q, k, v}, seed, 1)[0].equal(inputs[0]));
    }
  }
}

}  // namespace
}  // namespace tritogen
