// The lines that a program of a row kernel takes.
#include "teach/row_tiles.h"

#include <gtest/gtest.h>

#include "teach/test_programs.h"

namespace tritogen::teach {
namespace {

// Of a tile of several lines, the transposed one has neighbours in memory.
TEST(RowTiles, LinesAcrossMemoryAreReadSeveralAtATime) {
  Maker m;
  NodeId x = m.Leaf(NodeKind::kInput, "x", {4096, 4096});
  NodeId t = m.Op("aten::t", {Ref(x)}, {4096, 4096});
  auto answers =
      TeachFunction(m.Finish(m.Op("aten::_softmax", {Ref(t), Arg{int64_t{1}}, Arg{false}}, {4096, 4096})));
  ASSERT_FALSE(answers.empty());
  EXPECT_TRUE(Says(answers[0].source, "ROWS=64")) << answers[0].source;
}

}  // namespace
}  // namespace tritogen::teach
