// Calls that PyTorch would answer with what lies beside its arguments.
#include "verify/aten_bounds.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include <string>

#include "verify/aten_value.h"

namespace tritogen {
namespace {

using Values = torch::jit::Stack;

// By position; the rest as the schema has it.
bool Fits(const std::string& op, const char* overload, Values values, BoundsCheck check = nullptr) {
  const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(op.c_str(), overload);
  const auto& arguments = handle.schema().arguments();
  for (size_t i = values.size(); i < arguments.size(); ++i)
    values.push_back(arguments[i].default_value().value_or(c10::IValue()));
  try {
    (check != nullptr ? check : BoundsCheckOf(op))(handle.schema(), values);
    return true;
  } catch (const ArgumentError&) {
    return false;
  }
}

TEST(AtenBounds, StatisticsAreOneForEachChannel) {
  const at::Tensor x = at::rand({2, 8}), right = at::rand({8}), wrong = at::rand({1});
  for (const at::Tensor& values : {right, wrong}) {
    const bool fits = values.numel() == 8;
    EXPECT_EQ(Fits("aten::native_batch_norm", "", {x, values, values, right, right, true, 0.1, 1e-5}), fits);
    EXPECT_EQ(Fits("aten::_native_batch_norm_legit", "", {x, {}, {}, values, values, true, 0.1, 1e-5}), fits);
    EXPECT_EQ(Fits("aten::batch_norm_update_stats", "", {x, values, values, 0.1}), fits);
    EXPECT_EQ(Fits("aten::_fused_rms_norm", "", {x, c10::List<int64_t>({8}), values, 1e-5}), fits);
  }
  EXPECT_TRUE(Fits("aten::_weight_norm_interface", "", {at::rand({4, 3}), at::rand({4, 1}), 0}));
  EXPECT_FALSE(Fits("aten::_weight_norm_interface", "", {at::rand({4, 3}), at::rand({1}), 0}));
}

TEST(AtenBounds, AttentionHasAsManyValuesAsKeys) {
  const at::Tensor x = at::rand({1, 2, 16, 8});
  EXPECT_TRUE(Fits("aten::scaled_dot_product_attention", "", {x, x, x}));
  EXPECT_FALSE(Fits("aten::scaled_dot_product_attention", "", {x, x, x.slice(2, 0, 4)}));
}

TEST(AtenBounds, SegmentsLieInTheData) {
  auto lengths = [](std::vector<int64_t> n) {
    return Fits("aten::segment_reduce", "", {at::rand({8}), "sum", at::tensor(n, at::kLong)});
  };
  auto offsets = [](std::vector<int64_t> n) {
    return Fits("aten::segment_reduce", "", {at::rand({8}), "sum", {}, {}, at::tensor(n, at::kLong)});
  };
  EXPECT_TRUE(lengths({3, 0, 5}) && offsets({0, 3, 3, 8}));
  EXPECT_FALSE(lengths({3, 6}) || lengths({-1, 9}) || lengths({INT64_MAX, INT64_MAX}));
  EXPECT_FALSE(offsets({0, 9}) || offsets({-1, 8}) || offsets({4, 2}));
}

TEST(AtenBounds, FramesAreThoseOfTheLine) {
  auto fits = [](std::vector<int64_t> frames, std::vector<int64_t> sizes, int64_t dim, int64_t size,
                 int64_t step) {
    return Fits("aten::unfold_backward", "", {at::rand(frames), c10::List<int64_t>(sizes), dim, size, step});
  };
  EXPECT_TRUE(fits({2, 5, 4}, {2, 12}, 1, 4, 2) && fits({2, 5, 4}, {2, 12}, -1, 4, 2) &&
              fits({2, 3}, {7}, 0, 3, 4));
  EXPECT_FALSE(fits({2, 6, 4}, {2, 12}, 1, 4, 2) || fits({2, 5, 3}, {2, 12}, 1, 4, 2));
  EXPECT_FALSE(fits({1, 5, 4}, {2, 12}, 1, 4, 2) || fits({5, 4}, {2, 12}, 1, 4, 2));
  EXPECT_FALSE(fits({2, 5, 4}, {2, 12}, 2, 4, 2) || fits({2, 5, 4}, {2, 12}, 1, 4, 0));
}

TEST(AtenBounds, TargetsAreClassesAsFarAsTheyGo) {
  const at::Tensor scores = at::rand({5, 2, 4});
  auto fits = [&](std::vector<int64_t> targets, std::vector<int64_t> lengths) {
    const at::Tensor lines = at::tensor(targets, at::kLong).view({2, 2});
    return Fits("aten::ctc_loss", "IntList",
                {scores, lines, c10::List<int64_t>({5, 5}), c10::List<int64_t>(lengths)});
  };
  EXPECT_TRUE(fits({1, 2, 3, -1}, {2, 1}));
  EXPECT_FALSE(fits({1, 4, 3, 3}, {2, 2}) || fits({1, 2, 3, -1}, {2, 2}) || fits({1, 2, 3, 3}, {2, 3}));
}

TEST(AtenBounds, RecurrentWeightsAndStatesFitEachOther) {
  const at::Tensor x = at::rand({3, 2, 4}), state = at::rand({1, 2, 5});
  auto lstm = [&](at::Tensor state, std::vector<at::Tensor> weights) {
    return Fits("aten::lstm", "input",
                {x, std::vector<at::Tensor>{state, state}, weights, true, 1, 0.0, false, false, false});
  };
  const at::Tensor in = at::rand({20, 4}), own = at::rand({20, 5}), bias = at::rand({20});
  EXPECT_TRUE(lstm(state, {in, own, bias, bias}));
  EXPECT_FALSE(lstm(at::rand({1, 1, 5}), {in, own, bias, bias}));
  EXPECT_FALSE(lstm(state, {in, at::rand({1, 1}), bias, bias}));
  EXPECT_FALSE(lstm(state, {in, own, bias, at::rand({1})}));
  EXPECT_FALSE(lstm(state, {in}));
}

TEST(AtenBounds, NobodyIsAskedWherePytorchLooksItself) {
  EXPECT_EQ(BoundsCheckOf("aten::relu"), nullptr);
  EXPECT_EQ(BoundsCheckOf("aten::index_select"), nullptr);
}

bool FitsOnGpu(const std::string& op, const char* overload, Values values) {
  return Fits(op, overload, std::move(values), TrapCheckOf(op));
}

TEST(AtenBounds, NumbersThatEndAGpusContextAreRefused) {
  const at::Tensor x = at::rand({4, 3}), y = at::rand({4, 3});
  EXPECT_TRUE(FitsOnGpu("aten::binary_cross_entropy", "", {x, y}));
  EXPECT_FALSE(FitsOnGpu("aten::binary_cross_entropy", "", {x + 0.5, y}));
  EXPECT_FALSE(FitsOnGpu("aten::binary_cross_entropy", "", {x, y - 0.5}));
  EXPECT_FALSE(FitsOnGpu("aten::binary_cross_entropy", "", {x / 0.0 - x / 0.0, y})) << "NaN";

  const at::Tensor rows = at::tensor({0, 3, 2}), behind = rows + 1, before = rows - 1;
  for (const at::Tensor& index : {rows, behind, before}) {
    const bool fits = index.is_same(rows);
    EXPECT_EQ(FitsOnGpu("aten::index_select", "", {x, 0, index}), fits);
    EXPECT_EQ(FitsOnGpu("aten::embedding", "", {x, index}), fits);
    EXPECT_EQ(FitsOnGpu("aten::gather", "", {x, 0, index.view({3, 1})}), fits);
    EXPECT_EQ(FitsOnGpu("aten::scatter_add", "", {x, 0, index.view({3, 1}), y}), fits);
  }
  const auto indexed = [&](const at::Tensor& first, const at::Tensor& second) {
    const c10::List<std::optional<at::Tensor>> indices({first, second});
    return FitsOnGpu("aten::index", "Tensor", {x, indices});
  };
  EXPECT_TRUE(indexed(before, at::tensor({0, 1, 2}))) << "-1 is the last one";
  EXPECT_FALSE(indexed(rows, at::tensor({0, 1, 3})));
  EXPECT_FALSE(indexed({}, at::tensor({0, -4, 2})));
  EXPECT_TRUE(indexed(x.select(1, 0) > 0.5, {})) << "a mask";
  for (const int64_t last : {2, 3, -1, -100}) {
    const at::Tensor target = at::tensor({int64_t{0}, int64_t{1}, int64_t{0}, last});
    const bool fits = last == 2 || last == -100;  // which counts for nothing
    EXPECT_EQ(FitsOnGpu("aten::nll_loss_nd", "", {x, target}), fits) << last;
    EXPECT_EQ(FitsOnGpu("aten::cross_entropy_loss", "", {x, target}), fits) << last;
  }
  EXPECT_TRUE(FitsOnGpu("aten::cross_entropy_loss", "", {x, y})) << "shares of classes";
  EXPECT_EQ(TrapCheckOf("aten::relu"), nullptr);
}

}  // namespace
}  // namespace tritogen
