#include "cuda/known_faults.h"

#include <cstdint>
#include <cstring>

namespace tritogen::cuda {
namespace {

// An instruction is 16 bytes; code begins at a multiple of that.
struct Instruction {
  uint64_t low, high;
};

constexpr uint64_t kOpcode = 0xfff, kAddImmediate = 0x836;  // VIADD
constexpr uint64_t kFlags = 0xffffffff, kOfPairs = 0x200;   // .16x2

}  // namespace

int LostConstants(std::string_view cubin) {
  int found = 0;
  for (size_t at = 0; at + sizeof(Instruction) <= cubin.size(); at += sizeof(Instruction)) {
    Instruction one;
    std::memcpy(&one, cubin.data() + at, sizeof one);
    const uint64_t constant = one.low >> 32;
    found += (one.low & kOpcode) == kAddImmediate && constant == 0 && (one.high & kFlags) == kOfPairs;
  }
  return found;
}

}  // namespace tritogen::cuda
