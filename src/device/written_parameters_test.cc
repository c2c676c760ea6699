#include "device/written_parameters.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace tritogen {
namespace {

// Indices of the parameters that a golden kernel may write.
std::vector<int> WrittenBy(const std::string& name) {
  std::ifstream file(TRITOGEN_SOURCE_DIR "/tests/golden/ttir/" + name + ".ttir");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<bool> written = WrittenParameters(tile::ParseTtir(text));
  std::vector<int> indices;
  for (size_t i = 0; i < written.size(); ++i) {
    if (written[i]) indices.push_back(static_cast<int>(i));
  }
  return indices;
}

TEST(WrittenParametersTest, FollowsPointersToTheirParameters) {
  EXPECT_EQ(WrittenBy("matmul_fp16_ieee"), std::vector<int>({2}));  // pointers carried by the loop
  EXPECT_EQ(WrittenBy("whiles"), std::vector<int>({1, 2}));         // a store in a branch
  EXPECT_EQ(WrittenBy("host_descriptor"), std::vector<int>({5}));
  EXPECT_EQ(WrittenBy("last_program_reduces"), std::vector<int>({1, 2, 3}));  // stores and an atomic
}

TEST(WrittenParametersTest, UnclearOriginsCountAsEveryParameter) {
  EXPECT_EQ(WrittenBy("pointer_table"), std::vector<int>({0, 1, 2, 3}));
  EXPECT_EQ(WrittenBy("calls"), std::vector<int>({0, 1, 2}));
}

}  // namespace
}  // namespace tritogen
