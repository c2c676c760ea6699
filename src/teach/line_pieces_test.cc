#include "teach/line_pieces.h"

#include <gtest/gtest.h>

#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

using Numbers = std::vector<int64_t>;

std::optional<LinePieces> Cut(const Numbers& sizes, const Numbers& dims, PieceOptions options = {8192}) {
  View view{0, 0, sizes, Numbers(sizes.size(), 1), {}};
  for (size_t i = sizes.size(); i-- > 1;) view.strides[i - 1] = view.strides[i] * sizes[i];
  return CutLines({view, Dtype::kFloat32}, MarkedDims(dims, static_cast<int64_t>(sizes.size())), options);
}

TEST(LinePieces, AreTheLastElementsOfALine) {
  const auto part = Cut({16, 1000000}, {1});
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->x.sizes(), (Numbers{16, 250, 4000}));
  EXPECT_EQ(part->within, Numbers{2});
  EXPECT_EQ(part->of_line, Numbers{1});
  EXPECT_EQ(part->length, 4000);

  const auto several = Cut({8, 16384, 64, 3}, {});
  ASSERT_TRUE(several.has_value());
  EXPECT_EQ(several->x.sizes(), (Numbers{8, 1024, 16, 64, 3}));
  EXPECT_EQ(several->within, (Numbers{2, 3, 4}));
  EXPECT_EQ(several->of_line, (Numbers{0, 1}));
  EXPECT_EQ(several->length, 16 * 64 * 3);

  const auto with_lines_between = Cut({16384, 64, 8}, {0, 2});
  ASSERT_TRUE(with_lines_between.has_value());
  EXPECT_EQ(with_lines_between->x.sizes(), (Numbers{32, 512, 64, 8}));
  EXPECT_EQ(with_lines_between->within, (Numbers{1, 3}));
}

TEST(LinePieces, AcrossMemoryAreShort) {
  EXPECT_EQ(Cut({7, 65536, 4}, {1})->x.sizes(), (Numbers{7, 256, 256, 4}));
  EXPECT_EQ(Cut({16384, 3, 3, 3}, {0, 2})->length, 64 * 3);
  EXPECT_EQ(Cut({19 * 863, 30}, {0})->length, 863) << "where there is no shorter one";
  EXPECT_TRUE(LinesAlong({7, 65536, 4}, {false, true, false}).across);
  EXPECT_FALSE(LinesAlong({7, 65536, 1}, {false, true, false}).across);
}

TEST(LinePieces, ALastDimensionStays) {
  EXPECT_EQ(Cut({4096, 512}, {}, {8192, true})->length, 512);
  EXPECT_EQ(Cut({4096, 512}, {})->length, 4096);
  EXPECT_EQ(Cut({4096, 6000}, {})->length, 6000);
}

TEST(LinePieces, MayBeOfWholeDimensionsOnly) {
  const PieceOptions whole{.longest_whole = 8192, .cuts_dimensions = false};
  const auto pieces = Cut({8, 16384, 64, 3}, {}, whole);
  ASSERT_TRUE(pieces.has_value());
  EXPECT_EQ(pieces->x.sizes(), (Numbers{8, 16384, 64, 3}));
  EXPECT_EQ(pieces->within, (Numbers{2, 3}));
  EXPECT_EQ(pieces->of_line, (Numbers{0, 1}));
  EXPECT_EQ(Cut({4096, 393216}, {}, whole)->length, 393216) << "the last is never cut";
  EXPECT_FALSE(Cut({16, 1000000}, {1}, whole).has_value()) << "a line of one dimension";
}

TEST(LinePieces, AreNotMadeOfWhatHasNoDivisors) {
  EXPECT_FALSE(Cut({3, 99991}, {1}).has_value()) << "a prime";
  EXPECT_FALSE(Cut({3, 5}, {1}).has_value()) << "a piece is the line";
}

TEST(LineParts, AreAllButLittleAndTheRest) {
  const auto parts = [](const Numbers& sizes, const Numbers& dims) {
    View view = ContiguousView(0, sizes);
    return PartLines({view, Dtype::kFloat32}, MarkedDims(dims, static_cast<int64_t>(sizes.size())), {8192});
  };
  const auto prime = parts({3, 99991}, {1});
  ASSERT_TRUE(prime.has_value());
  EXPECT_EQ(prime->first.sizes(), (Numbers{3, 24 * 4096}));
  EXPECT_EQ(prime->rest.sizes(), (Numbers{3, 99991 - 24 * 4096}));
  EXPECT_EQ(prime->rest.view.offset, 24 * 4096);
  EXPECT_EQ(parts({900007, 3}, {0})->first.sizes(), (Numbers{3515 * 256, 3}));
  EXPECT_LT(parts({2, 10007}, {1})->rest.sizes()[1], 32) << "of few pieces a length that leaves little";
  EXPECT_FALSE(parts({3, 5003}, {1}).has_value()) << "a program holds it";
}

TEST(LinePieces, AreWholeLastDimensionsWhereThereAreMany) {
  const auto pieces = Cut({3001, 10007}, {});
  ASSERT_TRUE(pieces.has_value());
  EXPECT_EQ(pieces->length, 10007);
  EXPECT_FALSE(Cut({30, 10007}, {}).has_value());
}

TEST(LinePieces, FewLinesAreThoseThatKeepFewProgramsBusy) {
  EXPECT_TRUE((ReducedLines{8, 1 << 20, false}.AreFew()));
  EXPECT_FALSE((ReducedLines{1000, 1 << 20, false}.AreFew()));
  EXPECT_TRUE((ReducedLines{1000, 1 << 20, true}.AreFew())) << "16 programs walk along 64 lines each";
  EXPECT_FALSE((ReducedLines{8, 6000, false}.AreFew()));
  EXPECT_TRUE((ReducedLines{49, 6144, true}.AreFew())) << "7 programs walk along 7 lines each";
}

std::string Told(const std::string& op, const Numbers& sizes, std::vector<Arg> more, const Numbers& out) {
  Maker m;
  std::vector<Arg> args = {Ref(m.Leaf(NodeKind::kInput, "x", sizes))};
  args.insert(args.end(), more.begin(), more.end());
  return TeachFunction(m.Finish(m.Op(op, args, out)), true).at(0).source;
}

TEST(LinePieces, PlacesOfExtremaAreFoundInPieces) {
  const std::string source = Told("aten::argmin", {128, 4096, 64}, {}, {});
  EXPECT_EQ(CountOf(source, "num_warps="), 2) << source;
  EXPECT_EQ(CountOf(source, "for "), 0) << source;
}

// Few lines side by side are shared out among programs, as far as what they read fills sectors.
TEST(LinePieces, FewLinesAcrossMemoryHaveSmallTiles) {
  EXPECT_TRUE(
      Says(Told("aten::amax", {4, 512, 64}, {Ints({1}), Arg{false}}, {4, 64}), "triton.cdiv(4 * 64, 8)"));
  EXPECT_TRUE(
      Says(Told("aten::amax", {7, 1024, 4}, {Ints({1}), Arg{false}}, {7, 4}), "triton.cdiv(7 * 4, 4)"));
  EXPECT_TRUE(Says(Told("aten::amax", {512, 512, 64}, {Ints({1}), Arg{false}}, {512, 64}),
                   "triton.cdiv(512 * 64, 32)"));
  EXPECT_TRUE(Says(Told("aten::amax", {2048, 512, 64}, {Ints({1}), Arg{false}}, {2048, 64}),
                   "triton.cdiv(2048 * 64, 64)"));
}

}  // namespace
}  // namespace tritogen::teach
