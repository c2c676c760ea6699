#include "verify/asked_integers.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "plan/visit.h"
#include "verify/asked_values.h"
#include "verify/test_sketch.h"

namespace tritogen {
namespace {

using Integers = std::vector<int64_t>;

struct Program {
  explicit Program(const char* dtype = "int64") : i(sketch.Input(dtype, {8, 4}, {4, 1})) {}
  int Tensor(const char* dtype = "int64") { return sketch.Tensor(dtype, {8, 4}, {4, 1}); }
  int Table() { return sketch.Input("float32", {50, 3}, {3, 1}); }
  int Read(int table, int places) {
    const int rows = sketch.Tensor("float32", {8, 4, 3}, {12, 3, 1});
    sketch.Step("run", "aten::embedding", {T(table), T(places)}, {rows});
    return rows;
  }
  AskedIntegers Asked(int output) {
    sketch.Output(output);
    const Plan plan = sketch.Build();
    return AskedIntegersOf(plan, TensorLeaves(plan.inputs)[0]);
  }

  Sketch sketch;
  int i;
};

TEST(AskedIntegers, AreComparedWithAndBehindBounds) {
  Program program;
  const int mask = program.Tensor("bool"), bound = program.Tensor();
  program.sketch.Step("run", "aten::eq.Scalar", {T(program.i), 7}, {mask});
  program.sketch.Step("run", "aten::clamp", {T(program.i), 1, 49}, {bound});
  program.sketch.Output(mask);
  const AskedIntegers asked = program.Asked(program.Read(program.Table(), bound));
  EXPECT_EQ(asked.named, Integers({0, 7, 50})) << "what comes out of a bound may be read by";
  EXPECT_FALSE(asked.within_generated);
}

TEST(AskedIntegers, AreAmongTheChoices) {
  Program program;
  const int mask = program.Tensor("bool"), other = program.Tensor("bool");
  program.sketch.Step("run", "aten::ne.Scalar", {T(program.i), -1}, {mask});
  program.sketch.Step("run", "aten::eq.Scalar", {T(program.i), 0}, {other});
  const AskedIntegers asked = program.Asked(program.Read(program.Table(), program.i));
  EXPECT_EQ(asked.named, Integers({0})) << "no row of the table is that of -1";
}

TEST(AskedIntegers, StayWithinTheGeneratedWhereMoreIsDoneWithThem) {
  Program program;
  const int mask = program.Tensor("bool"), sum = program.Tensor();
  program.sketch.Step("run", "aten::eq.Scalar", {T(program.i), 60}, {mask});
  program.sketch.Step("run", "aten::add.Scalar", {T(program.i), 1}, {sum});
  const AskedIntegers asked = program.Asked(program.Read(program.Table(), sum));
  EXPECT_TRUE(asked.within_generated);
  EXPECT_FALSE(asked.whole_range);
}

TEST(AskedIntegers, AreWhatALossIgnores) {
  for (const int64_t ignored : {255, -100}) {
    Sketch sketch;
    const int labels = sketch.Input("int64", {8}, {1}), scores = sketch.Input("float32", {8, 4}, {4, 1});
    const int loss = sketch.Tensor("float32", {}, {});
    sketch.Step("run", "aten::cross_entropy_loss", {T(scores), T(labels), nullptr, 1, ignored, 0.0}, {loss});
    sketch.Output(loss);
    const Plan plan = sketch.Build();
    const AskedIntegers asked = AskedIntegersOf(plan, TensorLeaves(plan.inputs)[0]);
    EXPECT_EQ(asked.named, ignored == -100 ? Integers() : Integers({255})) << "the default names nothing";
  }
}

TEST(AskedIntegers, OfAByteAreAllWhereItIsOnlyComputedWith) {
  for (const char* shift : {"", "aten::bitwise_left_shift.Tensor", "aten::__lshift__.Tensor"}) {
    const bool shifts = *shift != 0;
    Program program("uint8");
    const int wide = program.Tensor("int32"), sum = program.Tensor("int32");
    program.sketch.Step("run", "aten::_to_copy", {T(program.i)}, {wide});
    const json args =
        shifts ? json{T(program.sketch.Input("int32", {8, 4}, {4, 1})), T(wide)} : json{T(wide), 3};
    program.sketch.Step("run", shifts ? shift : "aten::mul.Scalar", args, {sum});
    EXPECT_EQ(program.Asked(sum).whole_range, !shifts) << "nobody shifts by 200 bits";
  }
}

TEST(AskedIntegers, AreWhatBagsLeaveOut) {
  Sketch sketch;
  const int i = sketch.Input("int64", {8}, {1}), bags = sketch.Input("int64", {2}, {1});
  const int weight = sketch.Input("float32", {50, 4}, {4, 1}), y = sketch.Tensor("float32", {2, 4}, {4, 1});
  sketch.Step("run", "aten::_embedding_bag", {T(weight), T(i), T(bags), false, 1, false, nullptr, false, 7},
              {y});
  sketch.Output(y);
  const Plan plan = sketch.Build();
  const AskedIntegers asked = AskedIntegersOf(plan, TensorLeaves(plan.inputs)[0]);
  EXPECT_EQ(asked.choices, 50);
  EXPECT_EQ(asked.named, Integers({7}));
  EXPECT_FALSE(AskedIntegersOf(plan, TensorLeaves(plan.inputs)[1]).choices) << "offsets";
}

TEST(AskedIntegers, ChooseWhereSomethingIsWritten) {
  for (const char* op : {"aten::scatter_add", "aten::scatter_add_"}) {
    Program program;
    const int rows = program.sketch.Tensor("float32", {50, 4}, {4, 1});
    const int written = program.sketch.Tensor("float32", {50, 4}, {4, 1}, *(op + 17) ? rows : -1);
    const int values = program.sketch.Input("float32", {8, 4}, {4, 1});
    program.sketch.Step("run", "aten::zeros", {json::array({50, 4})}, {rows});
    program.sketch.Step("run", op, {T(rows), 0, T(program.i), T(values)}, {written});
    const AskedIntegers asked = program.Asked(written);
    EXPECT_EQ(asked.choices, 50) << op;
    EXPECT_TRUE(asked.writes);
  }
  Asked asked;
  asked.integers = {.choices = 50, .writes = true};
  const at::Tensor places = at::tensor({3, 4, 9, 5, 3, 8}).view({2, 3});
  EXPECT_TRUE(PlantAsked({asked}, {places}, 3, 1)[0].equal(at::tensor({0, 4, 49, 5, 0, 8}).view({2, 3})))
      << "the least and the largest of all: columns may be distinct";
}

TEST(AskedIntegers, AreLookedForAmongNumbers) {
  for (const int start : {0, 1}) {
    Program program;
    const int one = program.sketch.Tensor("int64", {8, 4, 1}, {4, 1, 1}),
              numbers = program.sketch.Tensor("int64", {100}, {1}),
              hot = program.sketch.Tensor("bool", {8, 4, 100}, {400, 100, 1});
    program.sketch.Step("run", "aten::arange.start", {start, 100 + start}, {numbers});
    program.sketch.Step("run", "aten::unsqueeze", {T(program.i), -1}, {one});
    program.sketch.Step("run", "aten::eq.Tensor", {T(one), T(numbers)}, {hot});
    EXPECT_EQ(program.Asked(hot).choices, start == 0 ? std::optional<int64_t>(100) : std::nullopt);
  }
}

TEST(AskedIntegers, ThatTurnAComparisonArePlantedWithTheirNeighbours) {
  Asked asked;
  const at::Tensor x = at::randint(5, 60, {64}, at::kLong), few = at::tensor({7, 30, 9, 8});
  const auto planted = [&](ComparedInteger compared, const at::Tensor& generated) {
    asked.integers = {.compared = {std::move(compared)}};
    return PlantAsked({asked}, {generated}, 3, 1)[0];
  };
  EXPECT_TRUE(planted({"aten::ge", 0, {-1, 0, 1}}, x).eq(-1).any().item<bool>());
  EXPECT_TRUE(planted({"aten::gt", 0, {0, 1}}, few).eq(0).any().item<bool>())
      << "though there is room for one";
  EXPECT_FALSE(PlantAsked({asked}, {few}, 3, 0.5)[0].eq(0).any().item<bool>()) << "but not at less strength";
  EXPECT_TRUE(planted({"aten::ge", 0, {}}, x).equal(x)) << "who knows what is read by it";
  EXPECT_TRUE(planted({"aten::eq", 0, {}}, x).equal(x));
  const at::Tensor between = planted({"aten::lt", 30, {}}, x);
  for (const int value : {29, 30, 31}) EXPECT_TRUE(between.eq(value).any().item<bool>()) << value;
  const at::Tensor in_order = planted({"aten::ge", 0, {-1, 0, 1}}, at::arange(64));
  EXPECT_TRUE(in_order.slice(0, 1).equal(at::arange(1, 64))) << "they may be places";
  EXPECT_EQ(in_order[0].item<int>(), -1);
  const at::Tensor flags = at::randint(0, 2, {64}, at::kLong);
  EXPECT_LE(planted({"aten::gt", 0, {-1, 0, 1}}, flags).max().item<int>(), 1);
  EXPECT_GE(planted({"aten::gt", 0, {-1, 0, 1}}, flags).min().item<int>(), 0) << "a mask has both";
}

TEST(AskedIntegers, AreFlagsWhereNoOtherNumberMatters) {
  for (const int label : {0, 1, 2}) {
    Program program;
    const int mask = program.Tensor("bool"), kept = program.Tensor("float32");
    program.sketch.Step("run", "aten::eq.Scalar", {T(program.i), label}, {mask});
    program.sketch.Step("run", "aten::_to_copy", {T(program.i)}, {kept});
    program.sketch.Output(mask);
    EXPECT_EQ(program.Asked(kept).flags, label < 2) << label;
  }
}

TEST(AskedIntegers, ThatAreAllAlikeChooseTheFirstAndTheLast) {
  const Asked chooses{.integers = {.choices = 5}};
  const at::Tensor zeros = at::zeros({2, 3}, at::kInt), planted = PlantAsked({chooses}, {zeros}, 3, 1)[0];
  EXPECT_TRUE(planted.equal(at::tensor({0, 0, 0, 4, 4, 4}, at::kInt).view({2, 3})));
}

TEST(AskedIntegers, ArePlantedAndDrawn) {
  const at::Tensor bytes = at::randint(0, 10, {64, 64}, at::kByte),
                   flags = at::randint(0, 2, {64}, at::kByte);
  const at::Tensor labels = at::randint(0, 1000, {64}, at::kLong);
  Asked whole, ignored, between;
  whole.integers.whole_range = true;
  ignored.integers.named = {1005, -1};
  between.integers = {.named = {1005, 500}, .within_generated = true};
  const auto planted = PlantAsked({whole, whole, ignored, between}, {bytes, flags, labels, labels}, 3, 1);
  EXPECT_GT(planted[0].max().item<int>(), 250);
  EXPECT_LT(planted[0].min().item<int>(), 5);
  EXPECT_TRUE(planted[1].equal(flags)) << "two numbers may be flags";
  EXPECT_EQ(planted[2].eq(1005).sum().item<int>(), 2);
  EXPECT_EQ(planted[2].eq(-1).sum().item<int>(), 2);
  EXPECT_EQ(planted[2].ne(labels).sum().item<int>(), 4);
  EXPECT_FALSE(planted[3].eq(1005).any().item<bool>());
  EXPECT_TRUE(planted[3].eq(500).any().item<bool>());
}

TEST(AskedIntegers, AreFarNumbersWhereTheyAreOnlyComputedWith) {
  const auto far = [](const char* op, const json& other, const char* dtype) {
    Program program;
    const int quotient = program.Tensor(), y = program.Tensor(dtype);
    program.sketch.Step("run", "aten::floor_divide.Scalar", {T(program.i), 4}, {quotient});
    program.sketch.Step("run", op, {T(quotient), other}, {y});
    const AskedIntegers asked = program.Asked(y);
    EXPECT_FALSE(asked.negative) << "Triton divides in its own way";
    return asked.far_numbers;
  };
  EXPECT_TRUE(far("aten::mul.Scalar", 3, "int64"));
  EXPECT_TRUE(far("aten::mul.Tensor", T(0), "int64"));
  EXPECT_FALSE(far("aten::mul.Scalar", 0.5, "float32")) << "times and angles may be meant";
  Program shifted;
  const int bits = shifted.Tensor();
  shifted.sketch.Step("run", "aten::__rshift__.Scalar", {T(shifted.i), 2}, {bits});
  EXPECT_TRUE(shifted.Asked(bits).negative);
  Program lengths;
  const int places = lengths.sketch.Input("int64", {4}, {1}), mask = lengths.Tensor("bool");
  lengths.sketch.Step("run", "aten::lt.Tensor", {T(places), T(lengths.i)}, {mask});
  EXPECT_FALSE(lengths.Asked(mask).far_numbers);
}

TEST(AskedIntegers, SinkWhereTheyAreTakenForTheirSize) {
  const auto asked = [](const char* op, const char* dtype) {
    Program program(dtype);
    const int y = program.sketch.Tensor(dtype, {8}, {1}), places = program.sketch.Tensor("int64", {8}, {1});
    program.sketch.Step("run", op, {T(program.i), -1}, {y, places});
    return program.Asked(y);
  };
  EXPECT_TRUE(asked("aten::max.dim", "int64").sinks);
  EXPECT_FALSE(asked("aten::max.dim", "int64").ranked);
  EXPECT_TRUE(asked("aten::median.dim", "int32").sinks);
  EXPECT_TRUE(asked("aten::median.dim", "int32").ranked) << "they may be categories";
  EXPECT_FALSE(asked("aten::max.dim", "int8").sinks);
  EXPECT_FALSE(asked("aten::sum.dim_IntList", "int64").sinks);
  Program places;
  const int rows = places.Read(places.Table(), places.i), sorted = places.Tensor(), order = places.Tensor();
  places.sketch.Step("run", "aten::sort", {T(places.i), -1, false}, {sorted, order});
  places.sketch.Output(rows);
  EXPECT_FALSE(places.Asked(sorted).sinks) << "rows are read by them";
}

TEST(AskedIntegers, AreKeysOfEachOther) {
  Program program;
  const int other = program.sketch.Input("int64", {8, 4}, {4, 1}), table = program.Table(),
            mask = program.Tensor("bool");
  program.sketch.Step("run", "aten::eq.Tensor", {T(program.i), T(other)}, {mask});
  using Keys = std::vector<std::optional<size_t>>;
  const auto keys = [&](int output) {
    program.sketch.Output(output);
    return KeysOf(program.sketch.Build());
  };
  EXPECT_EQ(keys(mask), Keys({0, 0, std::nullopt}));
  EXPECT_EQ(keys(program.Read(table, other)), Keys(3)) << "rows are read by one of them";
}

TEST(AskedIntegers, AreLengthsOfNothing) {
  const auto compared = [](const char* op, bool length_last, int start) {
    Program program;
    const int numbers = program.sketch.Tensor("int64", {100}, {1}),
              row = program.sketch.Tensor("int64", {1, 1, 100}, {100, 100, 1},
                                          program.sketch.map["tensors"][numbers][0].get<int>()),
              column = program.sketch.Tensor("int64", {8, 4, 1}, {4, 1, 1}),
              mask = program.sketch.Tensor("bool", {8, 4, 100}, {400, 100, 1});
    program.sketch.Step("run", "aten::arange.start", {start, 100 + start}, {numbers});
    program.sketch.Step("run", "aten::view", {T(numbers), {1, 1, 100}}, {row});
    program.sketch.Step("run", "aten::unsqueeze", {T(program.i), -1}, {column});
    program.sketch.Step("run", op, length_last ? json{T(row), T(column)} : json{T(column), T(row)}, {mask});
    return program.Asked(mask).compared;
  };
  const auto lengths = compared("aten::lt.Tensor", true, 0);
  ASSERT_EQ(lengths.size(), 1);
  EXPECT_EQ(lengths[0].op, "aten::gt");
  EXPECT_EQ(lengths[0].number, 0);
  EXPECT_EQ(compared("aten::gt.Tensor", false, 0).size(), 1);
  EXPECT_EQ(compared("aten::le.Tensor", true, 0).size(), 0) << "a place, before which there is always one";
  EXPECT_EQ(compared("aten::lt.Tensor", false, 0).size(), 0);
  EXPECT_EQ(compared("aten::lt.Tensor", true, 1).size(), 0);
}

TEST(AskedIntegers, LieFurtherApartThanSumsAreClampedTo) {
  const auto asked = [](const char* op, const json& bounds) {
    Program program;
    const int other = program.sketch.Input("int64", {8, 4}, {4, 1}), sum = program.Tensor(),
              bound = program.Tensor();
    program.sketch.Step("run", op, {T(program.i), T(other)}, {sum});
    json arguments = bounds;
    arguments.insert(arguments.begin(), T(sum));
    program.sketch.Step("run", "aten::clamp", arguments, {bound});
    return program.Asked(program.Read(program.Table(), bound)).span;
  };
  EXPECT_EQ(asked("aten::sub.Tensor", {0, 49}), std::optional<int64_t>(49));
  EXPECT_EQ(asked("aten::mul.Tensor", {0, 49}), std::nullopt);
  EXPECT_EQ(asked("aten::sub.Tensor", {0, nullptr}), std::nullopt) << "elements are read by what comes out";
  Asked far;
  far.integers.span = 49;
  const at::Tensor planted = PlantAsked({far}, {at::arange(64)}, 3, 1)[0];
  EXPECT_EQ(planted[0].item<int>(), -49);
  EXPECT_EQ(planted[63].item<int>(), 63 + 49);
  EXPECT_TRUE(planted.slice(0, 1, 63).equal(at::arange(1, 63)));
  const at::Tensor flags = at::randint(0, 2, {64}, at::kLong);
  EXPECT_TRUE(PlantAsked({far}, {flags}, 3, 1)[0].equal(flags));
}

TEST(AskedIntegers, AreFloatsThatElementsAreReadBy) {
  const auto chooses = [](const char* op, const json& bounds) {
    Sketch sketch;
    const int t = sketch.Input("float32", {8, 4}, {4, 1}), table = sketch.Input("float32", {50, 3}, {3, 1});
    const int bound = sketch.Tensor("float32", {8, 4}, {4, 1}), i = sketch.Tensor("int64", {8, 4}, {4, 1});
    const int rows = sketch.Tensor("float32", {8, 4, 3}, {12, 3, 1});
    json arguments = bounds;
    arguments.insert(arguments.begin(), T(t));
    sketch.Step("run", op, arguments, {bound});
    sketch.Step("run", "aten::_to_copy", {T(bound)}, {i});
    sketch.Step("run", "aten::embedding", {T(table), T(i)}, {rows});
    sketch.Output(rows);
    const Plan plan = sketch.Build();
    return ChoosesUnbounded(plan, TensorLeaves(plan.inputs)[0]);
  };
  EXPECT_TRUE(chooses("aten::floor", json::array()));
  EXPECT_FALSE(chooses("aten::clamp", {0, 49})) << "numbers within may be any";
}

}  // namespace
}  // namespace tritogen
