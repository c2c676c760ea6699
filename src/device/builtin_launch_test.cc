#include "device/builtin_launch.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace tritogen {
namespace {

// A compiler that was promised multiples of 16 reads and writes 16 bytes at once; the tile machine does not.
TEST(BuiltinLaunch, RefusesArgumentsThatBreakThePromiseOfTheKernel) {
  const auto swiglu = [](const std::string& name, int64_t n, int64_t offset) {
    const at::Tensor gate_up = at::ones({2 * n + offset}), out = at::empty({n});
    LaunchBuiltin(name, 1, {gate_up.narrow(0, offset, 2 * n), out, n});
  };
  EXPECT_NO_THROW(swiglu("swiglu.f32", 32, 4));
  EXPECT_THROW(swiglu("swiglu.f32", 40, 0), InternalError);
  EXPECT_THROW(swiglu("swiglu.f32", 32, 1), InternalError);
  EXPECT_NO_THROW(swiglu("swiglu.f32.any", 33, 0));
}

}  // namespace
}  // namespace tritogen
