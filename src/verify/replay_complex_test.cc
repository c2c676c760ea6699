// Complex tensors between ATen calls: replayed as they are, in float64 as complex128, and nowhere else.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "verify/inputs.h"
#include "verify/replay.h"
#include "verify/test_sketch.h"

namespace tritogen {
namespace {

// y = real numbers that are the memory of the spectrum of x
Sketch Spectrum(const char* conjugated = "aten::conj_physical") {
  Sketch sketch;
  int x = sketch.Input("float32", {6}, {1});
  int z = sketch.Tensor("complex64", {4}, {1});
  int turned = sketch.Tensor("complex64", {4}, {1});
  int y = sketch.Tensor("float32", {4, 2}, {2, 1}, sketch.map["tensors"][turned][0]);
  int size = sketch.Tensor("float32", {4}, {1});
  sketch.Step("run", "aten::_fft_r2c", {T(x), json::array({0}), 0, true}, {z});
  sketch.Step("run", conjugated, {T(z)}, {turned});
  sketch.Step("run", "aten::view_as_real", {T(turned)}, {y});
  sketch.Step("run", "aten::abs", {T(z)}, {size});
  sketch.Output(y);
  sketch.Output(size);
  return sketch;
}

TEST(ReplayComplexTest, IsInFloat64WhatItIsInDeclaredPrecision) {
  const at::Tensor x = at::arange(6, at::kFloat).sin();
  TensorList narrow, wide;
  ReplayOptions options;
  ASSERT_FALSE(RunOnce(Spectrum().Build(), {x}, &narrow, options));
  options.in_float64 = true;
  const auto failure = RunOnce(Spectrum().Build(), {x.to(at::kDouble)}, &wide, options);
  ASSERT_FALSE(failure) << failure->message;
  const at::Tensor spectrum = at::fft_rfft(x.to(at::kDouble));
  EXPECT_EQ(wide[0].scalar_type(), at::kDouble);
  EXPECT_TRUE(at::allclose(wide[0], at::view_as_real(spectrum.conj().resolve_conj()), 0, 1e-14));
  EXPECT_TRUE(at::allclose(wide[1], spectrum.abs(), 0, 1e-14));
  EXPECT_EQ(narrow[0].scalar_type(), at::kFloat);
  EXPECT_TRUE(at::allclose(narrow[0].to(at::kDouble), wide[0], 0, 1e-5));
  TensorList again;
  ASSERT_FALSE(RunOnce(Spectrum("aten::_conj_physical").Build(), {x}, &again, ReplayOptions()))
      << "what autograd makes of it";
  EXPECT_TRUE(at::equal(again[0], narrow[0]));
}

TEST(ReplayComplexTest, UndefinedMemoryIsSeenThroughItsParts) {
  Sketch sketch;
  int z = sketch.Tensor("complex64", {3}, {1});
  int y = sketch.Tensor("float32", {3, 2}, {2, 1}, sketch.map["tensors"][z][0]);
  sketch.Step("run", "aten::empty.memory_format", {json::array({3})}, {z},
              {{"dtype", {{"dtype", "complex64"}}}});
  sketch.Step("run", "aten::view_as_real", {T(z)}, {y});
  sketch.Output(y);
  TensorList outputs;
  const auto failure = RunOnce(sketch.Build(), {}, &outputs);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->message, "output 0 holds memory that nobody wrote, first at [0, 0]");
}

TEST(ReplayComplexTest, ABitThatSaysConjugatedIsRefused) {
  for (const char* op : {"aten::conj", "aten::_conj", "aten::_neg_view"}) {
    Sketch sketch;
    int x = sketch.Input("float32", {2, 2}, {2, 1});
    int z = sketch.Tensor("complex64", {2}, {1}, 0);
    int turned = sketch.Tensor("complex64", {2}, {1}, 0);
    int y = sketch.Tensor("float32", {2, 2}, {2, 1}, 0);
    sketch.Step("run", "aten::view_as_complex", {T(x)}, {z});
    sketch.Step("run", op, {T(z)}, {turned});
    sketch.Step("run", "aten::view_as_real", {T(turned)}, {y});
    sketch.Output(y);
    TensorList outputs;
    const auto failure = RunOnce(sketch.Build(), {at::ones({2, 2})}, &outputs);
    ASSERT_TRUE(failure) << op;
    EXPECT_NE(failure->message.find("refused"), std::string::npos) << failure->message;
  }
}

TEST(ReplayComplexTest, WhatAPlanTakesAndReturnsIsReal) {
  Sketch taken;
  taken.Output(taken.Input("complex64", {2}, {1}));
  EXPECT_THROW(taken.Build(), FormatError);
  Sketch returned = Spectrum();
  returned.Output(1);
  EXPECT_THROW(returned.Build(), FormatError);
}

TEST(ReplayComplexTest, StateMayBeComplex) {
  Sketch kept = Spectrum();
  int w = kept.Tensor("complex128", {2}, {1});
  kept.Step("setup", "aten::zeros", {json::array({2})}, {w}, {{"dtype", {{"dtype", "complex128"}}}});
  kept.map["state"].push_back({"w", w, "buffer"});
  const Plan plan = kept.Build();
  Replayer replayer(plan, {});
  const at::Tensor values = at::complex(at::rand({2}), at::rand({2})).to(at::kComplexDouble);
  ASSERT_FALSE(replayer.SetUp(1, {}, {}, {{"w", values}}));
  EXPECT_TRUE(at::equal(replayer.State()["w"], values));
  const auto redrawn = Redraw(values, 3);
  ASSERT_TRUE(redrawn);
  EXPECT_TRUE(redrawn->is_complex() && !redrawn->equal(values));
}

}  // namespace
}  // namespace tritogen
