// The kernels on the tile machine, by what inputs.h says of each distribution; inputs_test.cc asks the same
// of their twins.
#include "verify/inputs_kernels.h"
#include "device/aten_dtype.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "verify/budget.h"

namespace tritogen {
namespace {

at::Tensor Make(Distribution distribution, const at::Tensor& x, uint64_t seed = 3, double strength = 1) {
  return TransformByKernels(distribution, x, strength, Random(seed, at::kCPU));
}

double Largest(const at::Tensor& x) {
  return x.abs().max().item<double>();
}

TEST(InputsKernels, KeepLayoutAndDtypeAndLeaveTheOriginalAlone) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    for (const at::Tensor& x : {at::rand({6, 40}).t(), at::rand({}), at::rand({1}), at::rand({2, 3, 4, 5}),
                                at::rand({1, 1, 700, 1, 2, 1})}) {
      const at::Tensor in = x.to(dtype), before = in.clone();
      ASSERT_TRUE(KernelsTake(in));
      for (const Distribution d :
           {Distribution::kGenerated, Distribution::kSpread, Distribution::kFlipped, Distribution::kShifted,
            Distribution::kSpikes, Distribution::kPlanted, Distribution::kLarge, Distribution::kBinary,
            Distribution::kNearOne, Distribution::kSwings, Distribution::kPlantedApart}) {
        const at::Tensor out = Make(d, in);
        EXPECT_EQ(out.sizes(), in.sizes()) << DistributionName(d);
        EXPECT_EQ(out.strides(), in.strides()) << DistributionName(d);
        EXPECT_EQ(out.scalar_type(), dtype);
        EXPECT_TRUE(out.isfinite().all().item<bool>()) << DistributionName(d) << " " << dtype;
        EXPECT_TRUE(in.equal(before));
      }
    }
  }
}

TEST(InputsKernels, AreTheSameForTheSameSeedAndOthersForAnother) {
  const at::Tensor x = at::rand({32, 32});
  for (const Distribution d : {Distribution::kSpread, Distribution::kShifted, Distribution::kSpikes,
                               Distribution::kBinary, Distribution::kLarge, Distribution::kSwings}) {
    EXPECT_TRUE(Make(d, x, 1).equal(Make(d, x, 1)));
    EXPECT_FALSE(Make(d, x, 1).equal(Make(d, x, 2))) << DistributionName(d);
  }
}

TEST(InputsKernels, PiecesOfLargeTensorsAreChangedEachByItself) {
  for (const at::Tensor& x : {at::rand({5, 2, 640}), at::rand({32, 50}).t(), at::rand({1, 700, 3})}) {
    const at::Tensor before = x.clone();
    for (const Distribution d : {Distribution::kSpread, Distribution::kFlipped, Distribution::kShifted,
                                 Distribution::kSpikes, Distribution::kPlanted, Distribution::kPlantedApart,
                                 Distribution::kLarge, Distribution::kBinary, Distribution::kSwings}) {
      const at::Tensor out = TransformByKernels(d, x, 1, Random(3, at::kCPU), 1500);
      EXPECT_EQ(out.strides(), x.strides());
      EXPECT_TRUE(out.isfinite().all().item<bool>()) << DistributionName(d);
      EXPECT_FALSE(out.equal(x)) << DistributionName(d);
      EXPECT_TRUE(x.equal(before));
    }
    EXPECT_TRUE(TransformByKernels(Distribution::kFlipped, x, 1, Random(3, at::kCPU), 1500).equal(-x));
  }
}

TEST(InputsKernels, SpreadHasSignsAndScalesBySlice) {
  const at::Tensor spread = Make(Distribution::kSpread, at::rand({64, 64}));
  const double negative = spread.lt(0).to(at::kDouble).mean().item<double>();
  EXPECT_NEAR(negative, 0.5, 0.05);
  double apart = 0;
  for (const int64_t d : {0, 1}) {
    const at::Tensor largest = spread.abs().amax(d);
    apart = std::max(apart, (largest.max() / largest.min()).item<double>());
  }
  EXPECT_GT(apart, 50);
  EXPECT_LT(apart, 2e3);
}

TEST(InputsKernels, SimpleChangesAreWhatTheyAreCalled) {
  const at::Tensor x = at::rand({64, 64});
  EXPECT_TRUE(Make(Distribution::kFlipped, x).equal(-x));
  EXPECT_GT(std::abs(Make(Distribution::kShifted, x).mean().item<double>() - 0.5), 0.25);
  const at::Tensor binary = Make(Distribution::kBinary, x);
  EXPECT_TRUE((binary.eq(0) | binary.eq(1)).all().item<bool>());
  EXPECT_NEAR(binary.mean().item<double>(), 0.5, 0.05);
  for (const int64_t d : {0, 1}) EXPECT_EQ(binary.eq(0).all(d).sum().item<int64_t>(), 1) << d;
  const at::Tensor near_one = Make(Distribution::kNearOne, x);
  EXPECT_NEAR(near_one.mean().item<double>(), 1, 1e-4);
  EXPECT_NEAR(near_one.std().item<double>(), 0.01, 1e-4);
  const double large = Largest(Make(Distribution::kLarge, x));
  EXPECT_GE(large, 149.9);
  EXPECT_LE(large, 500.1);
}

TEST(InputsKernels, FewPlacesAreChangedBySpikesAndPlanted) {
  const at::Tensor x = at::randn({64, 64});
  const at::Tensor spikes = Make(Distribution::kSpikes, x), planted = Make(Distribution::kPlanted, x);
  const int64_t hit = spikes.ne(x).sum().item<int64_t>(), put = planted.ne(x).sum().item<int64_t>();
  EXPECT_GT(hit, 4 * 63) << "ends of lines, and others";
  EXPECT_LT(hit, 4 * 63 + 64);
  for (const int64_t end : {0, 63}) {
    EXPECT_GT(spikes.argmax(1).eq(end).sum().item<int64_t>(), 8);
    EXPECT_GT(spikes.argmin(0).eq(end).sum().item<int64_t>(), 8);
  }
  EXPECT_GE(Largest(spikes), 10 * x.std().item<double>());
  EXPECT_GE(put, 1);
  EXPECT_LE(put, 4);
  EXPECT_GE(Largest(planted), 3 * x.std().item<double>());
}

TEST(InputsKernels, SwingsJumpDownOnOneHalfAndUpOnTheOther) {
  const at::Tensor swings = Make(Distribution::kSwings, at::rand({4800}));
  const at::Tensor low = swings.lt(0.5), high = swings.gt(2);
  EXPECT_NEAR(low.sum().item<double>(), 12, 3);
  EXPECT_NEAR(high.sum().item<double>(), 12, 3);
  EXPECT_GT(swings.min().item<double>(), 0.009);
  EXPECT_LT(Largest(swings), 110);
}

TEST(InputsKernels, TensorsOfTwoValuesAreOnlyPermuted) {
  const at::Tensor mask = at::where(at::rand({3000}) < 0.3, at::scalar_tensor(-INFINITY), at::zeros({3000}));
  const at::Tensor labels = at::ones({1000}).index_fill(0, at::arange(0, 1000, 3), -1);
  for (const at::Tensor& x : {mask, labels}) {
    for (const Distribution d : {Distribution::kSpread, Distribution::kLarge, Distribution::kBinary}) {
      const at::Tensor out = Make(d, x);
      EXPECT_FALSE(out.equal(x)) << DistributionName(d);
      EXPECT_TRUE(std::get<0>(out.sort()).equal(std::get<0>(x.sort()))) << DistributionName(d);
    }
    EXPECT_TRUE(Make(Distribution::kPlanted, x).equal(x));
  }
  const at::Tensor three = at::cat({labels, at::full({1}, 0.5)});
  EXPECT_FALSE(std::get<0>(Make(Distribution::kSpread, three).sort()).equal(std::get<0>(three.sort())));
}

TEST(InputsKernels, RedrawnValuesAreFarFromTheOldOnes) {
  const at::Tensor x = at::randn({500});
  const at::Tensor redrawn = RedrawByKernels(x, Random(5, at::kCPU));
  EXPECT_GT((redrawn - x).abs().mean().item<double>(), 0.5);
  EXPECT_TRUE(redrawn.isfinite().all().item<bool>());
  const at::Tensor labels = at::ones({100}).index_fill(0, at::arange(0, 100, 3), -1);
  EXPECT_TRUE(RedrawByKernels(labels, Random(5, at::kCPU)).equal(-labels));
}

TEST(InputsKernels, WidenAsTheirTwins) {
  at::Tensor x = at::randn({33, 40}).t();
  x[0][0] = INFINITY;
  x[0][1] = NAN;
  EXPECT_TRUE(at::allclose(WidenByKernels(x, Widening::kPlain, 0, 0), x.to(at::kDouble), 0, 0, true));
  EXPECT_TRUE(at::allclose(WidenByKernels(x, Widening::kTf32, 0, 0), RoundToTf32({x})[0], 0, 0, true));
  const at::Tensor y = at::randn({33, 40}), wide = y.to(at::kDouble);
  const double unit = UnitRoundoff(at::kFloat);
  const at::Tensor moved = WidenByKernels(y, Widening::kMoved, 7, unit);
  EXPECT_TRUE(((moved - wide).abs() <= wide.abs() * unit).all().item<bool>());
  EXPECT_GT(moved.ne(wide).to(at::kDouble).mean().item<double>(), 0.99);
}

}  // namespace
}  // namespace tritogen
