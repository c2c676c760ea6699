#include "verify/verifier_reference.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace tritogen {
namespace {

// Pieces by pieces, of more elements than are taken at once, and of strided ones, as the formulas have it.
TEST(CutFactors, WhatTheyAreAllowedIsTheSameInPieces) {
  const at::Tensor large = at::arange((int64_t{1} << 24) + 5, at::kDouble).fmod(97),
                   strided = at::arange(15, at::kDouble).view({5, 3}).t();
  for (const at::Tensor& exact : {large, strided}) {
    const at::Tensor cut = exact + exact.fmod(7) * 1e-3, wobble = exact + exact.fmod(5) * 4e-4;
    const at::Tensor change = (cut - exact) / 4;  // four times its error is allowed, of other noise 16 times
    const at::Tensor expected = at::where((wobble - exact).abs() > change.abs(), wobble, exact + change);
    const at::Tensor allowed = AllowedCut(exact, cut, wobble);
    EXPECT_EQ(allowed.sizes(), exact.sizes());
    EXPECT_TRUE(allowed.equal(expected));
    EXPECT_TRUE(AllowedCut(exact, cut).equal(exact + change));
    const at::Tensor noise = (allowed - exact).masked_select(allowed != exact);
    EXPECT_NEAR(LeastOfCut(exact, allowed).item<double>(), 2 * noise.square().mean().sqrt().item<double>(),
                1e-12);
  }
}

TEST(CutFactors, WithoutNoiseNothingIsLeast) {
  const at::Tensor exact = at::ones({4}, at::kDouble);
  EXPECT_EQ(LeastOfCut(exact, exact).item<double>(), 0);
}

TEST(CutFactors, IndicesStayWhatTheyAre) {
  const at::Tensor places = at::arange(5);
  EXPECT_TRUE(AllowedCut(places, places).equal(places));
}

}  // namespace
}  // namespace tritogen
