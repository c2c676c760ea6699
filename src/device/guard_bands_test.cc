#include "device/guard_bands.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "device/random.h"

namespace tritogen {
namespace {

// The bands are made of tensors, so a CPU will do.
const at::Device kHere(at::kCPU);

TEST(GuardBands, FindAWriteBehindAndInFrontOfABuffer) {
  GuardBands guards;
  const at::Tensor buffer = guards.Allocate(1000, kHere);
  buffer.fill_(7);
  EXPECT_EQ(guards.Broken(), std::nullopt);
  uint8_t* data = buffer.mutable_data_ptr<uint8_t>();
  data[1002] = 1;
  EXPECT_EQ(guards.Broken(), "a write 3 bytes behind the end of a buffer of 1000 bytes");
  EXPECT_EQ(guards.Broken(), std::nullopt);  // renewed
  data[-4] = 1;
  EXPECT_EQ(guards.Broken(), "a write 4 bytes in front of a buffer of 1000 bytes");
}

TEST(GuardBands, OfBuffersThatAreGoneAreRemembered) {
  GuardBands guards;
  { const at::Tensor gone = guards.Allocate(64, kHere); }
  const at::Tensor empty = guards.Allocate(0, kHere);
  EXPECT_EQ(guards.Broken(), std::nullopt);
  {
    const at::Tensor gone = guards.Allocate(64, kHere);
    gone.mutable_data_ptr<uint8_t>()[70] = 1;
  }
  EXPECT_EQ(guards.Broken(), "a write beside a buffer that the call was done with");
  EXPECT_EQ(guards.Broken(), std::nullopt);  // renewed
}

TEST(GuardBands, EveryByteOfManyBuffersIsLookedAt) {
  GuardBands guards;
  std::vector<at::Tensor> buffers;  // more than one launch has room for
  for (const int64_t bytes : {0, 1, 2, 3, 4, 5, 508, 509, 510, 511, 512, 513, 1000, 4096}) {
    for (int i = 0; i < 2; ++i) {
      buffers.push_back(guards.Allocate(bytes, kHere));
      buffers.back().fill_(0xff);
    }
  }
  EXPECT_EQ(guards.Broken(), std::nullopt);
  for (const size_t which : {0, 1, 3, 5, 7, 9, 13, 19, 21, 25, 27}) {
    const at::Tensor& buffer = buffers[which];
    auto* data = static_cast<uint8_t*>(buffer.storage().mutable_data());
    const int64_t bytes = static_cast<int64_t>(buffer.nbytes()), room = (bytes + 511) / 512 * 512;
    for (const int64_t at : {int64_t{-4096}, int64_t{-4093}, int64_t{-1}, bytes, bytes + 1, bytes + 2,
                             bytes + 3, room, room + 4095}) {
      data[at] ^= 0x80;
      EXPECT_NE(guards.Broken(), std::nullopt) << bytes << " " << at;
    }
    EXPECT_EQ(guards.Broken(), std::nullopt);
    EXPECT_TRUE(buffer.eq(0xff).all().item<bool>());  // none was hit by the renewal
  }
}

TEST(GuardBands, BuffersThatAreGoneAreLookedAtTogether) {
  for (const int gone : {1, 15, 16, 17, 40}) {
    for (const int hit : {0, gone / 2, gone - 1}) {
      GuardBands guards;
      const at::Tensor alive = guards.Allocate(100, kHere);
      for (int i = 0; i < gone; ++i) {
        const at::Tensor buffer = guards.Allocate(10, kHere);
        if (i == hit) static_cast<uint8_t*>(buffer.storage().mutable_data())[10] = 0;
      }
      if (gone % 2) guards.LetGo();
      EXPECT_EQ(guards.Broken(), "a write beside a buffer that the call was done with");
      EXPECT_EQ(guards.Broken(), std::nullopt);
    }
  }
}

TEST(GuardBands, CopiesKeepValuesAndLayout) {
  GuardBands guards;
  const at::Tensor x = at::randn({5, 7}).t();
  const at::Tensor copy = guards.Copy(x);
  EXPECT_TRUE(copy.equal(x));
  EXPECT_EQ(copy.strides(), x.strides());
  const at::Tensor expanded = guards.Copy(at::randn({1, 4}).expand({3, 4}));
  EXPECT_TRUE(expanded.is_contiguous());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(copy.const_data_ptr()) % 16, 0u);
  copy.fill_(1);
  EXPECT_EQ(guards.Broken(), std::nullopt);
}

TEST(Random, SameSeedSameNumbersInTheirRanges) {
  const Random a(3, kHere), b(3, kHere), c(4, kHere);
  const at::Tensor numbers = a.Uniform({1000}, -2, 5);
  EXPECT_TRUE(numbers.equal(b.Uniform({1000}, -2, 5)));
  EXPECT_FALSE(numbers.equal(c.Uniform({1000}, -2, 5)));
  EXPECT_TRUE(numbers.ge(-2).logical_and(numbers.lt(5)).all().item<bool>());
  EXPECT_TRUE(a.Signs({100}).abs().eq(1).all().item<bool>());
  for (const int64_t few : {2, 6, 64}) EXPECT_EQ(a.BothSigns({few}).sum().item<double>(), 0);
  EXPECT_TRUE(a.BothSigns({3, 100}).abs().eq(1).all().item<bool>());
  EXPECT_TRUE(std::get<0>(a.Permutation(50).sort()).equal(at::arange(50)));
  const at::Tensor places = a.Indices(9, 500);
  EXPECT_TRUE(places.ge(0).logical_and(places.lt(9)).all().item<bool>());
}

}  // namespace
}  // namespace tritogen
