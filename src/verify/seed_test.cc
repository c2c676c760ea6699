// libtorch seeds itself anew in each process: every test of this program draws from a seed of its own
// choosing instead, so that what fails fails again. TRITOGEN_SEED chooses another.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace tritogen {
namespace {

class SeedEachTest : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override {
    const char* seed = std::getenv("TRITOGEN_SEED");
    at::manual_seed(seed != nullptr ? std::strtoull(seed, nullptr, 10) : 7);
  }
};

const bool kInstalled = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new SeedEachTest);
  return true;
}();

TEST(Seed, IsTheSameInEveryRun) {
  ASSERT_TRUE(kInstalled);
  const at::Tensor first = at::rand({4});
  SeedEachTest again;
  static_cast<testing::TestEventListener&>(again).OnTestStart(
      *testing::UnitTest::GetInstance()->current_test_info());
  EXPECT_TRUE(at::rand({4}).equal(first));
}

}  // namespace
}  // namespace tritogen
