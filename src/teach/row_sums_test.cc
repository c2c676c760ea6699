// What is made of each row, and only summed.
#include "teach/row_sums.h"

#include <gtest/gtest.h>

#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

std::string SourceOf(const Program& program) {
  const auto answers = TeachFunction(program, true);
  return answers.empty() ? "" : answers[0].source;
}

NodeId LargestOfRows(Maker& m, int64_t rows, int64_t columns) {
  NodeId x = m.Leaf(NodeKind::kInput, "x", {rows, columns});
  return m.Op(
      "aten::amax",
      {Ref(m.Op("aten::_softmax", {Ref(x), Arg{int64_t{1}}, Arg{false}}, {rows, columns})), Ints({1})},
      {rows});
}

TEST(RowSums, ProgramsStoreTheSumOfTheirRows) {
  Maker m;
  NodeId rows = LargestOfRows(m, 65536, 100);
  // The function `larger`, the rows, the mean.
  const std::string source = SourceOf(m.Finish(m.Op("aten::mean", {Ref(rows)}, {})));
  EXPECT_EQ(CountOf(source, "@triton.jit"), 3) << source;
  EXPECT_TRUE(Says(source, "tl.store(part_ptr + tl.program_id(0), part)")) << source;
  EXPECT_TRUE(Says(source, "part = torch.empty((8192,)")) << source;
  EXPECT_FALSE(Says(source, "65536,)")) << source;
}

TEST(RowSums, RowsBeyondTheLastCountNothing) {
  Maker m;
  NodeId rows = LargestOfRows(m, 203, 60);
  const std::string source = SourceOf(m.Finish(m.Op("aten::sum", {Ref(rows)}, {})));
  EXPECT_TRUE(Says(source, "tl.sum(tl.where(row_mask, amax, 0.0))")) << source;
}

TEST(RowSums, AProgramsRowsAreOfOneLine) {
  for (const int64_t length : {32, 36}) {
    Maker m;
    NodeId rows = LargestOfRows(m, 40 * length, 60);
    NodeId lines = m.Op("aten::view", {Ref(rows), Ints({40, length})}, {40, length});
    const std::string source =
        SourceOf(m.Finish(m.Op("aten::sum.dim_IntList", {Ref(lines), Ints({1})}, {40})));
    EXPECT_EQ(Says(source, "part_ptr"), length == 32) << source;
  }
}

// One row in a program has nothing to be summed with, and who needs rows themselves reads them.
TEST(RowSums, RowsThatAreNeededAreStored) {
  Maker m;
  NodeId rows = LargestOfRows(m, 65536, 100);
  NodeId mean = m.Op("aten::mean", {Ref(rows)}, {});
  const std::string source = SourceOf(m.Finish(m.Op("aten::sub.Tensor", {Ref(rows), Ref(mean)}, {65536})));
  EXPECT_TRUE(Says(source, "tl.store(amax_ptr + rows, amax)")) << source;
  EXPECT_TRUE(Says(source, "tl.store(part_ptr")) << source;
  Maker long_rows;
  rows = LargestOfRows(long_rows, 4096, 32000);
  EXPECT_FALSE(Says(SourceOf(long_rows.Finish(long_rows.Op("aten::mean", {Ref(rows)}, {}))), "part_ptr"));
}

}  // namespace
}  // namespace tritogen::teach
