#include "verify/budget_index.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace tritogen {
namespace {

Comparison Judge(const at::Tensor& values, std::optional<int64_t> dim, const at::Tensor& want,
                 const at::Tensor& got) {
  return CompareIndices({0, dim}, Expectation(values.to(at::kDouble), values, {}),
                        Expectation(want, want, {}), got);
}

TEST(Indices, TiesMayGoEitherWay) {
  const at::Tensor x = at::tensor({1.0f, 5.0f, 5.0f, 2.0f, 7.0f, 0.0f, 7.0f, 3.0f}).view({2, 4});
  const at::Tensor want = at::argmax(x, 1);
  EXPECT_TRUE(Judge(x, 1, want, at::tensor({2, 2}, at::kLong)).ok);
  EXPECT_TRUE(Judge(x, 1, want, at::tensor({1, 0}, at::kLong)).ok);
  const Comparison wrong = Judge(x, 1, want, at::tensor({1, 3}, at::kLong));
  EXPECT_FALSE(wrong.ok);
  EXPECT_EQ(wrong.index, 1);
  EXPECT_FALSE(Judge(x, 1, want, at::tensor({1, 4}, at::kLong)).ok) << "outside of the row";
  EXPECT_FALSE(Judge(x, 1, want, at::tensor({-1, 0}, at::kLong)).ok);
}

TEST(Indices, AlongAnInnerDimensionAndFlattened) {
  const at::Tensor x = at::rand({3, 5, 4});
  EXPECT_TRUE(Judge(x, 1, at::argmax(x, 1), at::argmax(x, 1)).ok);
  EXPECT_FALSE(Judge(x, 1, at::argmax(x, 1), at::argmin(x, 1)).ok);
  EXPECT_TRUE(Judge(x, std::nullopt, at::argmax(x), at::argmax(x)).ok);
  EXPECT_FALSE(Judge(x, std::nullopt, at::argmax(x), at::argmin(x)).ok);
}

TEST(Indices, WhatFloat32HardlyHasIsEqual) {
  const at::Tensor exact = at::tensor({1e-52, 3e-50, 2e-50}, at::kDouble);
  const at::Tensor want = at::argsort(exact), got = at::tensor({2, 0, 1}, at::kLong);
  const auto is_right = [&](at::ScalarType dtype) {
    const at::Tensor eager = at::full({3}, NAN, dtype);  // whose error says nothing
    return CompareIndices({0, 0}, Expectation(exact, eager, {}), Expectation(want, want, {}), got).ok;
  };
  EXPECT_TRUE(is_right(at::kFloat));
  EXPECT_FALSE(is_right(at::kDouble));
}

TEST(Indices, WhatFp64MakesOfZerosIsEqual) {
  const at::Tensor exact = at::tensor({0.3, 1.4e-17, 0.0}, at::kDouble).view({1, 3});
  const at::Tensor want = at::argmin(exact, 1);
  const auto is_right = [&](int64_t got) {
    return CompareIndices({0, 1}, Expectation(exact, at::full({1, 3}, NAN), {}), Expectation(want, want, {}),
                          at::tensor({got}, at::kLong))
        .ok;
  };
  EXPECT_TRUE(is_right(1));
  EXPECT_FALSE(is_right(0));
}

TEST(Indices, NoIndexTwice) {
  const at::Tensor x = at::tensor({3.0f, 3.0f, 3.0f, 1.0f}).view({1, 4});
  const at::Tensor want = std::get<1>(at::topk(x, 2, 1));
  EXPECT_TRUE(Judge(x, 1, want, at::tensor({2, 0}, at::kLong).view({1, 2})).ok);
  EXPECT_FALSE(Judge(x, 1, want, at::tensor({1, 1}, at::kLong).view({1, 2})).ok);
}

TEST(Indices, OfElementsSoFarComeOftenButNoneTooEarly) {
  const at::Tensor x = at::tensor({2.0f, 5.0f, 5.0f, 4.0f}).view({1, 4});
  const at::Tensor want = std::get<1>(at::cummax(x, 1));
  const auto is_right = [&](const std::vector<int64_t>& got) {
    return CompareIndices({0, 1, true}, Expectation(x.to(at::kDouble), x, {}), Expectation(want, want, {}),
                          at::tensor(got, at::kLong).view({1, 4}))
        .ok;
  };
  EXPECT_TRUE(is_right({0, 1, 2, 2}));
  EXPECT_TRUE(is_right({0, 1, 1, 1}));
  EXPECT_FALSE(is_right({0, 2, 2, 2})) << "a later element";
  EXPECT_FALSE(is_right({0, 1, 2, 3})) << "a smaller one";
  EXPECT_FALSE(is_right({0, 1, 2, -1}));
}

TEST(Indices, OfEqualValuesComeInOrderWhereThatIsAsked) {
  const at::Tensor x = at::tensor({2.0f, 1.0f, 2.0f, 1.0f}).view({1, 4});
  const at::Tensor want = at::tensor({1, 3, 0, 2}, at::kLong).view({1, 4});
  const auto is_right = [&](const std::vector<int64_t>& got, bool stable) {
    const IndexSource source{.values = 0, .dim = 1, .stable = stable};
    return CompareIndices(source, Expectation(x.to(at::kDouble), x, {}), Expectation(want, want, {}),
                          at::tensor(got, at::kLong).view({1, 4}))
        .ok;
  };
  EXPECT_TRUE(is_right({1, 3, 0, 2}, true));
  EXPECT_FALSE(is_right({1, 3, 2, 0}, true));
  EXPECT_TRUE(is_right({1, 3, 2, 0}, false));
  EXPECT_FALSE(is_right({1, 0, 3, 2}, false));
}

TEST(Indices, OfEqualValuesTheFirstIsAskedForWhereThatIsDocumented) {
  const at::Tensor x = at::tensor({1.0f, 2.0f, 2.0f, 2.0f}).view({1, 4});
  const auto is_right = [&](int64_t want, int64_t got, bool first) {
    const at::Tensor expected = at::tensor({want}, at::kLong);
    const IndexSource source{.values = 0, .dim = 1, .first = first};
    return CompareIndices(source, Expectation(x.to(at::kDouble), x, {}), Expectation(expected, expected, {}),
                          at::tensor({got}, at::kLong))
        .ok;
  };
  EXPECT_TRUE(is_right(1, 1, true));
  EXPECT_FALSE(is_right(1, 3, true));
  EXPECT_TRUE(is_right(1, 3, false)) << "topk leaves it open";
  EXPECT_TRUE(is_right(2, 1, true)) << "whoever gives an earlier one than eager PyTorch";
  EXPECT_FALSE(is_right(1, 0, true));
}

TEST(Indices, SourceIsFoundBehindACast) {
  Plan plan;
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kInt64, Dtype::kInt32}) {
    plan.storages.push_back(32);
    TensorMeta meta;
    meta.storage = static_cast<StorageId>(plan.storages.size()) - 1;
    meta.dtype = dtype;
    meta.sizes = {2, 2};
    meta.strides = {2, 1};
    plan.tensors.push_back(meta);
  }
  // Along the last dimension where none is named.
  plan.run.emplace_back(
      AtenStep{"aten::argsort.stable", {Value{TensorRef{0}}}, {{"stable", Value{true}}}, {1}, 1});
  const auto sorted = IndexSourceOf(plan, 1);
  ASSERT_TRUE(sorted);
  EXPECT_EQ(sorted->dim, 1);
  EXPECT_TRUE(sorted->stable);
  EXPECT_FALSE(sorted->first);
  plan.run.clear();
  plan.run.emplace_back(AtenStep{"aten::argmax", {Value{TensorRef{0}}, Value{int64_t{-1}}}, {}, {1}, 1});
  plan.run.emplace_back(AtenStep{"aten::_to_copy", {Value{TensorRef{1}}}, {}, {2}, 1});
  const auto source = IndexSourceOf(plan, 2);
  ASSERT_TRUE(source);
  EXPECT_EQ(source->values, 0);
  EXPECT_EQ(source->dim, 1);
  EXPECT_TRUE(source->first);
  EXPECT_FALSE(IndexSourceOf(plan, 0));
}

}  // namespace
}  // namespace tritogen
