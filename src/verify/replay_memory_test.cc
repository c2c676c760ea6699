#include "verify/replay_memory.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

namespace tritogen {
namespace {

// "1" for each element of a storage of int32 that is defined, "0" for each that is not.
std::string DefinedElements(UndefinedMemory& memory, const at::Tensor& whole) {
  std::string out(whole.numel(), '1');
  const uint8_t* map = memory.MapOf(whole);
  for (size_t i = 0; map && i < out.size(); ++i)
    out[i] = std::all_of(map + 4 * i, map + 4 * i + 4, [](int b) { return b; }) ? '1' : '0';
  return out;
}

TEST(UndefinedMemoryTest, WritesThroughViewsDefineTheirElements) {
  UndefinedMemory memory(0);
  at::Tensor whole = at::empty({3, 4}, at::kInt);
  memory.Born(whole);
  EXPECT_EQ(DefinedElements(memory, whole), "000000000000");
  memory.Written(whole.select(0, 1));
  EXPECT_EQ(DefinedElements(memory, whole), "000011110000");
  memory.Written(whole.slice(1, 0, 4, 2));
  EXPECT_EQ(DefinedElements(memory, whole), "101011111010");
  EXPECT_EQ(memory.FirstUndefined(whole), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(memory.FirstUndefined(whole.t()), (std::vector<int64_t>{1, 0}));
  memory.Written(whole.t());
  EXPECT_FALSE(memory.FirstUndefined(whole));
}

TEST(UndefinedMemoryTest, EveryTypeIsPoisoned) {
  for (uint64_t seed : {0, 1}) {
    for (at::ScalarType type :
         {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kFloat8_e4m3fn, at::kFloat8_e5m2}) {
      UndefinedMemory memory(seed);
      at::Tensor tensor = at::zeros({5}, type);
      memory.Born(tensor);
      double value = tensor.to(at::kDouble)[4].item<double>();
      EXPECT_TRUE(seed == 0 ? std::isnan(value) : value > 400) << tensor.dtype().name();
    }
  }
}

TEST(UndefinedMemoryTest, LeftoversLookLikeNoPoison) {
  for (at::ScalarType type : {at::kFloat, at::kHalf, at::kFloat8_e5m2, at::kComplexFloat, at::kBool,
                              at::kByte, at::kLong, at::kUInt64}) {
    UndefinedMemory memory(3, /*leftovers=*/true);
    std::set<double> seen;
    for (int birth = 0; birth < 20; ++birth) {
      at::Tensor tensor = at::ones({5}, type);
      memory.Born(tensor);
      EXPECT_EQ(memory.FirstUndefined(tensor), std::vector<int64_t>{0});
      const at::Tensor value = at::isComplexType(type) ? at::view_as_real(tensor) : tensor;
      seen.insert(value.to(at::kDouble).flatten()[0].item<double>());
    }
    EXPECT_GT(seen.size(), 1u) << c10::toString(type);
    EXPECT_TRUE(seen.contains(0)) << c10::toString(type);
    EXPECT_LT(std::abs(*seen.rbegin()), 100) << c10::toString(type);
  }
}

TEST(UndefinedMemoryTest, DeadStoragesAreForgotten) {
  UndefinedMemory memory(0);
  at::Tensor tensor = at::empty({4}, at::kInt);
  c10::weak_intrusive_ptr<c10::StorageImpl> storage(tensor.storage().getWeakStorageImpl());
  memory.Born(tensor);
  tensor.reset();
  EXPECT_FALSE(storage.expired());
  memory.Sweep();
  EXPECT_TRUE(storage.expired());
}

}  // namespace
}  // namespace tritogen
