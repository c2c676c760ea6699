// Bands of known bytes in front of and behind the buffers of a GPU replay. What a kernel writes outside its
// buffer lands there and is found; the tile machine, which checks each access, needs none. Every buffer has
// an address of its own choosing, so that none meets the last call's pointers.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tritogen {

class GuardBands {
 public:
  static constexpr int64_t kBandBytes = 4096;

  GuardBands();
  ~GuardBands();

  // A buffer between two bands: a one-dimensional uint8 tensor that owns it, contents undefined. Addresses
  // are multiples of 512, as the allocator's are.
  at::Tensor Allocate(int64_t bytes, at::Device device);

  // The same values in a buffer between bands, in the same layout where that is dense.
  at::Tensor Copy(const at::Tensor& tensor);

  // Number of words in bands that are not what they were, of buffers that are gone as well, on its way: one
  // int32 on the device. Undefined when there never were any.
  at::Tensor CountBroken();
  // Where, when `count`, which is waited for, is not zero. After a finding all bands are renewed.
  std::optional<std::string> Broken(const at::Tensor& count);
  std::optional<std::string> Broken() { return Broken(CountBroken()); }

  // Memory of buffers that are gone is kept until the next count, so that many are looked at together, but at
  // most so much of it. Gives it back; what their bands say stays part of the count.
  static constexpr int64_t kMostKept = int64_t{512} << 20;
  void LetGo();

 private:
  struct Registry;
  std::shared_ptr<Registry> registry_;  // shared with the deleters of the buffers
};

}  // namespace tritogen
