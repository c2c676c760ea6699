// Drawing of programs, permutations, fingerprints.
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
  for (const char* wrong : {"", "0", "3..1", "x", "1..", "1,,2", "99999999999999999999"})
    EXPECT_THROW(Domain::Parse(wrong), UserError) << wrong;
}

SamplerOptions Options(int level, std::string_view operators, uint64_t seed = 1) {
  SamplerOptions options{.level = level, .seed = seed};
  options.sketch.operators = OperatorsNamed(operators);
  return options;
}

TEST(Sampler, DrawsProgramsThatAreUnlikeAndDeterministic) {
  std::vector<std::string> first;
  for (int run = 0; run < 2; ++run) {
    Sampler sampler(Options(5, "all"));
    std::set<std::string> fingerprints;
    for (int i = 0; i < 200; ++i) {
      const Sample sample = sampler.Next();
      EXPECT_EQ(sample.operators.size(), 5u);
      EXPECT_TRUE(fingerprints.insert(sample.fingerprint).second);
      if (run == 0)
        first.push_back(sample.text);
      else
        EXPECT_EQ(sample.text, first[i]);
    }
  }
}

// Real arguments by what they are listed as: `negative_slope: one of 0.01 | 0.2`, `value: one of 0.0 | 20.0`.
TEST(Sampler, FreeNumbersAreOfTheSizeOfThoseThatAreListed) {
  for (const double share : {0.0, 0.5, 1.0}) {
    SamplerOptions options = Options(1, "leaky_relu,threshold");
    options.sketch.free_numbers = share;
    options.per_sketch = 1;
    Sampler sampler(options);
    std::set<double> slopes, values;
    for (int i = 0; i < 300; ++i) {
      const Program program = sampler.Next().sized.program;
      const OpCall call = *BindCall(*std::ranges::find(program.nodes, NodeKind::kOp, &Node::kind));
      const bool leaky = call.row->name == "leaky_relu";
      (leaky ? slopes : values).insert(*AsNumber(call.args[leaky ? "negative_slope" : "value"]));
    }
    EXPECT_EQ(slopes.size() > 20, share > 0) << share;
    EXPECT_TRUE(values.contains(0.0)) << share;
    EXPECT_GE(*slopes.begin(), 0.01 * 0.02);
    EXPECT_LT(*slopes.rbegin(), 1);
    EXPECT_LE(*values.rbegin(), 80);
  }
}

// The catalogue computes each result's sizes from numbers what it stated as constraints before.
TEST(Sampler, SizesAreThoseTheCatalogueComputes) {
  Sampler sampler(Options(4, "all"));
  for (int i = 0; i < 500; ++i) {
    const Sample sample = sampler.Next();
    for (const Node& node : sample.sized.program.nodes) {
      if (node.kind != NodeKind::kOp) continue;
      const auto call = BindCall(node);
      ASSERT_TRUE(call) << sample.text;
      const Inferred inferred = InferResults(*call, LookupIn(sample.sized.program));
      ASSERT_EQ(inferred.problem, "") << sample.text;
      for (size_t r = 0; r < node.results.size(); ++r)
        EXPECT_EQ(ShapeText(inferred.results[r]), ShapeText(node.results[r])) << sample.text;
    }
  }
}

TEST(Sampler, KeepsLimits) {
  SamplerOptions options = Options(3, "matmul,relu,add");
  options.shapes.max_flops = 1'000'000;
  options.shapes.min_flops = 1'000;
  options.shapes.max_elements = 10'000;
  Sampler sampler(options);
  for (int i = 0; i < 100; ++i) {
    const Sample sample = sampler.Next();
    EXPECT_LE(sample.sized.flops, 1e6);
    EXPECT_GE(sample.sized.flops, 1e3);
    for (const Node& node : sample.sized.program.nodes) {
      for (const Shape& shape : node.results) EXPECT_LE(shape.numel(), 10'000);
    }
  }
}

TEST(Sampler, SidesOfASplitShareNothingAndLeaveNothingOut) {
  std::set<std::string> sides[3];
  for (int side = 0; side < 3; ++side) {
    SamplerOptions options = Options(1, "relu,add", side);
    options.shapes.sizes = {1, 2, 3, 4};
    options.sketch.max_rank = 2;
    options.side = static_cast<Side>(side);
    options.test_share = 0.4;
    Sampler sampler(options);
    try {
      while (true) sides[side].insert(sampler.Next().fingerprint);  // until there is no more
    } catch (const UserError&) {
    }
  }
  EXPECT_GT(sides[2].size(), 5u);
  EXPECT_EQ(sides[0].size(), sides[1].size() + sides[2].size());
  for (int side : {1, 2}) {
    for (const std::string& fingerprint : sides[side]) EXPECT_TRUE(sides[0].contains(fingerprint));
  }
}

TEST(Sampler, SaysWhyNothingComes) {
  SamplerOptions options = Options(1, "relu");
  options.shapes.min_elements = 1000;
  options.shapes.max_elements = 10;
  try {
    Sampler(options).Next();
    FAIL() << "there can be no such program";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("no sizes that fit"), std::string::npos) << error.what();
  }
  EXPECT_THROW(OperatorsNamed("no_such_operator"), UserError);
}

TEST(HeldOut, KeepsPairsApart) {
  SamplerOptions options = Options(3, "relu,tanh,exp");
  options.held_out = HeldOut::Parse("relu>tanh, exp");
  Sampler without(options);
  options.held_out.only = true;
  Sampler with(options);
  for (int i = 0; i < 50; ++i) {
    const Sample a = without.Next(), b = with.Next();
    EXPECT_EQ(std::count(a.operators.begin(), a.operators.end(), "exp"), 0);
    EXPECT_EQ(a.text.find("tanh(relu"), std::string::npos) << a.text;
    EXPECT_TRUE(b.text.find("exp(") != std::string::npos || b.text.find("tanh(relu") != std::string::npos)
        << b.text;
  }
  EXPECT_THROW(HeldOut::Parse("relu>nothing"), UserError);
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
