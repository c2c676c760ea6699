#include "device/device_errors.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "cuda/driver.h"

namespace tritogen {
namespace {

template <typename Work>
std::string UserErrorOf(const Work& work) {
  try {
    NeedingDeviceMemory("the model", "; give a smaller --context", work);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(DeviceErrors, EveryWayToSayItIsAUserError) {
  const std::string expected = "the model: the device's memory does not suffice (";
  const auto starts = [&](const std::string& text) { return text.starts_with(expected); };
  const std::string allocator = UserErrorOf([] {
    TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate 2 GiB.\nMore");
  });
  EXPECT_EQ(allocator, expected + "CUDA out of memory. Tried to allocate 2 GiB.); give a smaller --context");
  EXPECT_TRUE(starts(UserErrorOf([] { TORCH_CHECK(false, "CUDA error: out of memory\nSearch for …"); })));
  EXPECT_TRUE(starts(UserErrorOf(
      [] { TORCH_CHECK(false, "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`"); })));
  EXPECT_TRUE(starts(UserErrorOf([] { throw cuda::Error(CUDA_ERROR_OUT_OF_MEMORY, "make a context"); })));
}

TEST(DeviceErrors, TheirMessageIsOneLineWithoutAStack) {
  const auto message = [](const auto& work) {
    try {
      work();
    } catch (const std::exception& error) {
      return MessageOf(error);
    }
    return std::string();
  };
  EXPECT_EQ(message([] { TORCH_CHECK(false, "CUDA error: out of memory\nSearch for …"); }),
            "CUDA error: out of memory");
  EXPECT_EQ(message([] { throw UserError("no such file\n(twice)"); }), "no such file\n(twice)");
}

TEST(DeviceErrors, OtherErrorsAreWhatTheyWere) {
  const auto run = [](const auto& work) { NeedingDeviceMemory("the model", "", work); };
  EXPECT_THROW(run([] { TORCH_CHECK(false, "CUDA error: an illegal memory access"); }), c10::Error);
  EXPECT_THROW(run([] { throw cuda::Error(CUDA_ERROR_ILLEGAL_ADDRESS, "wait"); }), cuda::Error);
  EXPECT_THROW(run([] { throw InternalError("no"); }), InternalError);
  EXPECT_EQ(NeedingDeviceMemory("the model", "", [] { return 3; }), 3);
}

}  // namespace
}  // namespace tritogen
