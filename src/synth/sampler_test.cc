// Tests of the sampler: which programs are drawn, in which order, and which are kept out.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "base/error.h"
#include "program/infer.h"
#include "program/print.h"
#include "synth/sampler.h"

namespace tritogen::synth {
namespace {

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

// The calls of one operator in 300 programs of it, as text: "leaky_relu(x0, negative_slope=0.2)".
std::set<std::string> CallsOf(std::string_view op, double as_modules) {
  SamplerOptions options = Options(1, op);
  options.sketch.as_modules = as_modules;
  Sampler sampler(options);
  std::set<std::string> calls;
  for (int i = 0; i < 300; ++i) {
    const std::string text = sampler.Next().text;
    const size_t call = text.rfind(fmt::format("{}(", op));
    calls.insert(text.substr(call, text.find("  #", call) - call));
  }
  return calls;
}

// As the catalogue lists them: `negative_slope: one of 0.01 | 0.2`, `value: one of 0.0 | 20.0`.
TEST(Sampler, NumbersAsModulesHaveThemAreOfTheSizeOfThoseThatAreListed) {
  for (const double share : {0.0, 0.5, 1.0}) {
    SamplerOptions options = Options(1, "leaky_relu,threshold");
    options.sketch.as_modules = share;
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

// `kernel_size: 1..4; stride: 1..3; padding: 0..2; dilation: 1..2`.
TEST(Sampler, WindowsAsModulesHaveThemAreWiderAndSquare) {
  for (const double share : {0.0, 0.5}) {
    SamplerOptions options = Options(1, "max_pool2d");
    options.sketch.as_modules = share;
    Sampler sampler(options);
    std::map<std::string, int64_t> most;
    int square = 0;
    for (int i = 0; i < 300; ++i) {
      const Program program = sampler.Next().sized.program;
      const OpCall call = *BindCall(*std::ranges::find(program.nodes, NodeKind::kOp, &Node::kind));
      for (const char* name : {"kernel_size", "padding", "dilation"}) {
        const std::vector<int64_t> values = *AsInts(call.args[name]);
        most[name] = std::max(most[name], std::ranges::max(values));
      }
      const std::vector<int64_t> kernel = *AsInts(call.args["kernel_size"]);
      square += kernel.front() == kernel.back();
    }
    const int64_t times = share > 0 ? 3 : 1;
    EXPECT_EQ(most, (std::map<std::string, int64_t>{
                        {"kernel_size", 4 * times}, {"padding", 2 * times}, {"dilation", 2 * times}}))
        << share;
    EXPECT_EQ(square > 150, share > 0) << square;
  }
}

TEST(Sampler, ImagesAsModulesHaveThemAreAsHighAsWide) {
  for (const double share : {0.0, 0.5}) {
    SamplerOptions options = Options(1, "max_pool2d");
    options.sketch.as_modules = share;
    Sampler sampler(options);
    int images = 0, square = 0;
    for (int i = 0; i < 300; ++i) {
      const std::vector<int64_t> sizes = sampler.Next().sized.program.nodes[0].results[0].sizes;
      if (sizes.size() < 4) continue;  // without a batch
      ++images;
      square += sizes[2] == sizes[3];
    }
    EXPECT_GT(images, 100);
    EXPECT_EQ(3 * square > images, share > 0) << square << " of " << images;
  }
}

TEST(Sampler, CallsAsModulesHaveThem) {
  auto any = [](const std::set<std::string>& calls, const std::string& regex) {
    return std::ranges::any_of(
        calls, [&](const std::string& call) { return std::regex_match(call, std::regex(regex)); });
  };
  const struct {
    const char *op, *regex;
  } cases[] = {{"mul", "mul\\(x0, [0-9.]+\\)"},
               {"sum", "sum\\(x0, dim=\\[[0-9, ]+\\], keepdim=True\\)"},
               {"conv2d", "conv2d\\(x0, x1\\)"},
               {"group_norm", "group_norm\\(x0, (16|32|64).*"},
               {"max_pool2d", "max_pool2d\\(x0, \\[[0-9]+, [0-9]+\\]\\)"}};
  for (const auto& [op, regex] : cases) {
    EXPECT_TRUE(any(CallsOf(op, 0.6), regex)) << op;
    EXPECT_FALSE(any(CallsOf(op, 0), regex)) << op;
  }
}

TEST(Sampler, SizesOfAGraphAreSmallAndLargeAlike) {
  SamplerOptions options = Options(1, "relu,softmax,max_pool1d,cat");
  options.shapes.sizes = Domain::Parse("1..1000000");
  options.sizes_per_sketch = 24;
  options.per_sketch = 1;
  Sampler sampler(options);
  std::map<size_t, int> digits;
  std::set<int64_t> seen;
  for (int i = 0; i < 300; ++i) {
    for (const Node& node : sampler.Next().sized.program.nodes) {
      if (node.kind != NodeKind::kInput) continue;
      for (int64_t size : node.results[0].sizes) ++digits[std::to_string(size).size()], seen.insert(size);
    }
  }
  for (size_t n = 1; n <= 6; ++n) EXPECT_GT(digits[n], 40) << n;
  EXPECT_GT(seen.size(), 300u);  // of more than 64 sizes a window would have the 30 common ones only
}

TEST(Sampler, ImagesHaveSizesOfTheirOwn) {
  SamplerOptions options = Options(2, "conv2d,max_pool2d,batch_norm,relu");
  options.shapes.sizes = Domain::Parse("1..12");
  options.shapes.image_sizes = Domain::Parse("40..200");
  options.sketch.max_rank = 4;
  options.sizes_per_sketch = 16;
  Sampler sampler(options);
  int images = 0, others = 0;
  for (int i = 0; i < 200; ++i) {
    const Sample sample = sampler.Next();
    for (const Node& node : sample.sized.program.nodes) {
      if (node.kind != NodeKind::kInput) continue;
      const std::vector<int64_t>& sizes = node.results[0].sizes;
      for (size_t axis = 0; axis < sizes.size(); ++axis) {
        const bool image = axis >= 2 && sizes[axis] >= 40;
        EXPECT_TRUE(sizes[axis] <= 12 || image) << sample.text;
        ++(image ? images : others);
      }
    }
  }
  EXPECT_GT(images, 100);
  EXPECT_GT(others, 100);
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

}  // namespace
}  // namespace tritogen::synth
