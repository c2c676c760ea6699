// Permutations, numbers, sketches, fingerprints.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "program/infer.h"
#include "program/print.h"
#include "synth/explain.h"
#include "synth/fingerprint.h"
#include "synth/permutation.h"
#include "synth/sampler.h"

namespace tritogen::synth {
namespace {

TEST(Permutation, IsABijection) {
  for (uint64_t size : {1, 2, 3, 7, 64, 100, 1000}) {
    const Permutation permutation(size, 5);
    std::set<std::string> seen;
    for (uint64_t i = 0; i < size; ++i) {
      const Natural at = permutation.At(i);
      EXPECT_LT(at, Natural(size));
      EXPECT_TRUE(seen.insert(at.ToString()).second);
    }
  }
}

TEST(Permutation, WorksBeyondMachineWords) {
  const Natural size = Natural(12345).ShiftLeft(300) + 17;
  const Permutation permutation(size, 1);
  std::set<std::string> seen;
  for (uint64_t i = 0; i < 100; ++i) {
    const Natural at = permutation.At(size - 1 - i);
    EXPECT_LT(at, size);
    EXPECT_GT(at.BitWidth(), 100);
    EXPECT_TRUE(seen.insert(at.ToString()).second);
  }
}

// Where the first index goes, over keys: uniform within five deviations of the statistic.
TEST(Permutation, FirstDrawsAreUniformOverKeys) {
  constexpr int kSize = 60, kKeys = 60 * 200;
  std::vector<int> seen(kSize);
  for (int key = 0; key < kKeys; ++key) ++seen[Permutation(kSize, SplitMix::Mix(key)).At(3).Limb(0)];
  double statistic = 0;
  for (int n : seen) statistic += (n - 200.0) * (n - 200.0) / 200;
  EXPECT_NEAR(statistic, kSize - 1, 5 * std::sqrt(2.0 * (kSize - 1)));
}

TEST(Natural, DividesLikeItMultiplies) {
  SplitMix random(4);
  for (int i = 0; i < 2000; ++i) {
    const Natural a = Natural::Below(Natural(1).ShiftLeft(1 + static_cast<int>(random.Below(250))), &random);
    const Natural b =
        Natural::Below(Natural(1).ShiftLeft(1 + static_cast<int>(random.Below(250))), &random) + 1;
    const Natural rest = Natural::Below(b, &random);
    const auto [quotient, remainder] = Natural::Divide(a * b + rest, b);
    EXPECT_EQ(quotient, a);
    EXPECT_EQ(remainder, rest);
    EXPECT_EQ(Natural::Parse(a.ToString()), a);
  }
}

TEST(Natural, RefusesToOverflow) {
  const Natural large = Natural(1).ShiftLeft(300);
  EXPECT_THROW(large * large, CountOverflow);
  EXPECT_THROW(Natural(1).ShiftLeft(511) + Natural(1).ShiftLeft(511), CountOverflow);
}

TEST(Domain, ParsesAndRefuses) {
  EXPECT_EQ(Domain::Parse("1..3, 8,8,4").ToString(), "{1..4, 8}");
  EXPECT_EQ(Domain::Parse("1..32768").size(), 32768);
  EXPECT_EQ(Domain::Parse("common").And(Domain::Parse("many")), Domain::Common());
  EXPECT_EQ(Domain::Parse("2..5,9").AtMost(7), 5);
  EXPECT_EQ(Domain::Parse("2..5,9").AtMost(3), 3);
  for (const char* wrong : {"", "0", "3..1", "x", "1..", "1,,2", "99999999999999999999"})
    EXPECT_THROW(Domain::Parse(wrong), UserError) << wrong;
}

Node Input(std::string name, std::vector<int64_t> sizes) {
  return {
      .kind = NodeKind::kInput, .name = std::move(name), .results = {{Dtype::kFloat32, std::move(sizes)}}};
}
Node Call(std::string op, std::vector<int> operands, std::vector<int64_t> sizes) {
  Node node{.op = std::move(op), .results = {{Dtype::kFloat32, std::move(sizes)}}};
  for (int operand : operands) node.args.push_back(Arg{NodeRef{operand}});
  return node;
}

// Operands whose rounding would decide what the result is.
int Jumps(const Sketch& sketch) {
  int jumps = 0;
  for (const SketchStep& step : sketch.steps) {
    for (const Param& param : step.signature->params) {
      const ParamSpec* spec = step.row->SpecOf(param.name);
      const NodeRef* ref = AsRef(step.args[param.name]);
      if (ref == nullptr) continue;
      const SketchTensor& tensor = sketch.tensors[step.operands[ref->id]];
      const bool decides = (spec != nullptr && spec->unrounded) || !IsFloating(tensor.dtype);
      jumps += decides && !tensor.exact;
    }
  }
  return jumps;
}

TEST(Sketch, ComparisonsAndTheLikeTakeNothingThatWasRounded) {
  SketchOptions options;
  options.operators = OperatorsNamed("all");
  SketchOptions any = options;
  any.jumps = true;
  int jumps = 0, exact_results = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SplitMix random(seed), again(seed);
    const Sketch sketch = DrawSketch(options, 6, &random);
    EXPECT_EQ(Jumps(sketch), 0) << seed;
    for (const SketchTensor& tensor : sketch.tensors) exact_results += tensor.step >= 0 && tensor.exact;
    jumps += Jumps(DrawSketch(any, 6, &again));
  }
  EXPECT_GT(jumps, 30);
  EXPECT_GT(exact_results, 300);
}

// argsort(x) ^ 1 has no answer where x has two equal values.
TEST(Sketch, NothingIsComputedOfIndices) {
  SketchOptions options;
  options.operators = OperatorsNamed("sort,argsort,cummin,max.dim,bitwise_xor,bitwise_not,flip,transpose");
  int indices = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SplitMix random(seed);
    const Sketch sketch = DrawSketch(options, 5, &random);
    for (const SketchTensor& tensor : sketch.tensors) {
      if (tensor.step < 0 || sketch.steps[tensor.step].row->DtypeOf(tensor.result) != Dtypes::kIndex)
        continue;
      ++indices;
      EXPECT_EQ(tensor.uses, 0) << seed;
    }
  }
  EXPECT_GT(indices, 200);
}

TEST(Sketch, WeightsOfRecurrentLayersAreSmallSoThatLongOnesAreNotChaotic) {
  SketchOptions options;
  for (const char* name : {"rnn_tanh", "rnn_relu", "gru", "lstm"}) {
    options.operators = OperatorsNamed(name);
    SplitMix random(1);
    const Sketch sketch = DrawSketch(options, 2, &random);
    for (const SketchStep& step : sketch.steps) {
      for (size_t i = step.operands.size() - 4; i < step.operands.size(); ++i) {
        const int input = sketch.tensors[step.operands[i]].input;
        ASSERT_GE(input, 0) << name;
        EXPECT_LE(sketch.inputs[input].values.high, 0.1) << name;
      }
    }
  }
}

TEST(Fingerprint, IgnoresNamesOrderAndCommutedOperands) {
  const Program a{{Input("x", {4}), Input("y", {4}), Call("aten::relu", {0}, {4}),
                   Call("aten::tanh", {1}, {4}), Call("aten::mul.Tensor", {2, 3}, {4})},
                  {{4}},
                  "*"};
  const Program b{{Input("first", {4}), Input("second", {4}), Call("aten::tanh", {0}, {4}),
                   Call("aten::relu", {1}, {4}), Call("aten::mul.Tensor", {2, 3}, {4})},
                  {{4}},
                  "*"};
  EXPECT_EQ(Fingerprint(a, Detail::kSizes), Fingerprint(b, Detail::kSizes));
  Program c = b;
  c.nodes[4].op = "aten::sub.Tensor";  // tanh − relu is not relu − tanh
  Program d = a;
  d.nodes[4].op = "aten::sub.Tensor";
  EXPECT_NE(Fingerprint(c, Detail::kSizes), Fingerprint(d, Detail::kSizes));
}

TEST(Fingerprint, TellsWhatDiffers) {
  const Program a{{Input("x", {4}), Call("aten::relu", {0}, {4})}, {{1}}, "*"};
  Program wider = a, shared = a;
  for (Node& node : wider.nodes) node.results[0].sizes = {5};
  EXPECT_NE(Fingerprint(a, Detail::kSizes), Fingerprint(wider, Detail::kSizes));
  EXPECT_EQ(Fingerprint(a, Detail::kGraph), Fingerprint(wider, Detail::kGraph));
  // add(x, x) and add(x, y): equal labels everywhere, unlike wiring.
  const Program same{{Input("x", {4}), Input("y", {4}), Call("aten::add.Tensor", {0, 0}, {4}),
                      Call("aten::add.Tensor", {1, 1}, {4})},
                     {{2}, {3}},
                     "(*,*)"};
  const Program crossed{{Input("x", {4}), Input("y", {4}), Call("aten::add.Tensor", {0, 1}, {4}),
                         Call("aten::add.Tensor", {0, 1}, {4})},
                        {{2}, {3}},
                        "(*,*)"};
  EXPECT_NE(Fingerprint(same, Detail::kGraph), Fingerprint(crossed, Detail::kGraph));
}

// Two rings of three and one ring of six: refinement alone cannot tell them apart.
TEST(Fingerprint, TellsApartWhatRefinementCannot) {
  auto rings = [](const std::vector<std::pair<int, int>>& pairs) {
    Program program;
    for (int i = 0; i < 6; ++i) program.nodes.push_back(Input("x" + std::to_string(i), {4}));
    for (auto [a, b] : pairs) {
      program.outputs.push_back({static_cast<NodeId>(program.nodes.size())});
      program.nodes.push_back(Call("aten::add.Tensor", {a, b}, {4}));
    }
    return program;
  };
  const Program two = rings({{0, 1}, {1, 2}, {2, 0}, {3, 4}, {4, 5}, {5, 3}});
  const Program one = rings({{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 0}});
  const Program turned = rings({{5, 2}, {2, 0}, {0, 4}, {4, 1}, {1, 3}, {3, 5}});
  EXPECT_NE(Fingerprint(two, Detail::kGraph), Fingerprint(one, Detail::kGraph));
  EXPECT_EQ(Fingerprint(one, Detail::kGraph), Fingerprint(turned, Detail::kGraph));
}

TEST(Fingerprint, ReadsListsAndRefusesOtherText) {
  const std::string one(32, 'a'), two(32, 'b');
  EXPECT_EQ(ReadFingerprints(one + "\n{\"fingerprint\": \"" + two + "\"}\n\n").size(), 2u);
  for (const char* wrong : {"hello", "{}", "{\"fingerprint\": 3}", "{\"fingerprint\": \"zz\"}", "[", "\xff"})
    EXPECT_THROW(ReadFingerprints(wrong), UserError) << wrong;
}

TEST(Explain, NamesVariablesConstraintsAndTheCount) {
  SplitMix random(3);
  SketchOptions options{.operators = OperatorsNamed("relu"), .max_rank = 1};
  const Sketch sketch = DrawSketch(options, 2, &random);
  ShapeOptions shapes;
  shapes.sizes = {1, 2, 3};
  const std::string text = Explain(sketch, shapes, 0);
  EXPECT_NE(text.find("x0[0] ∈ {1..3}"), std::string::npos) << text;
  EXPECT_NE(text.find("Solutions: 3 (exact)"), std::string::npos) << text;
}

TEST(Explain, VariablesHaveNamesOfTheirOwn) {
  const Sketch sketch = ParseSketch("h = binary_cross_entropy_with_logits(x:2, y:2); relu(z:1)");
  const SketchSystem system = SystemOf(sketch, {});
  std::set<std::string> names;
  for (const auto& variable : system.system.variables())
    EXPECT_TRUE(names.insert(variable.name).second) << variable.name;
}

}  // namespace
}  // namespace tritogen::synth
