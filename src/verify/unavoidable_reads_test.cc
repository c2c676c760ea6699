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

TEST(UnavoidableReads, OfWindowsThatStepOverElementsAreTheirs) {
  const auto of_pool = [](std::vector<int64_t> window, std::vector<int64_t> out) {
    Builder b;
    const TensorId x = b.Input({8, 64, 64}), y = b.Tensor(std::move(out));
    Value::List sizes;
    for (const int64_t size : window) sizes.push_back(Value{size});
    b.Call("aten::max_pool2d", {x}, {y}).args.push_back(Value{sizes});
    b.Return(y);
    return ReadsOf(b, x) / 4;
  };
  EXPECT_EQ(of_pool({2, 2}, {8, 16, 16}), 8 * 32 * 32);
  EXPECT_EQ(of_pool({3, 3}, {8, 62, 62}), 8 * 64 * 64);
  const auto of_convolution = [](bool transposed) {
    Builder b;
    const TensorId x = b.Input({2, 16, 64, 64}), w = b.Input({32, 4, 2, 2}), y = b.Tensor({2, 32, 16, 16});
    b.Call("aten::convolution", {x, w}, {y}).kwargs.emplace_back("transposed", Value{transposed});
    b.Return(y);
    EXPECT_EQ(ReadsOf(b, w) / 4, 32 * 4 * 2 * 2);
    return ReadsOf(b, x) / 4;
  };
  EXPECT_EQ(of_convolution(false), 2 * 16 * 32 * 32);
  EXPECT_EQ(of_convolution(true), 2 * 16 * 64 * 64);
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
