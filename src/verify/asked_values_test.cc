#include "verify/asked_values.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "verify/test_sketch.h"

namespace tritogen {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Program {
  Sketch sketch;
  int x = sketch.Input("float32", {8, 4}, {4, 1});
  int Tensor(const char* dtype = "float32") { return sketch.Tensor(dtype, {8, 4}, {4, 1}); }
};

// What is asked for but NaN, and whether NaN is.
std::pair<std::vector<double>, bool> AskedOfFirst(const Plan& plan) {
  std::pair<std::vector<double>, bool> asked;
  const AskedValues of_leaves = AskedValuesOf(plan);
  for (const double value : of_leaves.at(0).beyond) {
    if (std::isnan(value)) {
      asked.second = true;
    } else {
      asked.first.push_back(value);
    }
  }
  return asked;
}

using Numbers = std::vector<double>;

TEST(AskedValues, AreWhatIsComparedAndClampedWith) {
  Program program;
  const int y = program.Tensor(), c = program.Tensor(), b = program.Tensor("bool");
  program.sketch.Step("run", "aten::mul.Tensor", {T(program.x), 1000.0}, {y});
  program.sketch.Step("run", "aten::clamp", {T(y), -2e5, 1.0}, {c});
  program.sketch.Step("run", "aten::gt.Scalar", {T(c), 5000}, {b});
  program.sketch.Output(b);
  EXPECT_EQ(AskedOfFirst(program.sketch.Build()), std::pair(Numbers({5000, 2e5}), false))
      << "factors and what other trials come to anyway are not asked for";
}

TEST(AskedValues, AreNanAndInfWhereTheyAreLookedFor) {
  Program all, none;
  const int y = all.Tensor();
  all.sketch.Step("run", "aten::nan_to_num_", {T(all.x)}, {y});
  all.sketch.Output(y);
  EXPECT_EQ(AskedOfFirst(all.sketch.Build()), std::pair(Numbers{kInf}, true));

  Program self;
  const int b = self.Tensor("bool");
  self.sketch.Step("run", "aten::ne.Tensor", {T(self.x), T(self.x)}, {b});
  self.sketch.Output(b);
  EXPECT_EQ(AskedOfFirst(self.sketch.Build()), std::pair(Numbers{}, true));

  const int z = none.Tensor();
  none.sketch.Step("run", "aten::relu", {T(none.x)}, {z});
  none.sketch.Output(z);
  EXPECT_FALSE(AsksForAny(AskedValuesOf(none.sketch.Build())));
}

TEST(AskedValues, AreNumbersAndNanBehindSums) {
  Program program;
  const int sum = program.sketch.Tensor("float32", {8}, {1}), y = program.sketch.Tensor("float32", {8}, {1});
  program.sketch.Step("run", "aten::sum.dim_IntList", {T(program.x), json::array({1})}, {sum});
  program.sketch.Step("run", "aten::nan_to_num", {T(sum)}, {y});
  program.sketch.Step("run", "aten::clamp", {T(y), -1e5, 1e5}, {y});
  program.sketch.Output(y);
  EXPECT_EQ(AskedOfFirst(program.sketch.Build()), std::pair(Numbers{1e5}, true))
      << "but not Inf: they do not leave their row";
}

TEST(AskedValues, AreNotAskedBehindProductsOfMatrices) {
  Program program;
  const int w = program.sketch.Input("float32", {4, 4}, {4, 1}), y = program.Tensor(), z = program.Tensor();
  program.sketch.Step("run", "aten::mm", {T(program.x), T(w)}, {y});
  program.sketch.Step("run", "aten::clamp", {T(y), -1e5, 1e5}, {z});
  program.sketch.Output(z);
  EXPECT_FALSE(AsksForAny(AskedValuesOf(program.sketch.Build())));
}

TEST(AskedValues, HaveNanInATrialOfItsOwn) {
  AskedValues asked = {{.beyond = {kInf, std::nan("")}}, {.exactly = {1}}};
  const AskedValues missing = TakeMissing(&asked);
  EXPECT_EQ(asked[0].beyond, Numbers{kInf});
  EXPECT_EQ(asked[1].exactly, Numbers{1});
  ASSERT_EQ(missing.size(), 2u);
  EXPECT_TRUE(missing[0].beyond.size() == 1 && std::isnan(missing[0].beyond[0]));
  EXPECT_TRUE(missing[1].empty());
}

TEST(AskedValues, HaveMinusInfInATrialOfItsOwn) {
  const AskedValues minus = MinusInfOf({{.beyond = {1e6, kInf}}, {.beyond = {1e6}}});
  ASSERT_EQ(minus.size(), 2u);
  EXPECT_EQ(minus[0].beyond, Numbers{-kInf});
  EXPECT_TRUE(minus[1].empty());
  const at::Tensor x = at::rand({64}), planted = PlantAsked(minus, {x, x}, 7, 1)[0];
  EXPECT_GT(planted.eq(-kInf).sum().item<int64_t>(), 0);
  EXPECT_FALSE(planted.eq(kInf).any().item<bool>());
}

TEST(AskedValues, AreWhatComesOutAsAskedWhereAnInputIsMultipliedBefore) {
  Program program;
  const int y = program.Tensor(), z = program.Tensor(), b = program.Tensor("bool");
  program.sketch.Step("run", "aten::mul.Tensor", {T(program.x), 4.0}, {y});
  program.sketch.Step("run", "aten::div.Tensor", {T(y), 16}, {z});
  program.sketch.Step("run", "aten::gt.Scalar", {T(z), 3}, {b});
  program.sketch.Output(b);
  EXPECT_EQ(AskedValuesOf(program.sketch.Build()).at(0).exactly, Numbers({12}));
}

TEST(AskedValues, AreWhatComesOutAsAskedWhereNumbersAreAddedBefore) {
  Program program;
  const int y = program.Tensor(), z = program.Tensor(), w = program.Tensor(), b = program.Tensor("bool");
  program.sketch.Step("run", "aten::rsub.Scalar", {T(program.x), 1.0}, {y});
  program.sketch.Step("run", "aten::mul.Tensor", {T(y), 2.0}, {z});
  program.sketch.Step("run", "aten::sub.Tensor", {T(z), 0.25}, {w}, {{"alpha", 2}});
  program.sketch.Step("run", "aten::ge.Scalar", {T(w), 0}, {b});
  program.sketch.Output(b);
  const Asked asked = AskedValuesOf(program.sketch.Build()).at(0);
  EXPECT_EQ(asked.exactly, Numbers({0.75})) << "(1 - x) * 2 - 0.5 >= 0";
  EXPECT_FALSE(asked.mixed);
}

TEST(AskedValues, StandInMorePlacesWhereAnotherTensorIsAddedBefore) {
  Program program;
  const int other = program.sketch.Input("float32", {8, 4}, {4, 1});
  const int y = program.Tensor(), z = program.Tensor(), b = program.Tensor("bool");
  program.sketch.Step("run", "aten::add.Tensor", {T(program.x), T(other)}, {y});
  program.sketch.Step("run", "aten::sub.Tensor", {T(y), 0.75}, {z});
  program.sketch.Step("run", "aten::gt.Scalar", {T(z), 0.0}, {b});
  program.sketch.Output(b);
  const Asked asked = AskedValuesOf(program.sketch.Build()).at(0);
  EXPECT_EQ(asked.exactly, Numbers({0.75}));
  EXPECT_TRUE(asked.mixed);
  EXPECT_EQ(PlantAsked({asked}, {at::rand({64, 64}) + 1}, 7, 1)[0].eq(0.75).sum().item<int>(), 16);
}

TEST(AskedValues, AreBesideTheEndsOfWhatIsDefined) {
  const auto beside = [](bool shifted) {
    Program program;
    const int y = program.Tensor(), z = program.Tensor();
    program.sketch.Step("run", shifted ? "aten::add.Tensor" : "aten::mul.Tensor", {T(program.x), 2.0}, {y});
    program.sketch.Step("run", "aten::atanh", {T(y)}, {z});
    program.sketch.Output(z);
    return AskedValuesOf(program.sketch.Build()).at(0).beside;
  };
  EXPECT_EQ(beside(false), Numbers({-(1 - 0x1p-10) / 2, (1 - 0x1p-10) / 2}));
  EXPECT_EQ(beside(true), Numbers()) << "a sum may be rounded to the end itself";
}

TEST(AskedValues, AreLargerThanTheirSquaresMayBe) {
  Program program;
  const int y = program.Tensor();
  program.sketch.Step("run", "aten::hypot", {T(program.x), T(program.x)}, {y});
  program.sketch.Output(y);
  const Asked asked = AskedValuesOf(program.sketch.Build()).at(0);
  EXPECT_EQ(asked.beside, Numbers({-0x1p80, 0x1p80}));
  const at::Tensor x = at::rand({64, 64});
  EXPECT_TRUE(PlantAsked({asked}, {x.to(at::kHalf)}, 7, 1)[0].equal(x.to(at::kHalf))) << "float16 holds none";
}

TEST(AskedValues, ArePlantedHereAndThere) {
  const at::Tensor x = at::rand({64, 64}), untouched = at::rand({4});
  const AskedValues asked = {{.beyond = {1e6, kInf, std::nan("")}}, {}};
  const auto inputs = PlantAsked(asked, {x, untouched}, 7, 1);
  EXPECT_TRUE(inputs[1].is_same(untouched));
  EXPECT_EQ(x.max().item<float>() <= 1, true) << "arguments are not changed";
  const at::Tensor& y = inputs[0];
  EXPECT_EQ(y.isnan().sum().item<int>(), 2);
  for (const double value : {kInf, -kInf, 2e6, -2e6, 2e9, -2e9})
    EXPECT_EQ(y.eq(value).sum().item<int>(), 2) << value;
  EXPECT_EQ(y.eq(x).sum().item<int>(), 64 * 64 - 14);
  EXPECT_TRUE(y.nan_to_num(3).equal(PlantAsked(asked, {x, untouched}, 7, 1)[0].nan_to_num(3)));
}

TEST(AskedValues, OfADtypeOrATensorThatHasNoRoomAreLeftOut) {
  const at::Tensor half = at::rand({64}).to(at::kHalf);
  const at::Tensor y = PlantAsked({{.beyond = {2e4}}}, {half}, 7, 1)[0];
  EXPECT_EQ(y.eq(4e4).sum().item<int>(), 2) << "two thousand times as much is beyond float16";
  EXPECT_TRUE(y.isfinite().all().item<bool>());
  const at::Tensor mask = at::rand({64}).gt(0.5).to(at::kFloat), tiny = at::rand({1});
  EXPECT_TRUE(PlantAsked({{.beyond = {kInf}}}, {mask}, 7, 1)[0].is_same(mask));
  EXPECT_TRUE(PlantAsked({{.beyond = {kInf}}}, {tiny}, 7, 1)[0].isinf().all().item<bool>());
}

TEST(AskedValues, AreNumbersThatAreComparedWithThemselves) {
  Program program;
  const int b = program.Tensor("bool"), z = program.Tensor("bool"), s = program.Tensor("bool");
  program.sketch.Step("run", "aten::eq.Scalar", {T(program.x), -999.0}, {b});
  program.sketch.Step("run", "aten::gt.Scalar", {T(program.x), 0.0}, {z});
  program.sketch.Step("run", "aten::signbit", {T(program.x)}, {s});
  program.sketch.Output(b);
  const Asked asked = AskedValuesOf(program.sketch.Build()).at(0);
  ASSERT_EQ(asked.exactly, Numbers({-999, -0.0})) << "other trials have zeros";
  EXPECT_TRUE(std::signbit(asked.exactly[1]));
  const at::Tensor y = PlantAsked({asked}, {at::rand({64})}, 7, 1)[0];
  EXPECT_EQ(y.eq(-999).sum().item<int>(), 2);
  EXPECT_EQ(y.signbit().sum().item<int>(), 2 + 2 + 4) << "with those beyond";
  EXPECT_TRUE(PlantAsked({{.exactly = {0.1}}}, {at::zeros({64})}, 7, 1)[0].eq(0).all().item<bool>())
      << "float32 has no 0.1";
  const at::Tensor half = at::zeros({64}, at::kBFloat16);
  EXPECT_EQ(PlantAsked({{.exactly = {-999, -1000}}}, {half}, 7, 1)[0].eq(-1000).sum().item<int>(), 2)
      << "nor bfloat16 999";
}

TEST(AskedValues, AreTheFirstAndTheLastOfWhatIsChosenFrom) {
  const auto choices = [](bool counts) {
    Sketch sketch;
    const int i = sketch.Input("int64", {8}, {1}), view = sketch.Tensor("int64", {8}, {1}, i);
    const int weight = sketch.Input("float32", {5000, 4}, {4, 1}),
              y = sketch.Tensor("float32", {8, 4}, {4, 1}), n = sketch.Tensor("int64", {8}, {1});
    sketch.Step("run", "aten::view", {T(i), json::array({8})}, {view});
    sketch.Step("run", "aten::embedding", {T(weight), T(view)}, {y});
    if (counts) sketch.Step("run", "aten::add.Scalar", {T(i), 1}, {n});
    sketch.Output(y);
    return AskedValuesOf(sketch.Build()).at(0).integers.choices;
  };
  EXPECT_EQ(choices(false), 5000);
  EXPECT_EQ(choices(true), std::nullopt) << "they are numbers, too";
  const auto planted = [](const at::Tensor& x) {
    return PlantAsked({{.integers = {.choices = 5000}}}, {x}, 3, 1)[0];
  };
  EXPECT_TRUE(planted(at::tensor({7, 9, 3, 9})).equal(at::tensor({7, 4999, 0, 4999})));
  EXPECT_TRUE(
      planted(at::arange(3, 11).view({2, 4})).equal(at::tensor({0, 0, 4, 4999, 0, 0, 8, 4999}).view({2, 4})))
      << "lines in order stay so";
  EXPECT_TRUE(planted(at::tensor({7, 9, 3, 4}).view({4, 1})).equal(at::tensor({7, 4999, 0, 4}).view({4, 1})));
}

TEST(AskedValues, AreTiesWhereNumbersAreRounded) {
  const auto asked = [](const char* op) {
    Program program;
    const int y = program.Tensor();
    program.sketch.Step("run", op, {T(program.x)}, {y});
    program.sketch.Output(y);
    return AskedValuesOf(program.sketch.Build()).at(0).exactly;
  };
  EXPECT_TRUE(std::ranges::count(asked("aten::round"), -0.5) &&
              std::ranges::count(asked("aten::round"), 2.5));
  EXPECT_EQ(asked("aten::floor"), Numbers({-0x1p32, -3, -2, -1, 2, 3, 0x1p32}))
      << "and beyond what a cast to int32 holds";
  EXPECT_EQ(asked("aten::hardshrink"), Numbers({-0.5, 0.5}));

  Program sum;
  const int y = sum.Tensor(), total = sum.sketch.Tensor("float32", {}, {});
  sum.sketch.Step("run", "aten::round", {T(sum.x)}, {y});
  sum.sketch.Step("run", "aten::sum", {T(y)}, {total});
  sum.sketch.Output(total);
  EXPECT_FALSE(std::ranges::count(AskedValuesOf(sum.sketch.Build()).at(0).exactly, 0x1p32))
      << "behind a sum it hides all others";
}

}  // namespace
}  // namespace tritogen
