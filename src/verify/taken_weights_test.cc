#include "verify/taken_weights.h"

#include <gtest/gtest.h>

#include "verify/test_sketch.h"

namespace tritogen {
namespace {

using Pairs = std::vector<std::pair<StorageId, int64_t>>;

struct Layers {
  Sketch sketch;
  int x = sketch.Input("float32", {20, 64}, {64, 1});

  int Weight(const char* name) {
    const int weight = sketch.Tensor("float32", {16, 64}, {64, 1});
    sketch.Step("setup", "aten::zeros", {json::array({16, 64})}, {weight});
    sketch.map["state"].push_back({name, weight, "parameter"});
    return weight;
  }
  int Linear(int weight, json bias = nullptr) {
    const int y = sketch.Tensor("float32", {20, 16}, {16, 1});
    sketch.Step("run", "aten::linear", {T(x), T(weight), bias}, {y});
    return y;
  }
  TakenWeights Taken(const char* op, int y) {
    const int taken = sketch.Tensor("float32", {20, 16}, {16, 1});
    sketch.Step("run", op, {T(y), -1}, {taken});
    sketch.Output(taken);
    return TakenWeightsOf(sketch.Build());
  }
};

TEST(TakenWeights, AreThoseOfLayersWithoutBiasesBeforeASoftmax) {
  Layers plain;
  const int weight = plain.Weight("w");
  const TakenWeights taken = plain.Taken("aten::softmax.int", plain.Linear(weight));
  EXPECT_EQ(taken.directly, (std::map<StorageId, int64_t>{{plain.sketch.map["tensors"][weight][0], 64}}));
  EXPECT_TRUE(taken.in_pairs.empty());

  Layers biased;
  const int bias = biased.sketch.Input("float32", {16}, {1});
  EXPECT_TRUE(biased.Taken("aten::softmax.int", biased.Linear(biased.Weight("w"), T(bias))).empty());
  Layers other;
  EXPECT_TRUE(other.Taken("aten::cumsum", other.Linear(other.Weight("w"))).empty());
}

TEST(TakenWeights, ResultsAreMultipliedWhereNeitherIsAWeight) {
  for (const char* taken_by : {"aten::softmax.int", "aten::cumsum"}) {
    Layers layers;
    const int bias = layers.sketch.Input("float32", {16}, {1});
    const int q = layers.Linear(layers.Weight("q"), T(bias)), k = layers.Linear(layers.Weight("k"), T(bias));
    const int scores = layers.sketch.Tensor("float32", {20, 20}, {20, 1}),
              scaled = layers.sketch.Tensor("float32", {20, 20}, {20, 1});
    layers.sketch.Step("run", "aten::mm", {T(q), T(k)}, {scores});
    layers.sketch.Step("run", "aten::mul.Scalar", {T(scores), 0.25}, {scaled});
    EXPECT_EQ(layers.Taken(taken_by, scaled).multiplies_results,
              taken_by == std::string("aten::softmax.int"));
  }
  Layers linear;
  EXPECT_FALSE(linear.Taken("aten::softmax.int", linear.Linear(linear.Weight("w"))).multiplies_results);
}

TEST(TakenWeights, AreThoseOfQueriesAndKeys) {
  Layers layers;
  const int one = layers.Weight("q"), other = layers.Weight("k");
  const int q = layers.Linear(one), k = layers.Linear(other);
  const int scores = layers.sketch.Tensor("float32", {20, 20}, {20, 1});
  layers.sketch.Step("run", "aten::mm", {T(q), T(k)}, {scores});
  const TakenWeights taken = layers.Taken("aten::softmax.int", scores);
  const auto storage = [&](int id) { return layers.sketch.map["tensors"][id][0].get<StorageId>(); };
  EXPECT_EQ(taken.in_pairs, (Pairs{{storage(one), 64}, {storage(other), 64}}));
  EXPECT_TRUE(taken.directly.empty());
}

}  // namespace
}  // namespace tritogen
