// Statistics, the order of samples, floors: what the clock does without a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "cuda/interleave.h"
#include "cuda/nvml.h"
#include "cuda/roofline.h"
#include "cuda/statistics.h"

namespace tritogen::cuda {
namespace {

using ::testing::ElementsAre;

TEST(Statistics, QuantilesInterpolate) {
  const std::vector<double> samples = {4, 1, 3, 2};
  const Summary summary = Summarize(samples);
  EXPECT_EQ(summary.count, 4u);
  EXPECT_DOUBLE_EQ(summary.median, 2.5);
  EXPECT_DOUBLE_EQ(summary.lower_quartile, 1.75);
  EXPECT_DOUBLE_EQ(summary.upper_quartile, 3.25);
  EXPECT_EQ(summary.minimum, 1);
  EXPECT_EQ(summary.maximum, 4);
  EXPECT_EQ(Summarize(std::vector<double>{7}).median, 7);
  EXPECT_EQ(Summarize(std::vector<double>{7}).standard_error, 0);
}

// McKean and Schrader's estimate against the spread of medians that were really drawn.
TEST(Statistics, TheStandardErrorIsThatOfTheMedian) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(100, 5);
  std::vector<double> medians, errors;
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> samples(101);
    for (double& sample : samples) sample = normal(random);
    const Summary summary = Summarize(samples);
    medians.push_back(summary.median);
    errors.push_back(summary.standard_error);
  }
  double variance = 0;
  for (double median : medians) variance += (median - 100) * (median - 100) / medians.size();
  EXPECT_NEAR(Median(errors), std::sqrt(variance), 0.15 * std::sqrt(variance));
}

TEST(Statistics, OutliersDoNotMoveTheMedian) {
  std::vector<double> samples(100, 10);
  for (int i = 0; i < 10; ++i) samples[10 * i] = 1000;
  const Summary summary = Summarize(samples);
  EXPECT_EQ(summary.median, 10);
  EXPECT_EQ(summary.standard_error, 0);
}

TEST(Statistics, WarmUpEndsWhenTheMedianStandsStill) {
  StabilityWatch watch(5, 0.01);
  double time = 200;
  while (!watch.stable() && watch.count() < 1000) {
    watch.Add(time);
    time = 100 + (time - 100) * 0.8;
  }
  EXPECT_LT(watch.count(), 60u);
  EXPECT_LT(time, 105);
}

// Programs of constant length on a clock that their samples drive, a millisecond each.
struct Fake {
  std::vector<size_t> order;  // programs
  double now = 0;
  size_t measuring_from = 0;

  Interleaved Measure(size_t programs, const TimingOptions& options,
                      const std::function<double(size_t)>& microseconds) {
    return MeasureInterleaved(
        programs, options,
        [&](size_t i) {
          order.push_back(i);
          now += 1e-3;
          return microseconds(i);
        },
        [&] { return now; }, [&] { measuring_from = order.size(); });
  }
};

TEST(Interleave, ProgramsTakeTurnsForthAndBack) {
  Fake fake;
  TimingOptions options;
  options.min_samples = options.max_samples = 3;
  const Interleaved result = fake.Measure(3, options, [](size_t i) { return 10.0 + i; });
  EXPECT_EQ(result.timings[1].warmup_samples, 10u);  // two windows that agree
  EXPECT_TRUE(result.timings[1].stable);
  const std::vector<size_t> measured(fake.order.begin() + fake.measuring_from, fake.order.end());
  EXPECT_THAT(measured, ElementsAre(0, 1, 2, 2, 1, 0, 0, 1, 2));
  EXPECT_THAT(result.timings[2].samples, ElementsAre(12, 12, 12));
  EXPECT_EQ(result.timings[2].summary.median, 12);
  const Interleaved longer = fake.Measure(2, options, [](size_t i) { return 5000.0 * i; });
  EXPECT_EQ(longer.timings[1].warmup_samples, 10u);  // as long as any needs
  EXPECT_EQ(fake.Measure(1, options, [](size_t) { return 5000.0; }).timings[0].warmup_samples, 4u);
}

TEST(Interleave, SteadyProgramsEndEarlyAndNoisyOnesAtTheBudget) {
  TimingOptions options;
  Fake steady;
  const Interleaved quick = steady.Measure(2, options, [](size_t) { return 10.0; });
  EXPECT_TRUE(quick.reached_target);
  EXPECT_LE(quick.timings[0].samples.size(), 30u);
  Fake noisy;
  std::mt19937_64 random(1);
  std::exponential_distribution<double> noise(0.01);
  const Interleaved slow = noisy.Measure(2, options, [&](size_t) { return noise(random); });
  EXPECT_FALSE(slow.reached_target);
  EXPECT_FALSE(slow.timings[0].stable);
  EXPECT_EQ(slow.timings[0].warmup_samples, options.max_warmup_samples);
  EXPECT_NEAR(noisy.now, options.budget_seconds, 0.1);
}

TEST(Interleave, TheLeastNumberOfSamplesIsTakenWhateverItCosts) {
  TimingOptions options;
  options.budget_seconds = 0;
  options.min_samples = 50;
  Fake fake;
  EXPECT_EQ(fake.Measure(1, options, [](size_t) { return 1.0; }).timings[0].samples.size(), 50u);
}

TEST(Interleave, WhoIsComparedWithAndKnownTakesPartNowAndThen) {
  TimingOptions options;
  options.min_samples = 100;
  Fake fake;
  const Interleaved result = fake.Measure(2, options, [](size_t) { return 10.0; });
  EXPECT_EQ(result.timings[0].samples.size(), 100u);
  EXPECT_EQ(result.timings[1].samples.size(), 36u);  // 20, then every fifth of 80
  Fake unknown;
  std::mt19937_64 random(1);
  std::exponential_distribution<double> noise(0.01);
  const Interleaved noisy =
      unknown.Measure(2, options, [&](size_t i) { return i == 1 ? noise(random) : 10; });
  EXPECT_EQ(noisy.timings[1].samples.size(), noisy.timings[0].samples.size());
}

DeviceInfo Hopper() {
  DeviceInfo device;
  device.capability = 90;
  device.sm_count = 132;
  device.sm_clock_hz = 1.98e9;
  device.memory_bandwidth = 4.8e12;
  return device;
}

TEST(Roofline, TheSlowerOfComputeAndMemory) {
  // 8192³ in bf16: 1.1e12 FLOP at 1.07 PFLOP/s.
  const double n = 8192;
  EXPECT_NEAR(RooflineFloor(2 * n * n * n, 3 * 2 * n * n, Dtype::kBFloat16, Hopper()), 1.027e-3, 1e-5);
  EXPECT_NEAR(RooflineFloor(1e6, 4.8e9, Dtype::kFloat32, Hopper()), 1e-3, 1e-9);
  EXPECT_GT(RooflineFloor(1e12, 0, Dtype::kFloat32, Hopper()),
            RooflineFloor(1e12, 0, Dtype::kFloat16, Hopper()));
}

TEST(Roofline, UnknownArchitecturesHaveAFloorFromBytesOnly) {
  DeviceInfo unknown = Hopper();
  unknown.capability = 77;
  EXPECT_EQ(RooflineFloor(1e18, 0, Dtype::kFloat32, unknown), 0);
  EXPECT_NEAR(RooflineFloor(1e18, 4.8e12, Dtype::kFloat32, unknown), 1, 1e-9);
}

TEST(Nvml, NamesOnlyWhatSlowsDown) {
  EXPECT_THAT(ThrottleNames(0x1 | 0x2 | 0x4 | 0x40), ElementsAre("sw_power_cap", "hw_thermal_slowdown"));
}

}  // namespace
}  // namespace tritogen::cuda
