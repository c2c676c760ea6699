#include "cuda/known_faults.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace tritogen::cuda {
namespace {

std::string CodeOf(std::initializer_list<uint64_t> words) {
  std::string code;
  for (const uint64_t word : words) code.append(reinterpret_cast<const char*>(&word), sizeof word);
  return code;
}

// As cuobjdump shows them.
TEST(KnownFaults, ConstantsOfPairsThatBecameZero) {
  const std::string lost = CodeOf({0x0000000008027836, 0x000fe20000000200});  // VIADD.16x2 R2, R8, 0x0
  EXPECT_EQ(LostConstants(lost), 1);
  EXPECT_EQ(LostConstants(CodeOf({0xfffefffde4e57836, 0x000fe20000000200})), 0);  // …, 0xfffefffd
  EXPECT_EQ(LostConstants(CodeOf({0x0000000008027836, 0x000fe20000000000})), 0);  // one of 32 bits
  EXPECT_EQ(LostConstants(std::string(64, '\0') + lost + lost), 2);
  EXPECT_EQ(LostConstants(lost.substr(0, 15)), 0);
  EXPECT_EQ(LostConstants(""), 0);
}

}  // namespace
}  // namespace tritogen::cuda
