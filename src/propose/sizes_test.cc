#include "propose/sizes.h"

#include <gtest/gtest.h>

#include <set>

#include "program/infer.h"
#include "program/parse.h"
#include "program/print.h"

namespace tritogen {
namespace {

// A convolution, its result flattened, a linear layer whose weight has that length, a mean.
const char* kConvolution = R"(import torch


def program(x, w, weight):
    # x: float32[128, 3, 224, 256]
    # w: float32[16, 3, 3, 3]
    # weight: float32[1000, 899712]
    conv2d = torch.nn.functional.conv2d(x, w, padding=[0, 1])  # float32[128, 16, 222, 256]
    slice = conv2d[:, :, 2:222]  # float32[128, 16, 220, 256]
    reshape = torch.reshape(conv2d, [128, 909312])  # float32[128, 909312]
    relu = torch.relu(reshape)  # float32[128, 909312]
    mean = torch.mean(slice, dim=[0])  # float32[16, 220, 256]
    return (relu, mean)
)";

TEST(WithSmallSizes, SizesFollowFromSizesAndSayWhichOnesTheyAre) {
  const Program program = ParseProgram(kConvolution);
  ASSERT_TRUE(ProblemsOf(program).empty()) << ProblemsOf(program)[0];
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto small = WithSmallSizes(program, 128, seed);
    ASSERT_TRUE(small);
    EXPECT_TRUE(ProblemsOf(small->program).empty());
    const auto& x = small->program.nodes[0].results[0].sizes;
    EXPECT_EQ(x[0], 128);  // not above the largest
    EXPECT_LE(x[2], 125);
    EXPECT_LE(x[3], 125);
    EXPECT_NE(x[2], x[3]);
    std::set<int64_t> numbers;
    for (const auto& [to, from] : small->back) {
      EXPECT_TRUE(numbers.insert(from).second);
      EXPECT_TRUE(to % 4 != 0 || to > 2048) << to;
    }
    EXPECT_EQ(numbers, (std::set<int64_t>{220, 222, 224, 256, 909312}));
    // Taken back, the text is the program's.
    EXPECT_EQ(TakenBack(PrintProgram(small->program), small->back), PrintProgram(program));
  }
  EXPECT_EQ(PrintProgram(WithSmallSizes(program, 128, 3)->program),
            PrintProgram(WithSmallSizes(program, 128, 3)->program));
}

TEST(WithSmallSizes, AWeightOfAFlattenedLengthHasTheProduct) {
  const Program program = ParseProgram(R"(import torch


def program(x, weight):
    # x: float32[4, 512, 300]
    # weight: float32[10, 153600]
    reshape = torch.reshape(x, [4, 153600])  # float32[4, 153600]
    linear = torch.nn.functional.linear(reshape, weight)  # float32[4, 10]
    return linear
)");
  const auto small = WithSmallSizes(program, 64, 1);
  ASSERT_TRUE(small);
  const auto& x = small->program.nodes[0].results[0].sizes;
  EXPECT_EQ(small->program.nodes[1].results[0].sizes, (std::vector<int64_t>{10, x[1] * x[2]}));
  EXPECT_EQ(small->back.at(x[1] * x[2]), 153600);
}

TEST(WithSmallSizes, NothingWhereNothingIsLargeOrNothingFits) {
  const Program program = ParseProgram(kConvolution);
  EXPECT_FALSE(WithSmallSizes(program, 1'000'000, 1));
  // A length that a list of places fixes: no other one is right.
  const Program fixed = ParseProgram(R"(import torch


def program(x):
    # x: float32[4, 512]
    split, split_1 = torch.split(x, [200, 312], dim=1)  # float32[4, 200], float32[4, 312]
    return (split, split_1)
)");
  EXPECT_FALSE(WithSmallSizes(fixed, 128, 1));
}

TEST(TakenBack, WholeNumbersOnly) {
  const std::map<int64_t, int64_t> back = {{37, 4096}, {41, 768}, {4, 4}};
  EXPECT_EQ(TakenBack("N=37, K = 41*37; x37 37x 37_0 1.37 37.5 370 037 37e3 a[37] -37", back),
            "N=4096, K = 768*4096; x37 37x 37_0 1.37 37.5 370 037 37e3 a[4096] -4096");
  EXPECT_EQ(TakenBack("total / 37.0 + 37.00f; 41.", back), "total / 4096.0 + 37.00f; 768.");
  EXPECT_EQ(TakenBack("37", back), "4096");
  EXPECT_EQ(TakenBack("99999999999999999999999999", back), "99999999999999999999999999");
  EXPECT_EQ(TakenBack("", back), "");
}

}  // namespace
}  // namespace tritogen
