#include "verify/unavoidable_reads.h"

#include <gtest/gtest.h>

#include "verify/test_builder.h"

namespace tritogen {
namespace {

double ReadsOf(const Builder& b, TensorId input) {
  return UnavoidableReads(b.plan, FlowOf(b.plan), input);
}

// Of an input of 64 × 64 numbers, after a chain of operators and the shapes of their results, "view" or not.
struct Link {
  const char* op;
  std::vector<int64_t> sizes;
  bool view = false;
};

double ReadsOfChain(const std::vector<Link>& chain) {
  Builder b;
  const TensorId x = b.Input({64, 64});
  TensorId last = x;
  for (const Link& link : chain) {
    const TensorId next = b.Tensor(link.sizes, link.view ? b.plan.tensors[last].storage : -1);
    b.Call(link.op, {last}, {next});
    last = next;
  }
  b.Return(last);
  return ReadsOf(b, x) / 4;
}

TEST(UnavoidableReads, AreWhatIsLeftOfViewsAndCopiesAndMaps) {
  EXPECT_EQ(ReadsOfChain({{"aten::sum", {}}}), 64 * 64);
  EXPECT_EQ(ReadsOfChain({{"aten::relu", {64, 64}}}), 64 * 64);
  EXPECT_EQ(ReadsOfChain({{"aten::view", {4096}, true}, {"aten::sum", {}}}), 64 * 64);
  EXPECT_EQ(ReadsOfChain({{"aten::slice.Tensor", {2, 64}, true}}), 0) << "returned as it lies";
  EXPECT_EQ(ReadsOfChain({{"aten::slice.Tensor", {2, 64}, true}, {"aten::sum", {}}}), 2 * 64);
  EXPECT_EQ(ReadsOfChain({{"aten::clone", {64, 64}}, {"aten::select.int", {64}, true}, {"aten::sum", {}}}),
            64);
  EXPECT_EQ(ReadsOfChain({{"aten::exp", {64, 64}}, {"aten::select.int", {64}, true}}), 64);
  EXPECT_EQ(ReadsOfChain({{"aten::cumsum", {64, 64}}, {"aten::select.int", {64}, true}}), 64 * 64)
      << "each element may matter for what is left";
  EXPECT_EQ(ReadsOfChain({{"nobody::knows", {1}}}), 64 * 64);
}

TEST(UnavoidableReads, OfSamplesAreAsManyAsAreGiven) {
  EXPECT_EQ(ReadsOfChain({{"aten::upsample_nearest1d", {64, 3}}}), 64 * 3);
  EXPECT_EQ(ReadsOfChain({{"aten::upsample_nearest1d", {64, 256}}}), 64 * 64);
  EXPECT_EQ(ReadsOfChain({{"aten::index_select", {2, 64}}}), 2 * 64);
}

Value ListOf(const std::vector<int64_t>& numbers) {
  Value::List list;
  for (const int64_t number : numbers) list.push_back(Value{number});
  return Value{list};
}

TEST(UnavoidableReads, OfWindowsThatStepOverElementsAreTheirs) {
  struct Pool {
    std::vector<int64_t> out, window, stride = {}, padding = {0, 0}, dilation = {1, 1};
  };
  const auto of_pool = [](const Pool& pool) {
    Builder b;
    const TensorId x = b.Input({8, 64, 64}), y = b.Tensor(pool.out);
    AtenStep& step = b.Call("aten::max_pool2d", {x}, {y});
    for (const auto* numbers : {&pool.window, &pool.stride, &pool.padding, &pool.dilation})
      step.args.push_back(ListOf(*numbers));
    b.Return(y);
    return ReadsOf(b, x) / 4;
  };
  EXPECT_EQ(of_pool({{8, 32, 32}, {2, 2}}), 8 * 64 * 64);
  EXPECT_EQ(of_pool({{8, 16, 16}, {2, 2}, {4, 4}}), 8 * 32 * 32);
  EXPECT_EQ(of_pool({{8, 62, 62}, {3, 3}, {1, 1}}), 8 * 64 * 64);
  EXPECT_EQ(of_pool({{8, 21, 21}, {3, 3}}), 8 * 63 * 63) << "the last ones are left out";
  EXPECT_EQ(of_pool({{8, 31, 31}, {2, 2}, {2, 2}, {1, 1}, {4, 4}}), 8 * 32 * 32) << "odd places only";
  EXPECT_EQ(of_pool({{8, 16, 64}, {1, 1}, {4, 1}}), 8 * 16 * 64);
  const auto of_convolution = [](bool transposed, const Value& padding) {
    Builder b;
    const TensorId x = b.Input({2, 16, 64, 64}), w = b.Input({32, 4, 2, 2}), y = b.Tensor({2, 32, 16, 16});
    auto& named = b.Call("aten::convolution", {x, w}, {y}).kwargs;
    named.emplace_back("transposed", Value{transposed});
    named.emplace_back("stride", ListOf({4}));
    named.emplace_back("padding", padding);
    b.Return(y);
    EXPECT_EQ(ReadsOf(b, w) / 4, 32 * 4 * 2 * 2);
    return ReadsOf(b, x) / 4;
  };
  EXPECT_EQ(of_convolution(false, ListOf({0, 0})), 2 * 16 * 32 * 32);
  EXPECT_EQ(of_convolution(false, ListOf({1, 0})), 2 * 16 * 31 * 32);
  EXPECT_EQ(of_convolution(false, Value{std::string("same")}), 2 * 16 * 64 * 64) << "nobody knows";
  EXPECT_EQ(of_convolution(true, ListOf({0, 0})), 2 * 16 * 64 * 64);
}

TEST(UnavoidableReads, ThePartBesideTheWholeChangesNothing) {
  Builder b;
  const TensorId x = b.Input({64, 64}), part = b.Tensor({64}, b.plan.tensors[x].storage);
  const TensorId sum = b.Tensor({}), dead = b.Tensor({}), y = b.Tensor({64});
  b.Call("aten::select.int", {x}, {part});
  b.Call("aten::sum", {x}, {sum});
  b.Call("aten::add.Tensor", {part, sum}, {y});
  b.Return(y);
  EXPECT_EQ(ReadsOf(b, x), 4 * 64 * 64);
  std::get<AtenStep>(b.plan.run[1]).outs = {dead};  // a sum that reaches no output
  EXPECT_EQ(ReadsOf(b, x), 4 * 64);
}

TEST(UnavoidableReads, OfAnExpandedPartAreThePart) {
  Builder b;
  const TensorId x = b.Input({64, 64}), wide = b.Tensor({1000, 64}, b.plan.tensors[x].storage);
  const TensorId copy = b.Tensor({1000, 64}), y = b.Tensor({});
  b.plan.tensors[wide].strides = {0, 1};
  b.Call("aten::expand", {x}, {wide});
  b.Call("aten::clone", {wide}, {copy});
  b.Call("aten::sum", {copy}, {y});
  b.Return(y);
  EXPECT_EQ(ReadsOf(b, x), 4 * 64);
}

TEST(UnavoidableReads, ScatteredAreAsManyAsThereAreIndices) {
  Builder b;
  const TensorId x = b.Input({8, 8}), source = b.Input({64, 64}), y = b.Tensor({8, 8});
  const TensorId index = b.Tensor({2, 7}, -1, Dtype::kInt64);
  AtenStep& step = b.Call("aten::scatter_reduce.two", {x}, {y});
  step.args.push_back(Value{int64_t{1}});
  step.args.push_back(Builder::Ref(index));
  step.args.push_back(Builder::Ref(source));
  b.Return(y);
  EXPECT_EQ(ReadsOf(b, source), 4 * 2 * 7);
  EXPECT_EQ(ReadsOf(b, x), 4 * 8 * 8);
}

}  // namespace
}  // namespace tritogen
