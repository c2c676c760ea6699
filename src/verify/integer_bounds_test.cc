#include "verify/integer_bounds.h"

#include <gtest/gtest.h>

#include "plan/visit.h"
#include "verify/test_sketch.h"

namespace tritogen {
namespace {

// Rows of a table of 50 by what `steps` make of i; they return the places.
struct Program {
  Sketch sketch;
  int i = sketch.Input("int64", {8}, {1});
  int Tensor(const char* dtype = "int64") { return sketch.Tensor(dtype, {8}, {1}); }
  int Call(const char* op, const json& args, const char* dtype = "int64",
           const json& kwargs = json::object()) {
    const int made = Tensor(dtype);
    sketch.Step("run", op, args, {made}, kwargs);
    return made;
  }
  bool Within(int places, int64_t value) {
    Sketch read = sketch;
    const int table = read.Input("float32", {50, 3}, {3, 1}), rows = read.Tensor("float32", {8, 3}, {3, 1});
    read.Step("run", "aten::embedding", {T(table), T(places)}, {rows});
    read.Output(rows);
    const Plan plan = read.Build();
    return StaysWithinBounds(plan, TensorLeaves(plan.inputs)[0], value);
  }
};

TEST(IntegerBounds, AreThoseOfATable) {
  Program program;
  EXPECT_TRUE(program.Within(program.i, 0) && program.Within(program.i, 49));
  EXPECT_FALSE(program.Within(program.i, -1) || program.Within(program.i, 50));
}

TEST(IntegerBounds, AreKeptByAChoice) {
  Program program;
  const int valid = program.Call("aten::ge.Scalar", {T(program.i), 0}, "bool");
  const int zeros = program.Call("aten::zeros_like", json::array({T(program.i)}));
  const int safe = program.Call("aten::where.self", {T(valid), T(program.i), T(zeros)});
  EXPECT_TRUE(program.Within(safe, -1) && program.Within(safe, 49));
  EXPECT_FALSE(program.Within(safe, 50));
  const int invalid = program.Call("aten::logical_not", json::array({T(valid)}), "bool");
  EXPECT_TRUE(program.Within(program.Call("aten::masked_fill.Scalar", {T(program.i), T(invalid), 3}), -1));
  EXPECT_FALSE(program.Within(program.Call("aten::masked_fill.Scalar", {T(program.i), T(valid), 3}), -1));
}

TEST(IntegerBounds, AreKeptByAClamp) {
  Program program;
  const int before = program.Call("aten::sub.Tensor", {T(program.i), 1});
  const int clamped = program.Call("aten::clamp", {T(before), 0});
  EXPECT_FALSE(program.Within(before, 0));
  EXPECT_TRUE(program.Within(clamped, 0) && program.Within(clamped, 50));
  EXPECT_FALSE(program.Within(clamped, 51)) << "it has no other end";
}

TEST(IntegerBounds, AreNotKnownWhereOtherNumbersAreAddedOrDividedBy) {
  Program program;
  const int other = program.Tensor();
  program.sketch.Step("run", "aten::ones", json::array({json::array({8})}), {other});
  EXPECT_FALSE(program.Within(program.Call("aten::add.Tensor", {T(program.i), T(other)}), 3));
  Program divides;
  const int one = divides.Tensor();
  divides.sketch.Step("run", "aten::ones", json::array({json::array({8})}), {one});
  divides.Call("aten::remainder.Tensor", {T(one), T(divides.i)});
  EXPECT_FALSE(divides.Within(divides.i, 0)) << "nothing is divided by 0";
  Program counts;
  const int ones = counts.Tensor();
  counts.sketch.Step("run", "aten::ones", json::array({json::array({8})}), {ones});
  counts.Call("aten::div.Tensor", {T(ones), T(counts.i)}, "float32");
  EXPECT_TRUE(counts.Within(counts.i, 0)) << "but floats";
}

}  // namespace
}  // namespace tritogen
