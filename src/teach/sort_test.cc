// How lines are sorted, and where they need not be. Whether the kernels are right: tests/teacher,
// tests/e2e/test_sorting.py.
#include <gtest/gtest.h>

#include <tuple>

#include "teach/sort_text.h"
#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

// By networks, or by ranks where 32 bits do not say how an element compares.
TEST(Sort, LongLinesAreSortedInPieces) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kInt64}) {
    for (const int64_t count : {int64_t{20}, int64_t{100000}}) {
      Maker m;
      const NodeId x = m.Leaf(NodeKind::kInput, "x", {4, 100000}, dtype);
      const NodeId top = m.Op("aten::topk", {Ref(x), Arg{count}}, {4, count}, dtype);
      const auto answers = TeachFunction(m.Finish(top), true);
      ASSERT_FALSE(answers.empty()) << count;
      const std::string& source = answers[0].source;
      const bool few = count == 20, network = dtype == Dtype::kFloat32;
      EXPECT_EQ(Says(source, "= by_network("), network) << source;
      EXPECT_EQ(Says(source, "= places_by_rank("), network && few) << source;
      EXPECT_TRUE(Says(source, network ? few ? "* 2048 + " : "* 4096 + "
                               : few   ? "// 256"
                                       : "// 2048"))
          << source;
    }
  }
}

TEST(Sort, NumbersArePackedWhereTheyAreAskedForAndInTheirSize) {
  for (const auto& [dtype, op, wide] :
       {std::tuple{Dtype::kFloat32, "aten::sort", false}, std::tuple{Dtype::kFloat16, "aten::argsort", false},
        std::tuple{Dtype::kFloat32, "aten::argsort", true}}) {
    Maker m;
    const NodeId x = m.Leaf(NodeKind::kInput, "x", {64, 1024}, dtype);
    const bool places = std::string_view(op) == "aten::argsort";
    const auto answers = TeachFunction(
        m.Finish(m.Op(op, {Ref(x), Arg{int64_t{1}}}, {64, 1024}, places ? Dtype::kInt64 : dtype)), true);
    ASSERT_FALSE(answers.empty());
    const std::string& source = answers[0].source;
    EXPECT_EQ(Says(source, ".to(tl.int64) << 32"), wide) << source;
    EXPECT_EQ(CountOf(source, "tl.load("), 1) << "elements are read back from keys: " << source;
  }
}

TEST(Sort, AnswersToLearnFromSortByTheLanguage) {
  Maker m;
  const NodeId x = m.Leaf(NodeKind::kInput, "x", {16, 40});
  const Program program = m.Finish(m.Op("aten::sort", {Ref(x), Arg{int64_t{1}}}, {16, 40}));
  Request request;
  request.program = &program;
  request.is_function = request.strict = request.simple = true;
  const auto answers = Teach(request);
  ASSERT_FALSE(answers.empty());
  for (const Answer& answer : answers) {
    EXPECT_TRUE(Says(answer.source, " = tl.sort(")) << answer.source;
    EXPECT_FALSE(Says(answer.source, "network")) << answer.source;
  }
}

// Places in order are counted from a thread's own registers on, and long lines of 64 bits are sorted by 32.
TEST(Sort, NetworksFitTheirTiles) {
  const auto text = [](int64_t rows, int64_t columns, int warps, bool across, Dtype dtype = Dtype::kInt32) {
    return SortedText("x", dtype, {rows, columns, warps, across});
  };
  EXPECT_EQ(text(1, 2048, 2, false), "by_network(x, 11, 11, 6)");
  EXPECT_EQ(text(1, 32, 1, false), "by_network(x, 5, 5, 0)") << "a thread has one element";
  EXPECT_EQ(text(4, 256, 1, false), "by_network(x, 8, 10, 7)") << "loaded by fours";
  EXPECT_EQ(text(2, 512, 2, false), "by_network(x, 9, 10, 8)") << "both warps share a row";
  EXPECT_EQ(text(16, 64, 1, false), "by_network(x, 6, 10, 0)");
  EXPECT_EQ(text(64, 64, 4, true), "by_network(x, 6, 12, 3)") << "16 threads have a row of fours";
  EXPECT_EQ(text(1, 2048, 4, false, Dtype::kInt64), "by_coarse_keys(x, 11, 7, 4)");
  for (const auto& [rows, columns, warps] :
       {std::tuple{1, 512, 2}, {1, 1024, 1}, {2, 1024, 4}, {1, 1024, 32}})
    EXPECT_TRUE(Says(text(rows, columns, warps, false, Dtype::kInt64), "by_network(")) << rows << columns;
}

// Three of the places of a sorted line, or the running sum of all.
std::string PlacesOf(int64_t length, Dtype dtype = Dtype::kFloat32, bool all = false) {
  Maker m;
  const std::vector<int64_t> lines = {64, length};
  const NodeId x = m.Leaf(NodeKind::kInput, "x", lines, dtype);
  const NodeId sorted = m.Op("aten::sort", {Ref(x), Arg{int64_t{1}}}, lines, dtype);
  NodeId sum = m.Op("aten::select.int", {Ref(sorted), Arg{int64_t{1}}, Arg{int64_t{0}}}, {64}, dtype);
  for (const int64_t place : {length / 2, length - 1}) {
    const NodeId one = m.Op("aten::select.int", {Ref(sorted), Arg{int64_t{1}}, Arg{place}}, {64}, dtype);
    sum = m.Op("aten::add.Tensor", {Ref(sum), Ref(one)}, {64}, dtype);
  }
  if (all) sum = m.Op("aten::cumsum", {Ref(sorted), Arg{int64_t{1}}}, lines, dtype);
  const auto answers = TeachFunction(m.Finish(sum), true);
  return answers.empty() ? "" : answers[0].source;
}

TEST(Selection, SinglePlacesAreFoundWithoutSorting) {
  for (const int64_t length : {300, 20000}) {
    const std::string source = PlacesOf(length);
    EXPECT_FALSE(Says(source, "= by_network(")) << source;
    EXPECT_EQ(CountOf(source, "= key_of_rank("), 1) << "both ends are extrema: " << source;
    EXPECT_EQ(CountOf(source, "_kernel("), 1) << "all in one kernel: " << source;
  }
  EXPECT_TRUE(Says(PlacesOf(20000), "num_warps=32")) << "each of 1,024 elements";
  EXPECT_TRUE(Says(PlacesOf(1024), "num_warps=1"));
}

TEST(Selection, FewPlacesHaveCandidates) {
  for (const auto& [lines, length, count, pieces, kernels] : {std::tuple{4096, 32000, 50, 8, 2},
                                                              {4096, 4000, 50, 1, 2},
                                                              {65536, 256, 8, 1, 2},
                                                              {4, 32000, 50, 16, 2},
                                                              {64, 256, 16, 0, 1},
                                                              {64, 128, 4, 0, 1}}) {
    Maker m;
    const NodeId x = m.Leaf(NodeKind::kInput, "x", {lines, length});
    const NodeId top = m.Op("aten::topk", {Ref(x), Arg{int64_t{count}}}, {lines, count});
    const auto answers = TeachFunction(m.Finish(top), true);
    ASSERT_FALSE(answers.empty());
    const std::string& source = answers[0].source;
    EXPECT_EQ(Says(source, "= places_by_rank("), pieces > 0) << source;
    EXPECT_EQ(CountOf(source, "num_warps="), kernels) << source;
    if (pieces > 1) {
      EXPECT_TRUE(
          Says(source, "torch.empty((" + std::to_string(lines) + ", " + std::to_string(pieces) + ", 64)"))
          << source;
    }
  }
}

TEST(Selection, OtherLinesAreSorted) {
  EXPECT_TRUE(Says(PlacesOf(128), "= by_network(")) << "a network has few steps there";
  EXPECT_FALSE(Says(PlacesOf(300, Dtype::kInt64), "key_of_rank("));
  EXPECT_FALSE(Says(PlacesOf(300, Dtype::kFloat32, true), "key_of_rank(")) << "all places are read";
  EXPECT_FALSE(Says(PlacesOf(40000), "key_of_rank(")) << "no program holds the line";
}

}  // namespace
}  // namespace tritogen::teach
