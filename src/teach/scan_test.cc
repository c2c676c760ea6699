// How long lines are scanned. Whether the kernels are right: tests/teacher, tests/e2e/test_scans.py.
#include <gtest/gtest.h>

#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

TEST(Scan, ManyLongLinesAreWalkedAlongOnceForAScan) {
  Maker m;
  const std::vector<int64_t> sizes = {300, 5000};
  const Arg last{Arg::List{Arg{int64_t{1}}}};
  NodeId x = m.Leaf(NodeKind::kInput, "x", sizes), y = m.Leaf(NodeKind::kInput, "y", sizes);
  NodeId mul = m.Op("aten::mul.Tensor", {Ref(x), Ref(y)}, sizes);
  auto answers = TeachFunction(m.Finish(m.Op("aten::cumsum", {Ref(mul), Arg{int64_t{1}}}, sizes)));
  ASSERT_FALSE(answers.empty());
  EXPECT_EQ(answers[0].source.find("@triton.jit"), answers[0].source.rfind("@triton.jit"));
  EXPECT_NE(answers[0].source.find("+= tl.sum("), std::string::npos) << answers[0].source;
  // From the last element on: no flip is left.
  NodeId flip = m.Op("aten::flip", {Ref(mul), last}, sizes);
  NodeId scan = m.Op("aten::cumsum", {Ref(flip), Arg{int64_t{1}}}, sizes);
  answers = TeachFunction(m.Finish(m.Op("aten::flip", {Ref(scan), last}, sizes)));
  ASSERT_FALSE(answers.empty());
  EXPECT_EQ(answers[0].source.find("@triton.jit"), answers[0].source.rfind("@triton.jit"));
  EXPECT_NE(answers[0].source.find("reverse=True"), std::string::npos) << answers[0].source;
}

TEST(Scan, WhatIsReducedOfAWalkIsAnotherKernel) {
  Maker m;
  const std::vector<int64_t> sizes = {300, 5000};
  NodeId x = m.Leaf(NodeKind::kInput, "x", sizes);
  NodeId scan = m.Op("aten::cumsum", {Ref(x), Arg{int64_t{1}}}, sizes);
  NodeId most = m.Op("aten::amax", {Ref(scan), Arg{Arg::List{Arg{int64_t{1}}}}, Arg{false}}, {300});
  const auto answers = TeachFunction(m.Finish(most));
  ASSERT_FALSE(answers.empty());
  EXPECT_NE(answers[0].source.find("@triton.jit"), answers[0].source.rfind("@triton.jit"));
}

// Pieces without a rest: their totals alone are stored before each is scanned.
TEST(Scan, FewLongLinesInMemoryAreReadTwiceAndWrittenOnce) {
  for (const int64_t length : {int64_t{1} << 24, int64_t{1000000}, int64_t{1000003}}) {
    Maker m;
    const NodeId x = m.Leaf(NodeKind::kInput, "x", {length});
    const auto answers = TeachFunction(m.Finish(m.Op("aten::cumsum", {Ref(x), Arg{int64_t{0}}}, {length})));
    ASSERT_FALSE(answers.empty());
    const std::string& source = answers[0].source;
    EXPECT_EQ(CountOf(source, "@triton.jit"), 3) << source;
    EXPECT_EQ(Says(source, "tl.sum("), length != 1000003) << source;
  }
}

TEST(Scan, FewLongLinesAreCutIntoPieces) {
  Maker m;
  const std::vector<int64_t> sizes = {3, 50021};
  NodeId x = m.Leaf(NodeKind::kInput, "x", sizes);
  const auto answers = TeachFunction(m.Finish(m.Op("aten::cumsum", {Ref(x), Arg{int64_t{1}}}, sizes)));
  ASSERT_FALSE(answers.empty());
  EXPECT_NE(answers[0].source.find("// 1024"), std::string::npos) << answers[0].source;
}

// A program reads several lines at once, so that neighbours in memory are read together.
TEST(Scan, LinesAcrossMemoryAreWalkedInTilesOrCutShort) {
  for (const auto& [sizes, text] : {std::pair{std::vector<int64_t>{16, 512, 2048}, "ROWS=64, BLOCK=64"},
                                    std::pair{std::vector<int64_t>{4096, 2048}, "// 128"}}) {
    Maker m;
    const int64_t dim = static_cast<int64_t>(sizes.size()) - 2;
    NodeId x = m.Leaf(NodeKind::kInput, "x", sizes);
    const auto answers = TeachFunction(m.Finish(m.Op("aten::cumsum", {Ref(x), Arg{dim}}, sizes)));
    ASSERT_FALSE(answers.empty());
    EXPECT_TRUE(Says(answers[0].source, text)) << answers[0].source;
  }
}

}  // namespace
}  // namespace tritogen::teach
