#include "verify/partial_range.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace tritogen {
namespace {

bool Leaves(const std::string& op, const at::Tensor& x, std::vector<Value> args = {},
            Dtype dtype = Dtype::kFloat32) {
  Plan plan;
  plan.tensors.resize(2);
  plan.tensors[0].dtype = plan.tensors[1].dtype = dtype;
  args.insert(args.begin(), Value{TensorRef{0}});
  plan.run.emplace_back(AtenStep{op, std::move(args), {}, {1}, 1});
  std::vector<Probe> probes = RangeProbes(plan);
  EXPECT_EQ(probes.size(), 1u);
  probes[0].seen = x;
  const auto leaves = OrderLeavesRange(plan, probes[0]);
  return leaves && leaves->item<bool>();
}

at::Tensor Line(std::vector<double> powers_of_ten) {
  return at::pow(10.0, at::tensor(powers_of_ten, at::kDouble));
}

TEST(PartialRange, OfProducts) {
  EXPECT_FALSE(Leaves("aten::prod", Line({30, -20, 5, -10})));
  EXPECT_TRUE(Leaves("aten::prod", Line({30, -20, 15, -30}))) << "1e45 where large ones come first";
  EXPECT_FALSE(Leaves("aten::prod", Line({30, -20, 15, -30}), {}, Dtype::kFloat64));
  EXPECT_TRUE(Leaves("aten::prod", Line({30, -20, -25}))) << "1e-45 where small ones come first";
  EXPECT_FALSE(Leaves("aten::prod", Line({-30, -25, 3}))) << "next to zero in every order";
  at::Tensor with_zero = Line({30, -20, -25});
  with_zero[0] = 0;
  EXPECT_FALSE(Leaves("aten::prod", with_zero));
  with_zero = Line({0, 30, 30});
  with_zero[0] = 0;
  EXPECT_TRUE(Leaves("aten::prod", with_zero)) << "zero, or zero times infinity";
  const at::Tensor lines = at::stack({Line({20, 0}), Line({20, 0})});
  EXPECT_TRUE(Leaves("aten::prod", lines));
  EXPECT_FALSE(Leaves("aten::prod.dim_int", lines, {Value{int64_t{1}}}));
  EXPECT_TRUE(Leaves("aten::prod.dim_int", lines, {Value{int64_t{0}}}));
}

TEST(PartialRange, OfProductsSoFar) {
  const Value along{int64_t{0}};
  EXPECT_FALSE(Leaves("aten::cumprod", Line({20, -20, 20, -20, 20}), {along}));
  EXPECT_TRUE(Leaves("aten::cumprod", Line({-30, 20, 20, -10}), {along})) << "1e40 in the middle";
  EXPECT_TRUE(Leaves("aten::cumprod", Line({10, -25, -25, 20}), {along}));
  EXPECT_FALSE(Leaves("aten::cumprod", Line({-10, -25, -25, -20}), {along})) << "nothing comes back";
}

TEST(PartialRange, OfSumsOfRunningProducts) {
  const auto cancel = [](const std::vector<std::string>& ops, const at::Tensor& terms) {
    Plan plan;
    plan.tensors.resize(2);
    plan.tensors[0].dtype = plan.tensors[1].dtype = Dtype::kFloat32;
    for (const std::string& op : ops)
      plan.run.emplace_back(AtenStep{op, {Value{TensorRef{0}}, Value{int64_t{0}}}, {}, {1}, 1});
    std::vector<Probe> probes = RangeProbes(plan);
    if (probes.size() < ops.size()) return false;
    probes.back().seen = terms;
    const auto leaves = OrderLeavesRange(plan, probes.back());
    return leaves && leaves->item<bool>();
  };
  const at::Tensor nothing_left = at::tensor({-1e12, 1e12, 1.0}, at::kDouble),
                   most_left = at::tensor({-1e3, 1e3, 1.0}, at::kDouble);
  EXPECT_TRUE(cancel({"aten::cumprod", "aten::sum.dim_IntList"}, nothing_left));
  EXPECT_TRUE(cancel({"aten::cumprod", "aten::mean.dim"}, nothing_left));
  EXPECT_FALSE(cancel({"aten::cumprod", "aten::sum.dim_IntList"}, most_left));
  EXPECT_FALSE(cancel({"aten::cumprod", "aten::sum.dim_IntList"}, at::zeros({3}, at::kDouble)));
  EXPECT_FALSE(cancel({"aten::sum.dim_IntList"}, nothing_left)) << "terms that every program has";
}

TEST(PartialRange, OfSquares) {
  EXPECT_FALSE(Leaves("aten::var.correction", Line({18, 0})));
  EXPECT_TRUE(Leaves("aten::var.correction", Line({20, 0})));
  EXPECT_TRUE(Leaves("aten::std_mean.correction", at::stack({Line({20, 0}), Line({1, 0})}),
                     {Value{Value::List{Value{int64_t{1}}}}}));
  EXPECT_FALSE(Leaves("aten::var.correction", Line({20, 0}), {}, Dtype::kFloat64));
  EXPECT_FALSE(Leaves("aten::std.correction", at::full({3}, 1e30, at::kDouble)));
}

}  // namespace
}  // namespace tritogen
