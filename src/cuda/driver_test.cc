#include "cuda/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cuda/nvml.h"

namespace tritogen::cuda {
namespace {

TEST(Driver, WithoutOneThereIsAReason) {
  std::string why;
  const Driver* driver = Driver::Load(&why);
  EXPECT_EQ(driver == nullptr, !why.empty());
  std::string again;
  EXPECT_EQ(Driver::Load(&again), driver);
  EXPECT_EQ(again, why);
  EXPECT_TRUE(driver != nullptr || why.find("NVIDIA driver") != std::string::npos) << why;
}

TEST(Driver, DeadContextsAreToldFromRefusedCalls) {
  for (CUresult dead :
       {CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_ASSERT,
        CUDA_ERROR_MISALIGNED_ADDRESS, CUDA_ERROR_ECC_UNCORRECTABLE, CUDA_ERROR_LAUNCH_TIMEOUT}) {
    EXPECT_TRUE(Error(dead, "launch k").sticky()) << dead;
  }
  for (CUresult refused :
       {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
        CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE}) {
    EXPECT_FALSE(Error(refused, "launch k").sticky()) << refused;
  }
  EXPECT_TRUE(Error(CUDA_ERROR_OUT_OF_MEMORY, "allocate").out_of_memory());
}

TEST(Driver, ErrorsSayWhatWasDone) {
  EXPECT_NO_THROW(Check(CUDA_SUCCESS, "launch k"));
  try {
    Check(CUDA_ERROR_ILLEGAL_ADDRESS, "launch k");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("launch k: CUDA"));
    EXPECT_EQ(error.result(), CUDA_ERROR_ILLEGAL_ADDRESS);
  }
}

TEST(Nvml, WithoutItThereIsAReason) {
  ClockSampler sampler("0000:00:00.0");
  sampler.Start();
  const ClockReport report = sampler.Stop();
  EXPECT_EQ(report.available, report.problem.empty());
}

}  // namespace
}  // namespace tritogen::cuda
